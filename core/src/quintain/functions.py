"""Plain functions as plugins: agents and answerers that live in this process, and the answerer that refuses all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable

from attrs import frozen

from quintain.contracts.answerer import Answerer, AnswererContext, AnswererSpec, Exchange
from quintain.contracts.configs import NoConfig
from quintain.contracts.driver import DriverSpec, Launch, Session
from quintain.errors import UsageError
from quintain.hooks import hookimpl
from quintain.model.events import Done, Event, Message, Ready
from quintain.model.question import Answer, Question

AnswerFunction = Callable[[Question], str | bool | Answer | Awaitable[str | bool | Answer]]
AgentFunction = Callable[[Launch], AsyncIterator[Event] | Awaitable[str | None]]


def driver_of(function: AgentFunction, *, name: str | None = None) -> DriverSpec[NoConfig]:
    """Make a driver of a function that is the agent, for agents that live in this process.

    Args:
        function: takes the `Launch`; either an async function that returns the final answer, or an async generator
            of events.
        name: the driver's name; the function's if not given.
    """
    title = name or _name_of(function)

    @asynccontextmanager
    async def opened(config: NoConfig, launch: Launch) -> AsyncIterator[Session]:
        yield _FunctionSession(function, launch, title)

    return DriverSpec(title, opened, summary=(function.__doc__ or "").strip().partition("\n")[0])


@frozen
class _FunctionSession:
    """A session with a function: it answers nothing, because a function that asks should be a driver."""

    function: AgentFunction
    launch: Launch
    name: str

    async def __aiter__(self) -> AsyncIterator[Event]:
        found = self.function(self.launch)
        if isawaitable(found):
            yield Ready(agent=self.name)
            text = await found
            if text is not None:
                yield Message(text)
            yield Done(text)
        else:
            async for event in found:
                yield event

    async def answer(self, question: Question, answer: Answer) -> None:
        raise UsageError(f"the agent function {self.name} asked a question; write a driver for an agent that asks")

    async def interrupt(self) -> None:
        return None


def answerer_of(function: AnswerFunction, *, name: str | None = None) -> AnswererSpec[NoConfig]:
    """Make an answerer of a function.

    Args:
        function: takes the question; returns a text for "ask", a bool for "approve", an `Answer` for anything, or an
            awaitable of one.
        name: the answerer's name; the function's if not given.
    """
    title = name or _name_of(function)

    @asynccontextmanager
    async def opened(config: NoConfig, context: AnswererContext) -> AsyncIterator[Answerer]:
        yield _FunctionAnswerer(function)

    return AnswererSpec(title, opened, summary=(function.__doc__ or "").strip().partition("\n")[0])


@frozen
class _FunctionAnswerer:
    function: AnswerFunction

    async def answer(self, question: Question, history: Sequence[Exchange]) -> Answer:
        found = self.function(question)
        said = await found if isawaitable(found) else found
        if isinstance(said, bool):
            return Answer.decide(question, said)
        return Answer.say(question, said) if isinstance(said, str) else said


def _name_of(function: object) -> str:
    return str(getattr(function, "__name__", "function"))


@frozen
class DenyConfig:
    """Configuration of `deny`; `reason` is told to the agent."""

    reason: str = "nobody is here to answer"


@asynccontextmanager
async def _denying(config: DenyConfig, context: AnswererContext) -> AsyncIterator[Answerer]:
    yield _FunctionAnswerer(lambda question: Answer.refuse(question, config.reason))


DENY = AnswererSpec("deny", _denying, DenyConfig, summary="Refuses every question; the refusals are on record.")
"""The safe default, there without any other package."""


@hookimpl
def quintain_answerer() -> AnswererSpec[DenyConfig]:
    """Declare `deny`."""
    return DENY
