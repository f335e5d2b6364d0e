"""Whether a candidate meets the constraints: yes, no, or it can't be told."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from attrs import evolve, frozen

from quintain.campaign.effects import exactly, profiles_of
from quintain.campaign.evaluate import Table, difference_interval, seed_of
from quintain.campaign.metrics import METRICS
from quintain.model.campaign import BASELINE, Campaign, Candidate, Constraint
from quintain.model.decision import GateResult
from quintain.model.interval import Interval
from quintain.statistics import holm

_SLACK = 1e-12
"""Means of floats may end a hair beside what they mean."""


@frozen
class _Bounds:
    """What is asked of one number."""

    low: float | None
    high: float | None
    what: str


def gates_of(
    campaign: Campaign, table: Table, candidate: Candidate, baseline: Candidate | None
) -> tuple[GateResult, ...]:
    """The constraints of one candidate; those of the test split only if it was run there.

    Args:
        campaign: whose constraints are checked.
        table: the figures.
        candidate: whom they are asked of.
        baseline: for sizes; None if it is not known.
    """
    found = []
    for constraint in campaign.constraints:
        if constraint.split == "test" and not table.trials(candidate.id, "test"):
            continue
        mean = _Bounds(constraint.min, constraint.max, constraint.metric)
        paired = _Bounds(constraint.min_difference, constraint.max_difference, f"difference in {constraint.metric}")
        for profile in profiles_of(campaign, constraint.profile):
            if mean.low is not None or mean.high is not None:
                value, doubt = _mean(campaign, table, constraint, profile, candidate)
                found.append(_judged(constraint, profile, mean, value, doubt))
            if candidate.id != BASELINE and (paired.low is not None or paired.high is not None):
                value, doubt = _paired(campaign, table, constraint, profile, candidate, baseline)
                found.append(_judged(constraint, profile, paired, value, doubt))
    return tuple(found)


def eligible(gates: Sequence[GateResult]) -> bool | None:
    """Every constraint is met; None if that can't be told."""
    if any(gate.met is False for gate in gates):
        return False
    return None if any(gate.met is None for gate in gates) else True


def worst_violation(gates: Sequence[GateResult]) -> float:
    """By how much the constraint that is missed most is missed."""
    return max((gate.violation for gate in gates), default=0.0)


def _level(constraint: Constraint) -> float | None:
    """Of the two-sided interval both of whose bounds hold at the one-sided level that is asked."""
    return None if constraint.confidence is None else max(2.0 * constraint.confidence - 1.0, 1e-6)


def _mean(
    campaign: Campaign, table: Table, constraint: Constraint, profile: str, candidate: Candidate
) -> tuple[Interval | None, str | None]:
    """The value of a constraint, and why nothing can be said of it."""
    if constraint.metric == "subject_bytes":
        return exactly(float(candidate.bytes)), None
    if constraint.metric == "case_regressions":
        return regressions(table, candidate.id, constraint.split, profile, constraint.confidence or 0.95), None
    level = _level(constraint) or 1.0 - campaign.alpha
    value = table.mean_of(campaign, candidate.id, constraint.split, profile, constraint.metric, level)
    return value, _doubt(campaign, table, constraint, profile, candidate.id)


def _paired(
    campaign: Campaign,
    table: Table,
    constraint: Constraint,
    profile: str,
    candidate: Candidate,
    baseline: Candidate | None,
) -> tuple[Interval | None, str | None]:
    if constraint.metric == "subject_bytes":
        return (exactly(float(candidate.bytes - baseline.bytes)), None) if baseline is not None else (None, None)
    if constraint.metric == "case_regressions":
        return regressions(table, candidate.id, constraint.split, profile, constraint.confidence or 0.95), None
    pairs = table.pairs(candidate.id, constraint.split, (profile,), constraint.metric)
    seed = seed_of(campaign.seed, candidate.id, constraint.split, profile, constraint.metric, "difference")
    value = difference_interval(pairs, _level(constraint) or 1.0 - campaign.alpha, seed=seed)
    doubts = [_doubt(campaign, table, constraint, profile, id) for id in (candidate.id, BASELINE)]
    return value, next((doubt for doubt in doubts if doubt), None)


def _doubt(campaign: Campaign, table: Table, constraint: Constraint, profile: str, candidate: str) -> str | None:
    """Why the known values can't stand for all."""
    trials = table.trials(candidate, constraint.split, profile)
    known = sum(constraint.metric in one.metrics for one in trials)
    if not known:
        return f"{constraint.metric} of {candidate} is known of no trial"
    unreported = sum(one.scored and constraint.metric not in one.metrics for one in trials)
    if unreported and not METRICS[constraint.metric].unit_interval:
        return f"{constraint.metric} of {candidate} is unknown for {unreported} of {len(trials)} trials"
    if known < campaign.coverage * len(trials):
        return f"{constraint.metric} of {candidate} is known of only {known} of {len(trials)} trials"
    return None


def _judged(
    constraint: Constraint, profile: str, bounds: _Bounds, value: Interval | None, doubt: str | None
) -> GateResult:
    if value is None or value.estimate is None:
        return GateResult(constraint, profile, value, None, 0.0, doubt or f"{bounds.what} is not known")
    asked = constraint.confidence is not None or constraint.metric == "case_regressions"
    answers = [_above(value, bounds.low, asked), _below(value, bounds.high, asked)]
    met = False if False in answers else None if None in answers else True
    if doubt is not None:
        met = None
    violation = 0.0 if met else max(_missed(bounds.low, value.estimate, 1), _missed(bounds.high, value.estimate, -1))
    return GateResult(
        constraint,
        profile,
        _shown(constraint, bounds, value),
        met,
        violation,
        doubt or _words(constraint, bounds, value),
    )


def _above(value: Interval, bound: float | None, asked: bool) -> bool | None:
    if bound is None:
        return True
    low, high = (value.low, value.high) if asked else (value.estimate, value.estimate)
    if low is not None and low >= bound - _SLACK:
        return True
    return False if high is not None and high < bound - _SLACK else None


def _below(value: Interval, bound: float | None, asked: bool) -> bool | None:
    if bound is None:
        return True
    low, high = (value.low, value.high) if asked else (value.estimate, value.estimate)
    if high is not None and high <= bound + _SLACK:
        return True
    return False if low is not None and low > bound + _SLACK else None


def _missed(bound: float | None, estimate: float, sign: int) -> float:
    return 0.0 if bound is None else max(0.0, sign * (bound - estimate)) / (abs(bound) or 1.0)


def _shown(constraint: Constraint, bounds: _Bounds, value: Interval) -> Interval:
    """The one-sided interval that was compared, or both bounds if both were."""
    if constraint.confidence is None or value.method == "exact" or (bounds.low is not None and bounds.high is not None):
        return value
    if bounds.high is None:
        return evolve(value, high=None, side="greater", level=constraint.confidence)
    return evolve(value, low=None, side="less", level=constraint.confidence)


def _words(constraint: Constraint, bounds: _Bounds, value: Interval) -> str:
    asked = [f">= {bounds.low:g}"] if bounds.low is not None else []
    asked += [f"<= {bounds.high:g}"] if bounds.high is not None else []
    sure = f" at {constraint.confidence:.0%}" if constraint.confidence is not None else ""
    low, high = ("?" if bound is None else f"{bound:.4g}" for bound in (value.low, value.high))
    between = f" (between {low} and {high})" if sure or constraint.metric == "case_regressions" else ""
    return f"{bounds.what} is {value.estimate:.4g}{between}, asked for {' and '.join(asked)}{sure}"


def regressions(table: Table, candidate: str, split: str, profile: str, level: float) -> Interval:
    """How many cases are worse than under the baseline.

    The estimate and the upper bound are the cases whose pass rate is lower, of which some are lower by chance; the lower
    bound are those whose fall chance doesn't explain, by Fisher's exact test with Holm's correction.
    """
    mine = table.cases(candidate, split, profile, "pass_rate")
    base = table.cases(BASELINE, split, profile, "pass_rate")
    both = sorted(mine.keys() & base.keys())
    if not both:
        return Interval(None, None, None, "fisher", level, 0)
    fell = sum(mine[case].mean < base[case].mean for case in both)
    ps = [
        _fisher(round(a.mean * a.trials), a.trials, round(b.mean * b.trials), b.trials)
        for a, b in ((mine[case], base[case]) for case in both)
    ]
    shown = sum(p <= 1.0 - level for p in holm(ps))
    words = ("trials of a case are independent", "some of the falls up to the estimate are chance")
    return Interval(float(fell), float(shown), float(fell), "fisher", level, len(both), len(both), assumptions=words)


def _fisher(passed: int, n: int, base_passed: int, base_n: int) -> float:
    """Probability that as few of the candidate's trials pass, if both pass as often."""
    whole, all_passed = n + base_n, passed + base_passed
    least = max(0, all_passed - base_n)
    ways = sum(comb(n, k) * comb(base_n, all_passed - k) for k in range(least, passed + 1))
    return min(1.0, ways / comb(whole, all_passed))
