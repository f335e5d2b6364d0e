"""What a campaign found: evaluations of candidates, how they stand, and the one decision."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from attrs import field, frozen

from quintain.model.campaign import Constraint, Objective
from quintain.model.interval import Interval, TestResult
from quintain.model.usage import NO_SPEND, Spend


class Verdict(StrEnum):
    """The five ways in which a campaign can end."""

    PROMOTE = "promote"
    """A candidate met every constraint and is better than the baseline."""
    KEEP_BASELINE = "keep baseline"
    """Every candidate is worse, or no different within the tolerance."""
    NOT_ENOUGH_EVIDENCE = "not enough evidence"
    """A candidate may be better, but the evidence doesn't say so."""
    FAILED_CONSTRAINT = "failed constraint"
    """No candidate met every constraint."""
    INCOMPLETE = "incomplete"
    """Too many trials are missing, or the budget ended first."""


@frozen
class TrialFigures:
    """What is counted of one trial of a campaign; the unit that evaluation works on.

    Attributes:
        candidate, profile, split, case, repetition: which trial it is.
        cluster: cases with one cluster are not independent; None is a cluster of its own.
        scored: it has a verdict; otherwise it is missing.
        metrics: value of each metric of it; a metric that isn't known is absent, never 0.
        spend: what it cost.
        outcome: the word of its outcome, for lists of missing trials.
        trial: its name.
    """

    candidate: str
    profile: str
    split: str
    case: str
    repetition: int
    scored: bool
    metrics: Mapping[str, float] = field(factory=dict)
    cluster: str | None = None
    spend: Spend = NO_SPEND
    outcome: str = "completed"
    trial: str = ""


@frozen
class Effect:
    """One objective of one candidate against the baseline, paired by case.

    Attributes:
        objective: which.
        split: where.
        candidate: mean of the candidate over the pairs, with its interval.
        baseline: likewise of the baseline.
        difference: candidate minus baseline; simultaneous over all candidates that are compared.
        test: that there is no difference, corrected for all candidates.
        finding: what that says about the candidate, in the objective's direction.
        improved: cases in which the candidate is better.
        regressed: cases in which it is worse.
        unpaired: cases that only one of the two has a value for.
    """

    objective: Objective
    split: str
    candidate: Interval
    baseline: Interval
    difference: Interval
    test: TestResult
    finding: Literal["better", "worse", "equivalent", "unknown"]
    improved: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    unpaired: tuple[str, ...] = ()


@frozen
class GateResult:
    """One constraint of one candidate under one profile.

    Attributes:
        constraint: which.
        profile: under which profile.
        value: the mean or paired difference, with the one-sided interval that was compared.
        met: None if it can't be told.
        violation: by how much it is missed, relative to the bound; 0 if it is met.
        reason: in words.
    """

    constraint: Constraint
    profile: str
    value: Interval | None
    met: bool | None
    violation: float = 0.0
    reason: str = ""


@frozen
class Standing:
    """How one candidate stands.

    Attributes:
        candidate: its id.
        rank: 1 for the best; the baseline has one too.
        eligible: every constraint is met; None if that can't be told.
        gates: its constraints.
        effects: its objectives; empty for the baseline.
        spend: what all its trials cost.
        planned, scored, missing: trials.
        missing_trials: names of those without a verdict, with the outcome.
        worst_case, best_case: pass rate if the missing all fail, or all pass.
        frontier: no other candidate is at least as good in every objective and better in one.
        bytes: size of its components.
        stopped: why it was not run to the end, or None.
    """

    candidate: str
    rank: int
    eligible: bool | None
    gates: tuple[GateResult, ...] = ()
    effects: tuple[Effect, ...] = ()
    spend: Spend = NO_SPEND
    planned: int = 0
    scored: int = 0
    missing: int = 0
    missing_trials: tuple[str, ...] = ()
    worst_case: float | None = None
    best_case: float | None = None
    frontier: bool = False
    bytes: int = 0
    stopped: str | None = None


@frozen
class Decision:
    """The one decision of a campaign, recomputable from its trials.

    Attributes:
        verdict: one of five.
        candidate: the promoted candidate, or None.
        why: one sentence that a skeptic can check against the standings.
        standings: all candidates, best first.
        confirmed: the effects of the finalist on the test split, or empty if there is none.
        limits: what the evidence does not show, in plain words.
        alpha: probability of a wrong promotion that the corrections hold.
        looks: how often each split was looked at before this decision.
    """

    verdict: Verdict
    candidate: str | None
    why: str
    standings: tuple[Standing, ...] = ()
    confirmed: tuple[Effect, ...] = ()
    limits: tuple[str, ...] = ()
    alpha: float = 0.05
    looks: Mapping[str, int] = field(factory=dict)
