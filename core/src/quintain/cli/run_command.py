"""`quintain run`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from quintain.authoring import find_project
from quintain.cli.live import Watcher
from quintain.cli.project import (
    Context,
    add_case_options,
    add_project_options,
    concurrency_of,
    open_context,
    profiles,
    selected,
    shown,
)
from quintain.cli.signals import obey_signals
from quintain.errors import UsageError, ungrouped
from quintain.model.case import Case
from quintain.model.limits import LimitOverrides
from quintain.model.plain import Plug
from quintain.reporting.summary import summary_lines
from quintain.runs.control import Control
from quintain.runs.history import find_run
from quintain.runs.plan import Plan, make_plan
from quintain.runs.run import RunResult, Settings, run_plan
from quintain.runs.store import RunStore
from quintain.workspace.blobs import BlobStore


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_case_options(parser)
    add_project_options(parser)
    parser.add_argument("--driver", help="run with this driver instead of the profile's")
    parser.add_argument("--profile", action="append", default=[], help="run under this profile; may be repeated")
    parser.add_argument("--repeat", type=int, metavar="N", help="repetitions of each case")
    parser.add_argument("-j", dest="concurrency", type=int, metavar="N", help="trials at once")
    parser.add_argument("--timeout", type=float, metavar="S", help="total limit of a trial, in seconds")
    parser.add_argument("--grace", type=float, default=10.0, metavar="S", help="seconds to finish after Ctrl-C")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first repetition")
    parser.add_argument(
        "--preflight", action="store_true", help="try each profile with a small task of its driver first"
    )
    parser.add_argument("--fail-fast", action="store_true", help="begin no new trial after one that does not pass")
    parser.add_argument("--rerun-failed", action="store_true", help="only cases that did not pass in the last run")
    parser.add_argument("--json", action="store_true", help="print events as JSON lines on standard output")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    context = open_context(args)
    cases, places = selected(args, context)
    if args.rerun_failed:
        cases = _not_passed(cases, context)
    if not cases:
        raise UsageError("no case was selected", hint="quintain list shows the cases of a project")
    plan = make_plan(
        cases,
        profiles(context.project, args.profile, args.driver),
        context.plugins,
        BlobStore(context.project.store / "blobs"),
        repeat=args.repeat if args.repeat is not None else context.project.repeat,
        seed=args.seed,
        limits=LimitOverrides(timeout_s=args.timeout),
        places=places,
    )
    control = Control()
    concurrency = concurrency_of(args, context.project)
    watcher = Watcher(plan, json=args.json, concurrency=concurrency)
    sinks = list(context.project.sinks)
    if args.junit:
        sinks.append(Plug("junit", {"path": str(Path(args.junit).absolute())}))
    settings = Settings(
        store=context.project.store,
        concurrency=concurrency,
        fail_fast=args.fail_fast,
        sinks=tuple(sinks),
        own_sinks=(watcher,),
        command=" ".join(sys.argv[1:]),
        project=context.project.root,
        preflight=args.preflight,
        tried=watcher.tried,
    )
    with ungrouped():
        result = anyio.run(_run, plan, context, settings, control, watcher, args.grace)
    root = context.project.root
    elsewhere = None if find_project(Path.cwd()) == find_project(root) else shown(root)
    for line in summary_lines(result.summary, shown(result.directory), project=elsewhere):
        print(line, file=sys.stderr if args.json else sys.stdout)
    return result.summary.exit_code


async def _run(
    plan: Plan, context: Context, settings: Settings, control: Control, watcher: Watcher, grace_s: float
) -> RunResult:
    async with anyio.create_task_group() as group, watcher.view.drawn():
        group.start_soon(obey_signals, control, grace_s)
        result = await run_plan(plan, context.plugins, settings, control=control)
        group.cancel_scope.cancel()
    return result


def _not_passed(cases: Sequence[Case], context: Context) -> tuple[Case, ...]:
    run = RunStore(find_run(context.project.store, "last"))
    try:
        passed = {row.case for row in run.rows() if row.passed}
        lost = {row.case for row in run.rows() if not row.passed}
        planned = set(run.info.cases)
    finally:
        run.close()
    wanted = lost | (planned - passed)
    return tuple(case for case in cases if case.id in wanted)
