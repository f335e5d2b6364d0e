"""`quintain report`."""

from __future__ import annotations

import argparse
from contextlib import closing

from quintain.authoring import open_project
from quintain.campaign.directory import find_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.report import report_of
from quintain.model.codec import dumps
from quintain.reporting.campaign import report_json, report_lines, report_markdown


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="DIR", nargs="?", default="last", help="directory of the campaign, or its name")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    directory = find_campaign(open_project(".").project.store, args.name)
    with closing(Ledger(directory)) as ledger:
        report = report_of(ledger)
    if args.json:
        print(dumps(report_json(report)))
    elif args.markdown:
        print(report_markdown(report), end="")
    else:
        for line in report_lines(report):
            print(line)
    return 0
