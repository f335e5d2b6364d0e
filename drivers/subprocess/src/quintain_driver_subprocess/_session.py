"""A conversation in JSON lines: reading and sending at once, so that neither side waits for the other for ever."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import anyio
from attrs import frozen
from quintain import AgentProcess, Answer, Line, ProcessGone, Question
from quintain.driving import Events

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
