"""A trial as data: the order that goes in and the report that comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from quintain.model.case import Case
from quintain.model.events import Ready
from quintain.model.exit import Exit
from quintain.model.grade import Grade
from quintain.model.limits import Limits, Retry
from quintain.model.outcome import Outcome
from quintain.model.plain import Finding, Plug
from quintain.model.usage import NO_SPEND, Spend, sum_spend


@frozen
class Isolation:
    """What stands between an agent and the machine.

    Attributes:
        sandbox: "none", or the name of a sandbox that must be there ("bwrap").
        network: whether a sandboxed agent may use the network.
        readable: paths that a sandboxed agent sees beside the system's, read-only: where its program is installed.
        pass_env: names of host variables that the agent may see, beside the few that every program needs.
        secrets: names of host variables that it may see and whose values are redacted wherever they turn up.
        env: variables set by the profile, by name.
    """

    sandbox: str = "none"
    network: bool = True
    readable: tuple[Path, ...] = ()
    pass_env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict)


@frozen
class Allowance:
    """The most that one trial may spend; None means no bound."""

    usd: float | None = None
    tokens: int | None = None


@frozen
class TrialOrder:
    """All that is needed to run one trial anywhere: self-contained plain data.

    Attributes:
        trial: unique name of the trial within its run, `case@profile#repetition`.
        case: the task.
        profile: name of the way to run.
        driver: the driver and its resolved configuration.
        answerer: who answers questions.
        candidate: the version of the components under test.
        repetition: from 1.
        fixtures: digest of the stored tree of fixtures, or None.
        hidden: digest of the stored tree of hidden fixtures, or None.
        limits: bounds of one attempt.
        retry: what to do about infrastructure failures.
        isolation: what the agent may see.
        allowance: what it may spend.
        seed: passed to agents that take one.
        subject: digest of the stored tree that is under test and lies beside the workspace, or None.
    """

    trial: str
    case: Case
    profile: str
    driver: Plug
    answerer: Plug
    candidate: str = "baseline"
    repetition: int = 1
    fixtures: str | None = None
    hidden: str | None = None
    limits: Limits = field(factory=Limits)
    retry: Retry = field(factory=Retry)
    isolation: Isolation = field(factory=Isolation)
    allowance: Allowance = field(factory=Allowance)
    seed: int = 0
    subject: str | None = None


@frozen
class SpendBreakdown:
    """Who spent: the agent, the answerer, the judges."""

    agent: Spend = NO_SPEND
    answerer: Spend = NO_SPEND
    judge: Spend = NO_SPEND

    @property
    def total(self) -> Spend:
        """All three together."""
        return sum_spend((self.agent, self.answerer, self.judge))


@frozen
class Counts:
    """How many of each thing were seen in an attempt."""

    events: int = 0
    messages: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    questions: int = 0
    denials: int = 0
    noise_lines: int = 0
    protocol_errors: int = 0
    unknown_events: int = 0
    late_events: int = 0
    dropped_events: int = 0
    dropped_bytes: int = 0


@frozen
class StageTime:
    """Seconds spent in one stage."""

    stage: str
    seconds: float


@frozen
class Attempt:
    """One try at a trial; several if infrastructure failed. Spend and evidence of each are kept.

    Attributes:
        number: from 1.
        outcome: how it ended.
        started_at: UTC, ISO 8601.
        duration_s: by a monotonic clock, grading left out.
        stages: in order.
        agent: what the agent said of itself, if it became ready.
        answer: its final answer.
        exit: how its first process ended, if it had one.
        stderr: head and tail of what that process wrote to its standard error.
        spend: of the agent and the answerer.
        counts: of its events.
        changes: digest of the stored change set, or None if nothing was collected.
        findings: what a reader must know.
        isolation: what really stood between the agent and the machine, in words.
        environment: names of the variables that the agent saw.
    """

    number: int
    outcome: Outcome
    started_at: str
    duration_s: float
    stages: tuple[StageTime, ...] = ()
    agent: Ready | None = None
    answer: str | None = None
    exit: Exit | None = None
    stderr: str = ""
    spend: SpendBreakdown = field(factory=SpendBreakdown)
    counts: Counts = field(factory=Counts)
    changes: str | None = None
    findings: tuple[Finding, ...] = ()
    isolation: str = "none"
    environment: tuple[str, ...] = ()


@frozen
class TrialReport:
    """The result of one trial.

    Attributes:
        outcome: that of the last attempt, or "grader_failed" if it could not be judged.
        grade: the assertions' results, or None if it was not graded.
        attempts: in order, at least one.
    """

    trial: str
    case: str
    profile: str
    candidate: str
    repetition: int
    outcome: Outcome
    grade: Grade | None
    attempts: tuple[Attempt, ...]

    @property
    def passed(self) -> bool | None:
        """True or False if the trial is scored and graded, else None: unknown is neither."""
        if not self.outcome.scored or self.grade is None:
            return None
        if self.outcome.kind != "completed":
            return False
        return self.grade.passed

    @property
    def last(self) -> Attempt:
        """The attempt that counts."""
        return self.attempts[-1]

    @property
    def spend(self) -> SpendBreakdown:
        """Over all attempts, with the judges'."""
        if len(self.attempts) == 1:
            only = self.attempts[0].spend
            return SpendBreakdown(only.agent, only.answerer, self.grade.spend if self.grade else NO_SPEND)
        return SpendBreakdown(
            agent=sum_spend(attempt.spend.agent for attempt in self.attempts),
            answerer=sum_spend(attempt.spend.answerer for attempt in self.attempts),
            judge=self.grade.spend if self.grade else NO_SPEND,
        )

    @property
    def duration_s(self) -> float:
        """Seconds over all attempts."""
        return sum(attempt.duration_s for attempt in self.attempts)
