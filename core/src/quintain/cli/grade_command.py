"""`quintain grade`."""

from __future__ import annotations

import argparse
import os

import anyio

from quintain.cli.project import add_case_options, add_project_options, open_context, selected
from quintain.model.codec import dumps, to_plain
from quintain.model.grade import Grade
from quintain.reporting.text import clean
from quintain.runs.history import find_run, find_trial
from quintain.runs.regrade import Regraded, regrade
from quintain.runs.store import RunStore
from quintain.workspace.blobs import BlobStore


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN", help="`last` or a run")
    add_case_options(parser)
    add_project_options(parser)
    parser.add_argument("--trial", action="append", default=[], help="only this trial; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    context = open_context(args)
    cases = {case.id: case for case in selected(args, context)[0]} if args.paths else None
    store = RunStore(find_run(context.project.store, args.run), write=True)
    try:
        trials = [find_trial(store, name) for name in args.trial] or None
        blobs = BlobStore(context.project.store / "blobs")

        async def grade() -> list[Regraded]:
            plugins, host = context.plugins, dict(os.environ)
            return [one async for one in regrade(store, blobs, plugins, host=host, cases=cases, trials=trials)]

        found = anyio.run(grade)
    finally:
        store.close()
    if args.json:
        print(dumps([to_plain(one) for one in found]))
    else:
        for one in found:
            print(f"{clean(one.trial)}  {_verdict(one.before)} -> {_verdict(one.now)}")
            for result in one.now.results if one.now else ():
                print(f"    {result.status.value:7} {clean(result.id)}: {clean(result.reason)}")
    passed = [one.now.passed if one.now and one.outcome.kind == "completed" else None for one in found]
    return 1 if False in passed else 0 if passed and all(passed) else 3


def _verdict(grade: Grade | None) -> str:
    if grade is None:
        return "not graded"
    word = {True: "passed", False: "failed", None: "undecided"}[grade.passed]
    return word if grade.score is None else f"{word} (score {grade.score:.2f})"
