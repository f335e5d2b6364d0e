"""`quintain experiment`."""

from __future__ import annotations

import argparse

from quintain.campaign.directory import find_campaign
from quintain.cli.campaign import (
    add_campaign_options,
    add_running_options,
    open_campaign_context,
    run_campaign_here,
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_campaign_options(parser)
    parser.add_argument("--resume", metavar="DIR", help="take up a campaign that was begun")
    add_running_options(parser)
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    context = open_campaign_context(args.path, args)
    directory = find_campaign(context.project.store, args.resume) if args.resume else None
    return run_campaign_here(context, args, directory)
