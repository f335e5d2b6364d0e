"""One conversation with one app server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from quintain import AgentProcess, Answer, Event, Line, Question
from quintain.driving import Events, Speaker

from quintain_driver_codex import _messages
from quintain_driver_codex._conversation import Conversation


class CodexSession:
    """One conversation with one process.

    Args:
        process: the agent; it serves until its input ends.
        lines: what it says.
        conversation: understands it.
    """

    def __init__(self, process: AgentProcess, lines: AsyncIterator[Line], conversation: Conversation) -> None:
        self._conversation = conversation
        self._speaker = Speaker[_messages.Message](process, _messages.line)
        self._events = Events(process, lines, self._take, finish=conversation.finish)
        self.speak, self.close = self._speaker.speak, self._speaker.close
        self._speaker.say(conversation.begin())

    def __aiter__(self) -> Events:
        return self._events

    async def answer(self, question: Question, answer: Answer) -> None:
        """Deliver an answer. Raises ProcessGone if the agent doesn't listen any more."""
        for message in self._conversation.answer(question, answer):
            await self._speaker.send(message)

    async def interrupt(self) -> None:
        """Ask it to stop its turn."""
        for message in self._conversation.interrupt():
            await self._speaker.send(message)

    def _take(self, line: Line) -> Iterable[Event]:
        step = self._conversation.feed(line)
        self._speaker.say(step.says)
        return step.events
