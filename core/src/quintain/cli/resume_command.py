"""`quintain resume`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from quintain.authoring import open_project
from quintain.campaign.directory import find_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.state import read_state
from quintain.cli.campaign import add_running_options, open_campaign_context, run_campaign_here
from quintain.cli.project import add_project_options
from quintain.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="DIR", nargs="?", default="last", help="directory of the campaign, or its name")
    add_project_options(parser)
    add_running_options(parser)
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    directory = find_campaign(open_project(".").project.store, args.name)
    with closing(Ledger(directory)) as ledger:
        state = read_state(ledger)
    plain = (state.campaign or {}).get("campaign", {})
    source = plain.get("source")
    if source is None:
        raise UsageError(
            "it was begun by a program",
            where=str(directory),
            hint="resume it there: run_campaign(campaign, resume=directory)",
        )
    args.aa = plain.get("aa", False)
    return run_campaign_here(open_campaign_context(Path(source), args), args, directory)
