"""The answerer contract: who answers when an agent asks.

For each attempt the core enters `spec.open(config, context)` before the agent starts and leaves it after the agent is
dead. `answer` is called for one question at a time, while the agent is being watched: if the agent dies, the call is
cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

from attrs import field, frozen

from quintain.contracts.configs import NoConfig
from quintain.model.question import Answer, Question
from quintain.model.usage import Usage

C = TypeVar("C")


@frozen
class Exchange:
    """One question of the past and what was answered."""

    question: Question
    answer: Answer
    waited_s: float


@frozen
class AnswererContext:
    """What an answerer may know.

    Attributes:
        trial: name of the trial.
        case: id of the case.
        prompt: what the agent was told.
        persona: who to be.
        spend: reports what a model call of the answerer used; call it also for a call that failed.
    """

    trial: str
    case: str
    prompt: str
    persona: str | None
    spend: Callable[[Usage], None]


class Answerer(Protocol):
    """Answers the questions of one attempt."""

    async def answer(self, question: Question, history: Sequence[Exchange]) -> Answer:
        """Answer one question; the answer must carry its id and kind.

        May raise QuintainError if it can't; the trial then ends as an infrastructure failure of the answerer. To
        decline, return `Answer.refuse`.
        """


@frozen
class AnswererSpec(Generic[C]):
    """An answerer, declared.

    Attributes:
        name: equal to the name of its entry point.
        open: makes the answerer of one attempt; an error in it comes before anything is spent.
        config: attrs class; what files say is structured into it strictly.
        interactive: a person answers: one question at a time over all trials, and the live view steps aside.
        summary: one line for people.
        version: for answerers that come from no distribution.
    """

    name: str
    open: Callable[[C, AnswererContext], AbstractAsyncContextManager[Answerer]]
    config: type[C] = field(default=NoConfig)  # type: ignore[assignment]  # the default stands for "no configuration"
    interactive: bool = False
    summary: str = ""
    version: str | None = None
