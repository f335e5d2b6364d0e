"""`quintain calibrate`."""

from __future__ import annotations

import argparse
import sys

import anyio

from quintain.authoring.quarantine import Quarantined, write_quarantine
from quintain.cli.project import (
    Context,
    add_case_options,
    add_project_options,
    concurrency_of,
    open_context,
    selected,
)
from quintain.errors import UsageError
from quintain.model.case import Case
from quintain.model.codec import dumps, to_plain
from quintain.reporting.text import clean
from quintain.runs.calibrate import Calibration, calibrate
from quintain.runs.run import RunResult, Settings


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_case_options(parser)
    add_project_options(parser)
    parser.add_argument("--times", type=int, default=3, metavar="K", help="how often each solution is graded")
    parser.add_argument("-j", dest="concurrency", type=int, metavar="N", help="gradings at once")
    parser.add_argument("--dry-run", action="store_true", help="do not write the quarantine file")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    context = open_context(args)
    cases, _ = selected(args, context)
    if not cases:
        raise UsageError("no case was selected", hint="quintain list shows the cases of a project")
    found, result = anyio.run(_calibrate, context, cases, args)
    bad = {one.case: Quarantined(one.reasons, result.directory.name) for one in found if not one.sound}
    path = None
    if not args.dry_run:
        path = write_quarantine(context.project.root, [case.id for case in cases], bad)
    if args.json:
        plain = [{"sound": one.sound, **to_plain(one)} for one in found]
        print(dumps({"cases": plain, "run": result.directory.name, "quarantine": str(path) if path else None}))
    else:
        _print(found)
        print(f"evidence  quintain show {result.directory.name}")
        if path is not None:
            print(f"campaigns leave out what is listed in {path.name}")
    return 1 if bad else 0


def _print(found: tuple[Calibration, ...]) -> None:
    for one in found:
        right = "no reference" if one.reference is None else f"reference {one.reference}/{one.times}"
        word = "sound      " if one.sound else "quarantined"
        print(f"{word}  {clean(one.case)}: {right}, empty {one.empty}/{one.times}")
        for reason in one.reasons:
            print(f"             {clean(reason)}")
    bare = sum(one.reference is None for one in found)
    if bare:
        print(f"{bare} without a reference solution: nobody knows whether a right one would pass", file=sys.stderr)


async def _calibrate(
    context: Context, cases: tuple[Case, ...], args: argparse.Namespace
) -> tuple[tuple[Calibration, ...], RunResult]:
    settings = Settings(
        store=context.project.store,
        concurrency=concurrency_of(args, context.project),
        command=" ".join(sys.argv[1:]),
        project=context.project.root,
    )
    return await calibrate(cases, context.plugins, settings, times=args.times)
