"""The view for a terminal: what runs stands at the bottom and moves, what has ended stands above it and stays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import anyio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from quintain.cli.board import Board

FRAMES_PER_S = 8.0
ROOM = 6
"""Lines of the terminal that are left to what has ended."""
STYLES = {"passed": "green", "FAILED": "bold red", "MISSING": "yellow", "again": "yellow"}
"""By the word that a line begins with."""


def can_be_live(output: TextIO) -> bool:
    """Whether a person looks at it through something that can draw over what it has drawn."""
    return output.isatty() and os.environ.get("TERM") not in (None, "", "dumb", "unknown")


class Panel:
    """Draws a board, and prints lines above it.

    It is drawn by a task beside the work and never by an event, so that a busy agent costs no more than a quiet one.

    Args:
        board: what is drawn.
        output: a terminal.
    """

    def __init__(self, board: Board, output: TextIO) -> None:
        self._board = board
        self._console = Console(file=output, force_terminal=True, markup=False, emoji=False, highlight=False)
        self._live: Live | None = None

    async def draw(self) -> None:
        """Draw until cancelled, or until the terminal is gone; what is drawn is taken away at the end."""
        try:
            self.step_back()
            with suppress(OSError, ValueError):
                while True:
                    if self._live is not None:
                        self._live.refresh()
                    await anyio.sleep(1 / FRAMES_PER_S)
        finally:
            self.step_aside()

    def show(self, line: str) -> None:
        """Print a line above what is drawn."""
        text, word = Text(line), line.partition(" ")[0]
        if word in STYLES:
            text.stylize(STYLES[word], 0, len(word))
        with suppress(OSError, ValueError):
            self._console.print(text, soft_wrap=True)

    def step_aside(self) -> None:
        """Take away what is drawn, for a person who answers."""
        live, self._live = self._live, None
        if live is not None:
            with suppress(OSError, ValueError):
                live.stop()

    def step_back(self) -> None:
        """Draw again."""
        if self._live is None:
            # A new one each time: one that was used would wipe out what a person has typed meanwhile.
            self._live = Live(
                get_renderable=self._drawn,
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
            )
            with suppress(OSError, ValueError):
                self._live.start()

    def _rows(self) -> Sequence[str]:
        rows = list(self._board.lines())
        room = max(1, self._console.size.height - ROOM)
        return rows if len(rows) <= room else [*rows[: room - 1], f"         and {len(rows) - room + 1} more"]

    def _drawn(self) -> RenderableType:
        texts = [Text(row, style="dim", no_wrap=True, overflow="ellipsis") for row in self._rows()]
        return Group(*texts, Text(self._board.status(), style="bold", no_wrap=True, overflow="ellipsis"))
