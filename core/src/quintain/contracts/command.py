"""The command contract: a subcommand that a plugin adds to the command line.

The entry point's name is the subcommand's, so it is listed in `--help` without an import; the plugin is loaded when its
subcommand is called, and then adds its arguments and its function.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Protocol


class Commands(Protocol):
    """Where a plugin adds its subcommand."""

    def add(self, name: str, run: Callable[[Namespace], int], *, summary: str) -> ArgumentParser:
        """Add a subcommand.

        Args:
            name: of the subcommand; equal to the entry point's name.
            run: called with the parsed arguments; returns the exit code. A QuintainError that it raises is shown
                without a traceback.
            summary: one line for `--help`.

        Returns:
            The parser to add arguments to.
        """
