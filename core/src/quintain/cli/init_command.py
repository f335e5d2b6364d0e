"""`quintain init`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quintain.authoring.scaffold import make_project


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("directory", metavar="DIR", nargs="?", default=".", help="where to make it; here if not given")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    directory = Path(args.directory)
    for one in make_project(directory):
        print(f"{one.what:8} {directory / one.path.relative_to(directory.resolve())}")
    where = "" if directory == Path() else f"cd {directory} && "
    print(f"\nRun it: {where}quintain run")
    return 0
