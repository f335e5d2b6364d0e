"""A conversation in JSON lines: reading and sending at once, so that neither side waits for the other for ever."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from attrs import frozen
from quintain import AgentProcess, Answer, Done, Event, Failed, Line, ProcessGone, Question

from quintain_driver_subprocess._parser import Parser


@frozen
class Speech:
    """What the host says in one version of the protocol.

    Attributes:
        answer: makes the message that carries an answer.
        start: the first message, if the host speaks first.
        cancel: the message that asks the agent to stop, if there is one.
    """

    answer: Callable[[Question, Answer], Mapping[str, Any]]
    start: Mapping[str, Any] | None = None
    cancel: Mapping[str, Any] | None = None


class Events:
    """Iterates over what an agent says. Not a generator, so that it can be left in the middle without a trace.

    Args:
        process: the agent.
        lines: its output.
        take: makes events of one line.
        finish: makes the events that come after the last line.
        first: the events that come before the first.
    """

    def __init__(
        self,
        process: AgentProcess,
        lines: AsyncIterator[Line],
        take: Callable[[Line], Iterable[Event]],
        *,
        finish: Callable[[], Iterable[Event]] = tuple,
        first: Iterable[Event] = (),
    ) -> None:
        self._process = process
        self._lines = lines
        self._take = take
        self._finish = finish
        self._ready = deque(first)
        self._read_all = False

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            if self._read_all:
                raise StopAsyncIteration
            try:
                self._ready.extend(self._take(await anext(self._lines)))
            except StopAsyncIteration:
                self._read_all = True
                self._ready.extend(self._finish())
        event = self._ready.popleft()
        if isinstance(event, Done | Failed):
            # Nothing more will be said to it; an agent that reads to the end must not hang there.
            await self._process.close_stdin()
        return event


class JsonSession:
    """One conversation with an agent that speaks the protocol.

    Args:
        process: the agent.
        lines: what it says.
        parser: understands it.
        speech: what it is told.
    """

    def __init__(self, process: AgentProcess, lines: AsyncIterator[Line], parser: Parser, speech: Speech) -> None:
        self._process = process
        self._lines = lines
        self._parser = parser
        self._speech = speech
        self._started = anyio.Event()

    async def start(self) -> None:
        """Tell the agent its task; goes on beside the reading, because a long prompt is taken only bit by bit."""
        try:
            if self._speech.start is not None:
                await self._process.send(_line(self._speech.start))
        except ProcessGone:
            pass  # an agent may do without its prompt; how it ends tells the rest
        finally:
            self._started.set()

    def __aiter__(self) -> Events:
        return Events(self._process, self._lines, self._parser.feed)

    async def answer(self, question: Question, answer: Answer) -> None:
        """Send an answer. Raises ProcessGone if the agent doesn't listen any more."""
        await self._started.wait()
        await self._process.send(_line(self._speech.answer(question, answer)))

    async def interrupt(self) -> None:
        """Ask the agent to stop."""
        if self._speech.cancel is None:
            await self._process.close_stdin()
            return
        await self._started.wait()
        await self._process.send(_line(self._speech.cancel))


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


@asynccontextmanager
async def lines_of(process: AgentProcess) -> AsyncIterator[AsyncIterator[Line]]:
    """The process's lines, for one iteration that may be left early: it is closed then and not by chance later."""
    lines = process.lines()
    try:
        yield lines
    finally:
        if isinstance(lines, AsyncGenerator):
            with anyio.CancelScope(shield=True):
                await lines.aclose()
