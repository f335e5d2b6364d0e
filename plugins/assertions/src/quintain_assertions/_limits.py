"""Assertions about time, spend and how the trial ended."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen
from quintain import AssertionSpec, CostState, Evidence, OutcomeKind, Verdict

Unknown = Literal["abstain", "pass", "fail"]


@frozen
class Seconds:
    """At most `max` seconds."""

    max: float

    def __attrs_post_init__(self) -> None:
        if self.max <= 0:
            raise ValueError(f"`max` is {self.max}; it must be above 0")


@frozen
class Tokens:
    """At most `max` tokens of one `bucket`; what an `unknown` amount means."""

    max: int
    bucket: Literal["total", "input", "output", "cache_read", "cache_write", "reasoning"] = "total"
    unknown: Unknown = "abstain"

    def __attrs_post_init__(self) -> None:
        if self.max <= 0:
            raise ValueError(f"`max` is {self.max}; it must be above 0")


@frozen
class Dollars:
    """At most `max_usd`; what an `unknown` amount means."""

    max_usd: float
    unknown: Unknown = "abstain"

    def __attrs_post_init__(self) -> None:
        if self.max_usd < 0:
            raise ValueError(f"`max_usd` is {self.max_usd}; it can't be negative")


@frozen
class Kinds:
    """The outcome is one of `kinds`."""

    kinds: tuple[OutcomeKind, ...] = (OutcomeKind.COMPLETED,)


@frozen
class Clean:
    """At most `max` protocol errors."""

    max: int = field(default=0)


def _unknown(policy: Unknown, what: str) -> Verdict:
    if policy == "abstain":
        return Verdict.abstain(what)
    return Verdict.of(policy == "pass", what)


def _duration(config: Seconds, evidence: Evidence) -> Verdict:
    took = evidence.attempt.duration_s
    return Verdict.of(took <= config.max, f"it took {took:.2f} s (at most {config.max:g} s)")


def _tokens(config: Tokens, evidence: Evidence) -> Verdict:
    spend = evidence.attempt.spend.agent
    if spend.tokens is None:
        return _unknown(config.unknown, "the agent reported no tokens")
    used: int = getattr(spend.tokens, config.bucket)
    if used > config.max:
        return Verdict.failed(f"it used {used} tokens ({config.bucket}; at most {config.max})")
    if not spend.complete:
        return _unknown(config.unknown, f"it used at least {used} tokens ({config.bucket}); how many more is unknown")
    return Verdict.passed(f"it used {used} tokens ({config.bucket}; at most {config.max})")


def _cost(config: Dollars, evidence: Evidence) -> Verdict:
    cost = evidence.attempt.spend.agent.cost
    if cost.usd is not None and cost.usd > config.max_usd:
        return Verdict.failed(f"it cost {cost.describe()} (at most ${config.max_usd:.4f})")
    if cost.state is CostState.UNKNOWN or cost.usd is None:
        return _unknown(config.unknown, f"what it cost is {cost.describe()}")
    return Verdict.passed(f"it cost {cost.describe()} (at most ${config.max_usd:.4f})")


def _outcome(config: Kinds, evidence: Evidence) -> Verdict:
    outcome = evidence.outcome
    return Verdict.of(
        outcome.kind in config.kinds, f"the outcome is {outcome.describe()}: {outcome.reason}".rstrip(": ")
    )


def _protocol(config: Clean, evidence: Evidence) -> Verdict:
    errors = evidence.attempt.counts.protocol_errors
    return Verdict.of(errors <= config.max, f"{errors} protocol errors (at most {config.max})")


SPECS = (
    AssertionSpec("duration", _duration, Seconds, quick=True, summary="The agent was quick enough."),
    AssertionSpec("tokens", _tokens, Tokens, quick=True, summary="It used few enough tokens."),
    AssertionSpec("cost", _cost, Dollars, quick=True, summary="It cost little enough."),
    AssertionSpec("outcome", _outcome, Kinds, quick=True, summary="The trial ended in one of some ways."),
    AssertionSpec("protocol_clean", _protocol, Clean, quick=True, summary="The agent kept to its protocol."),
)
