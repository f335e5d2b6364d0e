"""`quintain init`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quintain.authoring import scaffold


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("directory", metavar="DIR", nargs="?", default=".", help="where to make it; here if not given")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    directory = Path(args.directory)
    for path, made in scaffold(directory):
        print(f"{'made   ' if made else 'is there'} {path}")
    where = "" if directory == Path() else f"cd {directory} && "
    print(f"\nRun it: {where}quintain run")
    return 0
