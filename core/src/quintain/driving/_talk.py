"""Reading an agent's process and speaking to it at once, so that neither side waits for the other for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import anyio

from quintain.contracts.driver import AgentProcess, Line
from quintain.errors import ProcessGone, QuintainError
from quintain.model.events import Done, Event, Failed

M = TypeVar("M")

MOST_WAITING = 100
"""Messages that wait to be said; an agent that lets more of them wait doesn't listen."""


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


@asynccontextmanager
async def beside(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Let some work go on beside what happens inside, and end it there."""
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        try:
            yield
        except Exception as error:  # noqa: BLE001  # raised below: the group would wrap it
            raised = error
        tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised


def prompt_bytes(prompt: str) -> bytes:
    """A prompt as the bytes that it came from. Raises QuintainError if it has half of a character in it."""
    try:
        return prompt.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise QuintainError(
            f"the prompt has half of a character (a lone surrogate) at position {error.start}: nothing can be told that"
        ) from error


class Events:
    """Iterates over what an agent says. Not a generator, so that it can be left in the middle without a trace.

    Args:
        process: the agent, whose input is closed after its last word; None if it is not listening anyway.
        lines: its output.
        take: makes events of one line.
        finish: makes the events that come after the last line.
        first: the events that come before the first.
    """

    def __init__(
        self,
        process: AgentProcess | None,
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
        if self._process is not None and isinstance(event, Done | Failed):
            # Nothing more will be said to it; an agent that reads to the end must not hang there.
            await self._process.close_stdin()
        return event


class Speaker(Generic[M]):
    """Says messages to an agent in order, as fast as it listens.

    Args:
        process: the agent.
        line: makes the bytes of a message.
    """

    def __init__(self, process: AgentProcess, line: Callable[[M], bytes]) -> None:
        self._process = process
        self._line = line
        self._turn = anyio.Lock()
        self._to_say, self._says = anyio.create_memory_object_stream[M](MOST_WAITING)

    async def speak(self) -> None:
        """Say what `say` was given; goes on beside the reading, until the agent is gone."""
        async with self._says:
            async for message in self._says:
                try:
                    await self.send(message)
                except ProcessGone:
                    return  # how it ends tells the rest

    def say(self, messages: Iterable[M]) -> None:
        """Have messages said, without waiting; those that nobody listens to are left out."""
        for message in messages:
            try:
                self._to_say.send_nowait(message)
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def send(self, message: M) -> None:
        """Say a message now. Raises ProcessGone if the agent doesn't listen any more."""
        async with self._turn:
            await self._process.send(self._line(message))

    def close(self) -> None:
        """Nothing more will be said."""
        self._to_say.close()
        self._says.close()
