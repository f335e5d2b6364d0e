"""Parses the command line and runs one command; errors that users can mend come out without a traceback."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module, metadata

from quintain.errors import QuintainError
from quintain.version import VERSION

COMMANDS = {
    "run": "run cases and say how they went",
    "init": "make a project that runs as it is made",
    "list": "list the cases that would run, or the runs there are",
    "show": "show a run, or one of its trials with all its evidence",
    "grade": "grade stored evidence again",
    "calibrate": "try graders with right and empty solutions",
    "plan": "say what a campaign would do, cost and find",
    "experiment": "compare variants with the baseline, under a budget",
    "resume": "take up a campaign where it was left",
    "report": "say what a campaign decided, and why",
    "compare": "compare two runs or campaigns",
    "apply": "write the promoted candidate back to its source",
    "verify": "recompute a campaign from its evidence",
    "identity": "say what results depend on, and what makes two runs comparable or not",
    "doctor": "check everything without running an agent",
    "plugins": "list the installed plugins",
}


def run(words: list[str]) -> int:
    """Run one command and return its exit code."""
    name = next((word for word in words if not word.startswith("-")), None)
    try:
        parser = _parser(name)
        args = parser.parse_args(words)
        function: Callable[[argparse.Namespace], int] | None = getattr(args, "function", None)
        if function is None:
            parser.print_help(sys.stderr)
            return 2
        return function(args)
    except QuintainError as error:
        print(f"quintain: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        # Once a run has begun it obeys signals by itself; before that there is nothing to keep.
        print("quintain: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has had enough; Python must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser(name: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quintain",
        description="Is this change to my coding agent better, by how much, at what cost?",
    )
    parser.add_argument("--version", action="version", version=f"quintain {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for word, summary in COMMANDS.items():
        command = commands.add_parser(word, help=summary, description=summary.capitalize() + ".")
        if word == name:
            # Only the command that is called is imported.
            import_module(f"quintain.cli.{word}_command").add(command)
    for entry in metadata.entry_points(group="quintain.command"):
        if entry.name not in COMMANDS:
            _add_plugin(commands, entry.name, wanted=entry.name == name)
    return parser


def _add_plugin(commands: argparse._SubParsersAction[argparse.ArgumentParser], word: str, *, wanted: bool) -> None:
    if not wanted:
        commands.add_parser(word, help="added by a plugin")
        return
    from quintain.plugins import Plugins

    class Adding:
        def add(self, name: str, run: Callable[[argparse.Namespace], int], *, summary: str) -> argparse.ArgumentParser:
            made = commands.add_parser(name, help=summary, description=summary)
            made.set_defaults(function=run)
            return made

    Plugins.from_entry_points().command(word)(cli=Adding())
