"""`quintain show`."""

from __future__ import annotations

import argparse
import sys

from quintain.authoring import open_project
from quintain.model.codec import dumps, to_plain
from quintain.model.tree import ChangeSet
from quintain.reporting.summary import run_lines
from quintain.reporting.trial import trial_lines
from quintain.runs.history import find_record, find_trial
from quintain.runs.store import RunStore
from quintain.trial.fixtures import Fixtures, load_record
from quintain.workspace.blobs import BlobStore


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "name",
        metavar="RUN[/TRIAL]",
        nargs="?",
        default="last",
        help="`last`, a run or a campaign, or one of its trials",
    )
    parser.add_argument("--events", action="store_true", help="print the trace as JSON lines")
    parser.add_argument("--raw", action="store_true", help="print the raw protocol as JSON lines")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    project = open_project(".").project
    directory, trial = find_record(project.store, args.name)
    store = RunStore(directory)
    try:
        if not trial:
            return _show_run(store, args)
        return _show_trial(store, find_trial(store, trial), BlobStore(project.store / "blobs"), args)
    finally:
        store.close()


def _show_run(store: RunStore, args: argparse.Namespace) -> int:
    if args.json:
        rows = [to_plain(row) for row in store.rows()]
        print(dumps({"run": to_plain(store.info), "summary": to_plain(store.summary), "trials": rows}))
        return 0
    for line in run_lines(store.info, store.summary, store.rows()):
        print(line)
    return 0


def _show_trial(store: RunStore, trial: str, blobs: BlobStore, args: argparse.Namespace) -> int:
    report = store.report(trial)
    number = report.last.number
    if args.events:
        for line in store.trace(trial, number):
            print(dumps(to_plain(line)))
        return 0
    if args.raw:
        sys.stdout.writelines(store.raw(trial, number))
        return 0
    if args.json:
        gradings = [{"graded_at": at, "grade": to_plain(grade)} for at, grade in store.gradings(trial)]
        print(dumps({"report": to_plain(report), "order": to_plain(store.order(trial)), "gradings": gradings}))
        return 0
    order = store.order(trial)
    fixtures = Fixtures.stored(order.fixtures, order.hidden, blobs)
    changes = load_record(report.last.changes, ChangeSet, blobs) if report.last.changes else ChangeSet()
    for text in trial_lines(report, order, store.trace(trial, number), fixtures, changes, blobs, store.gradings(trial)):
        print(text)
    return 0
