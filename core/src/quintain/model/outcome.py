"""How a trial ended: a closed set, of which some are scored and the rest is missing data."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class Stage(StrEnum):
    """The stages of a trial, in their order."""

    STAGE = "stage"
    OPEN = "open"
    CONVERSE = "converse"
    QUIESCE = "quiesce"
    COLLECT = "collect"
    GRADE = "grade"
    CLOSE = "close"


class OutcomeKind(StrEnum):
    """The closed set of outcomes."""

    COMPLETED = "completed"
    AGENT_FAILED = "agent_failed"
    TIMED_OUT = "timed_out"
    STALLED = "stalled"
    TOO_MANY_QUESTIONS = "too_many_questions"
    BUDGET_STOPPED = "budget_stopped"
    INFRASTRUCTURE = "infrastructure"
    GRADER_FAILED = "grader_failed"
    INVALID = "invalid"
    CANCELLED = "cancelled"


SCORED = frozenset(
    {
        OutcomeKind.COMPLETED,
        OutcomeKind.AGENT_FAILED,
        OutcomeKind.TIMED_OUT,
        OutcomeKind.STALLED,
        OutcomeKind.TOO_MANY_QUESTIONS,
        OutcomeKind.BUDGET_STOPPED,
    }
)
"""Outcomes that say something about the agent; the others are missing data, never zero and never dropped."""


class Failure(StrEnum):
    """Classes of infrastructure failure; each has its own back-off before the next attempt."""

    RATE_LIMIT = "rate_limit"
    OVERLOAD = "overload"
    NETWORK = "network"
    AUTH = "auth"
    DISK = "disk"
    PROTOCOL = "protocol"
    CRASH = "crash"
    KILLED = "killed"
    """Ended from outside: by the kernel for want of memory, or by an operator."""
    MISSING = "missing"
    """An executable, a sandbox or another part that the agent needs isn't there."""
    ANSWERER = "answerer"
    INTERNAL = "internal"
    """A fault of Quintain or of a plugin."""


NOT_RETRIED = frozenset({Failure.MISSING, Failure.INTERNAL})
"""Failures that another attempt would only repeat."""


@frozen
class Outcome:
    """How a trial or an attempt ended.

    Attributes:
        kind: one of the closed set.
        reason: one sentence that says why, with measured numbers.
        stage: where it ended, for infrastructure failures.
        failure: the class of an infrastructure failure.
        conflicts: signals of the agent that contradicted each other, in words.
    """

    kind: OutcomeKind
    reason: str = ""
    stage: Stage | None = None
    failure: Failure | None = None
    conflicts: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """It says something about the agent."""
        return self.kind in SCORED

    def describe(self) -> str:
        """For people: `infrastructure (converse, rate_limit)`."""
        if self.kind is OutcomeKind.INFRASTRUCTURE:
            return f"infrastructure ({self.stage}, {self.failure})"
        return self.kind.value
