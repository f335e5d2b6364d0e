"""What an agent asks while it runs, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

from quintain.model.plain import Json

QuestionKind = Literal["ask", "approve", "custom"]


@frozen
class Option:
    """One of several answers that the agent offers."""

    label: str
    description: str | None = None


@frozen
class Question:
    """A question that is out until it is answered.

    Attributes:
        id: unique within the trial; the answer carries it back.
        kind: "ask" wants a text, "approve" a yes or no, "custom" whatever the agent and the answerer agreed on.
        text: what is asked, or what is to be approved.
        options: answers to choose from; empty if free text is wanted.
        several: more than one option may be chosen.
        payload: the request as the agent sent it, for approvals (the tool and its input) and custom questions.
        agent: the subagent that asks, or None for the main agent.
    """

    id: str
    kind: QuestionKind
    text: str = ""
    options: tuple[Option, ...] = ()
    several: bool = False
    payload: Json = None
    agent: str | None = None


@frozen
class Answer:
    """The answer to one question.

    Attributes:
        question: id of the question.
        kind: that of the question.
        text: for "ask".
        chosen: labels of the chosen options, if options were offered.
        approved: for "approve".
        payload: for "custom".
        reason: why it was approved or refused, told to the agent.
        refused: the answerer declines to answer at all; drivers turn it into their protocol's refusal.
    """

    question: str
    kind: QuestionKind
    text: str | None = None
    chosen: tuple[str, ...] = ()
    approved: bool | None = None
    payload: Json = None
    reason: str | None = None
    refused: bool = False
    detail: Mapping[str, Json] = field(factory=dict)

    @classmethod
    def say(cls, question: Question, text: str, *, chosen: tuple[str, ...] = ()) -> Answer:
        """A text for an "ask"."""
        return cls(question.id, "ask", text=text, chosen=chosen)

    @classmethod
    def decide(cls, question: Question, approved: bool, reason: str | None = None) -> Answer:
        """A yes or no for an "approve"."""
        return cls(question.id, "approve", approved=approved, reason=reason)

    @classmethod
    def give(cls, question: Question, payload: Json) -> Answer:
        """A payload for a "custom" question."""
        return cls(question.id, "custom", payload=payload)

    @classmethod
    def refuse(cls, question: Question, reason: str) -> Answer:
        """No answer: an approval is denied, a question is declined with the reason."""
        return cls(
            question.id,
            question.kind,
            approved=False if question.kind == "approve" else None,
            reason=reason,
            refused=True,
        )
