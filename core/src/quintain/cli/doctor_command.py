"""`quintain doctor`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
from attrs import asdict, frozen

from quintain import process
from quintain.cli.project import Context, add_case_options, add_project_options, found_cases, open_context
from quintain.contracts.driver import Executable
from quintain.errors import QuintainError
from quintain.model.codec import dumps
from quintain.model.project import Profile
from quintain.reporting.text import clean
from quintain.runs.plan import make_plan
from quintain.runs.preflight import FOLDER, flights_of, order_of, preflight_alone
from quintain.trial.prepare import structure
from quintain.workspace.blobs import BlobStore

PROBE_S = 5.0


@frozen
class Diagnosis:
    """One thing that was looked at."""

    check: str
    status: str
    message: str
    hint: str | None = None


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_case_options(parser)
    add_project_options(parser)
    parser.add_argument(
        "--preflight", action="store_true", help="try each profile with a small task of its driver; this spends"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    found = list(_diagnose(args))
    if args.json:
        print(dumps([asdict(one) for one in found]))
    else:
        for one in found:
            mark = {"ok": "ok     ", "warning": "warning", "failure": "FAILURE"}[one.status]
            print(f"{mark} {one.check}: {one.message}" + (f"\n        {one.hint}" if one.hint else ""))
    return 1 if any(one.status == "failure" for one in found) else 0


def _diagnose(args: argparse.Namespace) -> Iterator[Diagnosis]:
    try:
        context = open_context(args)
    except QuintainError as error:
        yield _failure("project", error)
        return
    project = context.project
    yield Diagnosis("project", "ok", f"{project.name} in {project.root}")
    for checked in context.plugins.check():
        if checked.error:
            name = f"plugin {checked.plugin.kind}:{checked.plugin.name}"
            yield Diagnosis(name, "warning", checked.error, "it is only needed if you use it")
    yield from _cases(context, args)
    for profile in project.profiles.values():
        yield from _profile(context, profile)
    if args.preflight:
        yield from _preflight(context)


def _preflight(context: Context) -> Iterator[Diagnosis]:
    project, plugins = context.project, context.plugins
    try:
        flights = flights_of(map(order_of, project.profiles.values()), plugins)
        folder = project.store / FOLDER / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}"
        found = anyio.run(
            preflight_alone, flights, plugins, BlobStore(project.store / "blobs"), dict(os.environ), folder
        )
    except QuintainError as error:
        yield _failure("preflight", error)
        return
    for one in found:
        status = "failure" if one.problems else "ok"
        kept = f" Its evidence is in {one.evidence}." if one.problems and one.evidence else ""
        yield Diagnosis("preflight", status, clean(one.describe()), f"{one.advice}{kept}".strip() or None)


def _cases(context: Context, args: argparse.Namespace) -> Iterator[Diagnosis]:
    project = context.project
    try:
        found, places = found_cases(args, context)
        cases = found.cases
        if not cases:
            yield Diagnosis("cases", "warning", "there are none")
            return
        blobs = BlobStore(project.store / "blobs")
        plan = make_plan(cases, tuple(project.profiles.values()), context.plugins, blobs, places=places)
        yield Diagnosis("cases", "ok", f"{len(cases)} cases, {plan.trials} trials under all profiles")
    except QuintainError as error:
        yield _failure("cases", error)


def _profile(context: Context, profile: Profile) -> Iterator[Diagnosis]:
    name = f"profile {profile.name}"
    try:
        driver = context.plugins.driver(profile.driver.name)
        runtime = driver.runtime(structure(profile.driver.config, driver.config, partial(_key, name)))
    except QuintainError as error:
        yield _failure(name, error)
        return
    for executable in runtime.executables:
        yield anyio.run(_executable, name, executable)
    isolation = profile.isolation
    for variable in (*isolation.pass_env, *isolation.secrets, *runtime.host_environment):
        if variable not in os.environ:
            yield Diagnosis(name, "failure", f"the host has no variable {variable}", "set it before a run")
    if isolation.sandbox != "none":
        try:
            yield Diagnosis(name, "ok", f"sandbox: {anyio.run(process.probe_sandbox)}")
        except QuintainError as error:
            yield _failure(name, error)


async def _executable(name: str, executable: Executable) -> Diagnosis:
    try:
        path = process.find_executable(executable.name, path=os.environ.get("PATH"), cwd=Path.cwd())
    except QuintainError as error:
        return Diagnosis(name, "failure", str(error), executable.install)
    if executable.version_args is None:
        return Diagnosis(name, "ok", str(path))
    command = process.Command((str(path), *executable.version_args), Path.cwd(), {"PATH": os.environ.get("PATH", "")})
    done = await process.run(command, timeout_s=PROBE_S)
    words = (done.stdout.text() or done.stderr.text()).strip().splitlines()
    if done.exit.code != 0 or not words:
        return Diagnosis(name, "warning", f"{path} does not say its version")
    return Diagnosis(name, "ok", f"{path}, {words[0][:100]}")


def _key(name: str, key: tuple[str | int, ...]) -> str:
    return ".".join((f"{name}: driver.config", *map(str, key)))


def _failure(check: str, error: QuintainError) -> Diagnosis:
    return Diagnosis(check, "failure", str(error))
