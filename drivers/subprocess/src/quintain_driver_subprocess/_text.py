"""A program that speaks no protocol: it is told its prompt, and what it prints is its answer."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

import anyio
from quintain import (
    AgentProcess,
    Answer,
    Done,
    Event,
    Line,
    Log,
    Message,
    ProcessGone,
    Progress,
    ProtocolError,
    Question,
    Ready,
)
from quintain.driving import QUOTED, Events, visible

KEPT = 8 * 1024 * 1024
"""Bytes of output that are kept as the answer; what comes after is counted."""

PROGRESS_S = 1.0
"""A sign of life is passed on at most so often, in seconds."""

SHOWN = 200
"""Characters of a line that a sign of life shows."""


class TextSession:
    """One run of such a program.

    Args:
        process: the program.
        lines: what it prints.
        name: what it is called.
        prompt: what to write to its standard input; None if it is told in another way.
    """

    def __init__(self, process: AgentProcess, lines: AsyncIterator[Line], name: str, prompt: bytes | None) -> None:
        self._process = process
        self._lines = lines
        self._name = name
        self._prompt = prompt
        self._output = Output()
        self._shown_at = -math.inf

    async def tell(self) -> None:
        """Write the prompt and close the input; goes on beside the reading."""
        if self._prompt is None:
            return
        with suppress(ProcessGone):  # a program may ignore its input
            await self._process.send(self._prompt)
        await self._process.close_stdin()

    def __aiter__(self) -> Events:
        return Events(self._process, self._lines, self._take, finish=self._finish, first=(Ready(agent=self._name),))

    def _take(self, line: Line) -> Iterable[Event]:
        self._output.add(line)
        now = anyio.current_time()
        if now - self._shown_at >= PROGRESS_S:
            self._shown_at = now
            yield Progress(visible(line.text)[:SHOWN])

    def _finish(self) -> Iterable[Event]:
        yield from self._output.events()
        end = self._process.exit
        if end is not None and end.clean:
            yield Done(self._output.text)
        # Else it just ends: the engine knows the exit status and the error output, and says so.

    async def answer(self, question: Question, answer: Answer) -> None:
        """Never called: such a program can't ask."""
        raise ProcessGone(f"{self._name} speaks no protocol and can't be answered")

    async def interrupt(self) -> None:
        """Such a program can't be asked to stop; the core ends it."""


class Output:
    """What a program printed, up to a bound. Line ends are those of Unix, and the last one is left out."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._room = KEPT
        self._dropped = 0
        self._lines = 0
        self._inexact: ProtocolError | None = None

    def add(self, line: Line) -> None:
        """Take one line."""
        self._lines += 1
        if self._inexact is None and not line.dropped and not line.exact:
            message = "bytes that are not UTF-8 were replaced by U+FFFD"
            self._inexact = ProtocolError(message, line.text[:QUOTED], self._lines)
        data = line.data if not self._kept and self._room == KEPT else b"\n" + line.data
        if self._dropped:
            self._dropped += len(data) + line.dropped
            return
        self._kept.append(data[: self._room])
        self._dropped = len(data) - len(self._kept[-1]) + line.dropped
        self._room -= len(self._kept[-1])

    @property
    def text(self) -> str:
        """What was kept."""
        return b"".join(self._kept).decode("utf-8", "replace")

    def events(self) -> list[Event]:
        """The message, and what a reader must know about it."""
        found: list[Event] = []
        if self._inexact is not None:
            found.append(self._inexact)
        if self._dropped:
            found.append(Log("the answer goes on beyond what is kept of it", dropped=self._dropped))
        if text := self.text:
            found.append(Message(text))
        return found
