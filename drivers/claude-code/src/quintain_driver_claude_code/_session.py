"""Reading and speaking at once, so that neither side waits for the other for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from quintain import AgentProcess, Answer, Done, Event, Failed, Line, Question
from quintain.driving import Speaker

from quintain_driver_claude_code import _control
from quintain_driver_claude_code._conversation import Conversation, unfinished


class ClaudeSession:
    """One conversation with one process. Its own iterator, so that it can be left in the middle without a trace.

    Args:
        process: the agent.
        lines: what it says.
        conversation: understands it.
        explain: finds out why it never began.
    """

    def __init__(
        self,
        process: AgentProcess,
        lines: AsyncIterator[Line],
        conversation: Conversation,
        explain: Callable[[], Awaitable[str]],
    ) -> None:
        self._process = process
        self._lines = lines
        self._conversation = conversation
        self._explain = explain
        self._events: deque[Event] = deque()
        self._read_all = False
        self._speaker = Speaker[_control.Message](process, _control.line)
        self.speak, self.close = self._speaker.speak, self._speaker.close
        self._speaker.say(conversation.begin())

    def __aiter__(self) -> ClaudeSession:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._read_all:
                raise StopAsyncIteration
            await self._read()
        event = self._events.popleft()
        if isinstance(event, Done | Failed):
            # It waits for another task until its input ends.
            await self._process.close_stdin()
        return event

    async def answer(self, question: Question, answer: Answer) -> None:
        """Deliver an answer. Raises ProcessGone if the agent doesn't listen any more."""
        for message in self._conversation.answer(question, answer):
            await self._speaker.send(message)

    async def interrupt(self) -> None:
        """Ask it to stop; what its tools have started ends only so."""
        for message in self._conversation.interrupt():
            await self._speaker.send(message)

    async def _read(self) -> None:
        try:
            line = await anext(self._lines)
        except StopAsyncIteration:
            self._read_all = True
            self._events.extend(self._conversation.finish())
            ended = self._process.exit
            if self._conversation.silent and ended is not None and ended.stop == "none":
                self._events.extend(unfinished(ended.code, await self._explain()))
            return
        step = self._conversation.feed(line)
        self._speaker.say(step.says)
        self._events.extend(step.events)
