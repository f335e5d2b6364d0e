"""`quintain verify`."""

from __future__ import annotations

import argparse

from quintain.authoring import open_project
from quintain.campaign.directory import find_campaign
from quintain.campaign.verify import verify
from quintain.model.codec import dumps, to_plain
from quintain.reporting.text import clean
from quintain.runs.history import blobs_of


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="DIR", nargs="?", default="last", help="directory of the campaign, or its name")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    directory = find_campaign(open_project(".").project.store, args.name)
    found = verify(directory, blobs_of(directory))
    if args.json:
        print(dumps({"sound": found.sound, **to_plain(found)}))
        return 0 if found.sound else 1
    for problem in found.problems:
        print(f"changed  {clean(problem)}")
    looked = f"{found.entries} entries of the ledger, {found.trials} trials, {found.blobs} stored files"
    print(f"looked at {looked}")
    if not found.ended:
        print("its last session did not come to an end, so its files have no seal yet")
    if found.sound:
        verdict = f"; the decision follows: {found.decision.verdict}" if found.decision else ""
        print(f"sound{verdict}")
    print(f"ledger {found.head}")
    return 0 if found.sound else 1
