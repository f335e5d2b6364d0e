"""Reading and speaking at once, so that neither side waits for the other for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable

import anyio
from quintain import AgentProcess, Answer, Done, Event, Failed, Line, ProcessGone, Question

from quintain_driver_codex import _messages
from quintain_driver_codex._conversation import Conversation


class CodexSession:
    """One conversation with one process. Its own iterator, so that it can be left in the middle without a trace.

    Args:
        process: the agent.
        lines: what it says.
        conversation: understands it.
    """

    def __init__(self, process: AgentProcess, lines: AsyncIterator[Line], conversation: Conversation) -> None:
        self._process = process
        self._lines = lines
        self._conversation = conversation
        self._ready: deque[Event] = deque()
        self._read_all = False
        self._speaking = anyio.Lock()
        self._to_say, self._says = anyio.create_memory_object_stream[_messages.Message](100)
        self._say(conversation.begin())

    async def speak(self) -> None:
        """Say what the conversation wants to be said, as fast as the agent listens; goes on beside the reading."""
        async with self._says:
            async for message in self._says:
                try:
                    await self._send(message)
                except ProcessGone:
                    return  # how it ends tells the rest

    async def close(self) -> None:
        """Nothing more will be said."""
        self._to_say.close()
        self._says.close()

    def __aiter__(self) -> CodexSession:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            if self._read_all:
                raise StopAsyncIteration
            try:
                step = self._conversation.feed(await anext(self._lines))
            except StopAsyncIteration:
                self._read_all = True
                self._ready.extend(self._conversation.finish())
            else:
                self._say(step.says)
                self._ready.extend(step.events)
        event = self._ready.popleft()
        if isinstance(event, Done | Failed):
            # It serves until its input ends.
            await self._process.close_stdin()
        return event

    async def answer(self, question: Question, answer: Answer) -> None:
        """Deliver an answer. Raises ProcessGone if the agent doesn't listen any more."""
        for message in self._conversation.answer(question, answer):
            await self._send(message)

    async def interrupt(self) -> None:
        """Ask it to stop its turn."""
        for message in self._conversation.interrupt():
            await self._send(message)

    def _say(self, messages: Iterable[_messages.Message]) -> None:
        for message in messages:
            try:
                self._to_say.send_nowait(message)
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # it doesn't listen

    async def _send(self, message: _messages.Message) -> None:
        async with self._speaking:
            await self._process.send(_messages.line(message))
