"""Numbers of a decision in words: short, checkable, and never better known than they are."""

from __future__ import annotations

from quintain.model.decision import Effect, GateResult
from quintain.model.interval import Interval, TestResult


def number(value: float | None) -> str:
    """Four digits that count, or `unknown`."""
    if value is None:
        return "unknown"
    return f"{value:.0f}" if value == round(value) and abs(value) >= 1e4 else f"{value:.4g}"


def signed(value: float | None) -> str:
    """With its sign, or `unknown`."""
    return "unknown" if value is None else f"{value:+.4g}"


def bounds_words(interval: Interval) -> str:
    """`[0.1, 0.3]`; `?` for a bound that is not known, nothing for what is exact."""
    if interval.method == "exact":
        return ""
    if interval.low is None and interval.high is None:
        return "no interval"
    low, high = ("?" if bound is None else f"{bound:.4g}" for bound in (interval.low, interval.high))
    if interval.side == "greater":
        return f">= {low}"
    return f"<= {high}" if interval.side == "less" else f"[{low}, {high}]"


def p_words(test: TestResult) -> str:
    """`adjusted p = 0.013`, or why there is none."""
    if test.p is None:
        return test.note or "no test"
    p, what = (test.p, "p") if test.adjusted is None else (test.adjusted, "adjusted p")
    return f"{what} < 0.0001" if p < 1e-4 else f"{what} = {p:.2g}"


def effect_words(effect: Effect) -> str:
    """`pass_rate on validation 0.9 against 0.7 over 30 cases, difference +0.2 [+0.05, +0.35], adjusted p = 0.004`."""
    name = f"{effect.objective.metric} on {effect.split}"
    difference = effect.difference
    if difference.estimate is None:
        return f"{name} is known of no case for both"
    sides = f"{number(effect.candidate.estimate)} against {number(effect.baseline.estimate)}"
    if difference.method == "exact":
        return f"{name} {sides}"
    units = "" if difference.n == difference.cases else f" in {_many(difference.n, 'cluster')}"
    cases = difference.cases if difference.cases is not None else difference.n
    tolerance = f", tolerance {effect.objective.tolerance:g}" if effect.objective.tolerance else ""
    return (
        f"{name} {sides} over {_many(cases, 'case')}{units}, difference {signed(difference.estimate)}"
        f" {bounds_words(difference)}, {p_words(effect.test)}{tolerance}"
    )


def gate_words(gate: GateResult) -> str:
    """The reason, with its profile and split."""
    return f"{gate.reason} (profile {gate.profile}, {gate.constraint.split})"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
