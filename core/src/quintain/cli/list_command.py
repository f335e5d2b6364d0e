"""`quintain list`."""

from __future__ import annotations

import argparse

from quintain.cli.project import add_case_options, add_project_options, open_context, selected
from quintain.model.codec import dumps, to_plain
from quintain.reporting.summary import tally_text
from quintain.reporting.text import clean
from quintain.runs.history import list_runs


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_case_options(parser)
    add_project_options(parser)
    parser.add_argument("--runs", action="store_true", help="list runs instead of cases")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    context = open_context(args)
    if args.runs:
        runs = list(list_runs(context.project.store))
        if args.json:
            print(dumps([{"run": to_plain(info), "summary": to_plain(summary)} for info, summary in runs]))
        else:
            for info, summary in runs:
                print(f"{info.id}  {tally_text(summary.tally) if summary else 'did not come to its end'}")
        return 0
    cases, _ = selected(args, context)
    if args.json:
        print(dumps([to_plain(case) for case in cases]))
    else:
        for case in cases:
            tags = f"  [{', '.join(case.tags)}]" if case.tags else ""
            print(f"{clean(case.id)}{clean(tags)}")
    return 0 if cases else 2
