"""Means of bounded values by betting: guarantees that need neither a distribution nor many cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from attrs import evolve

from quintain.model.interval import Interval, Side
from quintain.statistics._sample import NOTHING, alpha_of, bounded, mean, opened, unknown
from quintain.statistics._search import crossing

_CAP = 0.75
"""The largest share of the capital that is ever bet."""

_SHUFFLES = 8
_NEAR, _FAR = 1e-9, 700.0

_Run = list[tuple[float, float]]
"""Values with what is bet on each."""

_ALIKE = "cases are independent draws of one population, or in random order"


def hoeffding(
    values: Sequence[float], level: float = 0.95, *, low: float = 0.0, high: float = 1.0, side: Side = "two-sided"
) -> Interval:
    """The plainest interval that holds its level for every bounded distribution; wide, and it needs no seed.

    Args:
        values: one per case, each in [low, high]; with none, nothing is known and both bounds are None.
        level: confidence, 0 to 1.
        low: the least value that could have been seen.
        high: the greatest one.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Raises:
        SampleError: a value is no number or out of bounds.

    Source: Hoeffding (1963), theorem 2.
    """
    sample = bounded(values, low, high)
    alpha = alpha_of(level, side)
    if not sample:
        return unknown("hoeffding", level, sample, side, NOTHING)
    half = (high - low) * math.sqrt(math.log(1.0 / alpha) / (2 * len(sample)))
    center = mean(sample)
    bounds = opened(max(low, center - half), min(high, center + half), side)
    words = (f"values are in [{low:g}, {high:g}]", "cases are independent with one mean")
    return Interval(center, *bounds, "hoeffding", level, len(sample), len(sample), side, words)


def betting(
    values: Sequence[float],
    level: float = 0.95,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "two-sided",
    seed: int = 0,
) -> Interval:
    """The betting interval of a mean, for a number of cases that was fixed beforehand.

    It holds its level for every bounded distribution and every n, and is much narrower than Hoeffding's where the
    variance is small. A gambler bets against each possible mean; the means at which he never got 1/alpha times his
    stake remain. His bets depend on the order of the cases, so his capital is averaged over 8 orders drawn with the seed:
    another seed changes the bounds by a hundredth of the width or so.

    Args:
        values: one per case, each in [low, high]; with none, nothing is known and both bounds are None.
        level: confidence, 0 to 1.
        low: the least value that could have been seen.
        high: the greatest one.
        side: "greater" has a lower bound only, "less" an upper bound only.
        seed: of the shuffle; fix it before the values are known.

    Raises:
        SampleError: a value is no number or out of bounds.

    Source: Waudby-Smith and Ramdas (2024), theorem 3, with bets for a fixed n, truncated at 3/4; the average of
    e-values is one by Vovk and Wang (2021).
    """
    sample = bounded(values, low, high)
    alpha = alpha_of(level, side)
    if not sample:
        return unknown("betting", level, sample, side, NOTHING)
    unit = [(value - low) / (high - low) for value in sample]
    orders = _orders(unit, seed)
    lowest = 0.0 if side == "less" else _lower([_run(order, alpha, True) for order in orders], 1.0 / alpha)
    mirrored = [[1.0 - x for x in order] for order in orders]
    highest = 1.0 if side == "greater" else 1.0 - _lower([_run(o, alpha, True) for o in mirrored], 1.0 / alpha)
    words = (
        f"values are in [{low:g}, {high:g}]",
        _ALIKE,
        "n was fixed beforehand",
        f"averaged over {_SHUFFLES} orders of the cases, drawn with the seed",
    )
    return _scaled((lowest, highest), sample, (low, high), "betting", level, side, words, seed)


def betting_paired(
    differences: Sequence[float],
    level: float = 0.95,
    side: Side = "two-sided",
    *,
    seed: int = 0,
    low: float = -1.0,
    high: float = 1.0,
    comparisons: int = 1,
) -> Interval:
    """The betting interval of the mean of paired differences of scores in [0, 1].

    The only interval of a difference here that holds its level for every n and every distribution, also where all
    differences are the same. Other arguments are those of `betting`.

    Args:
        differences: candidate minus baseline, one per case.
        comparisons: intervals that hold the level together, by Bonferroni's inequality.

    Raises:
        SampleError: a difference is no number or out of bounds.

    Source: that of `betting`; Bonferroni by Dunn (1961).
    """
    alpha_of(level, side, comparisons)
    inner = 1.0 - (1.0 - level) / comparisons
    found = betting(differences, inner, low=low, high=high, side=side, seed=seed)
    shared = (f"{comparisons} intervals share the error equally",) if comparisons > 1 else ()
    words = (*found.assumptions, *shared)
    return evolve(found, method="betting paired", level=level, assumptions=words, comparisons=comparisons)


def betting_sequence(
    values: Sequence[float], level: float = 0.95, *, low: float = 0.0, high: float = 1.0, side: Side = "two-sided"
) -> tuple[Interval, ...]:
    """The hedged betting confidence sequence: an interval after each case, which hold their level all together.

    So one may look after each case, and stop for any reason. Values are taken in the order in which they were seen;
    each interval lies inside the one before it. Other arguments are those of `betting`.

    Returns:
        as many intervals as there are values.

    Source: Waudby-Smith and Ramdas (2024), theorem 3, truncated at 3/4.
    """
    sample = bounded(values, low, high)
    alpha = alpha_of(level, side)
    unit = [(value - low) / (high - low) for value in sample]
    lows = [0.0] * len(unit) if side == "less" else _lower_each(_run(unit, alpha, False), 1.0 / alpha)
    mirrored = [1.0 - x for x in unit]
    highs = [0.0] * len(unit) if side == "greater" else _lower_each(_run(mirrored, alpha, False), 1.0 / alpha)
    words = (f"values are in [{low:g}, {high:g}]", _ALIKE, "all intervals hold together, at every look")
    return tuple(
        _scaled((below, 1.0 - above), sample[: i + 1], (low, high), "betting sequence", level, side, words, None)
        for i, (below, above) in enumerate(zip(lows, highs, strict=True))
    )


def _scaled(
    unit: tuple[float, float],
    sample: Sequence[float],
    ends: tuple[float, float],
    method: str,
    level: float,
    side: Side,
    words: tuple[str, ...],
    seed: int | None,
) -> Interval:
    low, high = ends
    center = mean(sample)
    # an interval that missed the mean of its own sample would puzzle; to widen it keeps its level
    below = min(center, low + unit[0] * (high - low))
    above = max(center, low + unit[1] * (high - low))
    n = len(sample)
    return Interval(center, *opened(below, above, side), method, level, n, n, side, words, seed)


def _orders(unit: Sequence[float], seed: int) -> list[list[float]]:
    if min(unit) == max(unit):
        return [list(unit)]
    random = Random(seed)
    return [random.sample(unit, len(unit)) for _ in range(_SHUFFLES)]


def _run(unit: Sequence[float], alpha: float, fixed: bool) -> _Run:
    """Each value with what is bet on it, which depends on the values before it only."""
    run: _Run = []
    total, squares, spread = 0.5, 0.25, 0.25
    for t, x in enumerate(unit, 1):
        horizon = len(unit) if fixed else t * math.log1p(t)
        run.append((x, math.sqrt(2.0 * math.log(1.0 / alpha) / (horizon * spread))))
        total += x
        squares += (x - total / (t + 1)) ** 2
        spread = squares / (t + 1)
    return run


def _lower(runs: Sequence[_Run], goal: float) -> float:
    """The greatest mean at which the average gambler won `goal`; what he wins falls in the mean."""

    def excess(m: float) -> float:
        return _log(math.fsum(_capital(run, m) for run in runs) / len(runs)) - math.log(goal)

    return crossing(excess, 0.0, 1.0, _NEAR)[0]


def _capital(run: _Run, m: float) -> float:
    """What betting that the mean is above m makes of 1."""
    capital, limit = 1.0, _CAP / m if m > 0.0 else math.inf
    for x, bet in run:
        capital *= 1.0 + (bet if bet < limit else limit) * (x - m)
    return capital


def _log(capital: float) -> float:
    return max(-_FAR, min(_FAR, math.log(capital))) if capital > 0.0 else -_FAR


def _lower_each(run: _Run, goal: float) -> list[float]:
    """The greatest mean refuted so far, after each value: it moves when the capital there reaches the goal again."""
    found: list[float] = []
    best, capital, limit = 0.0, 1.0, math.inf
    for t, (x, bet) in enumerate(run, 1):
        capital *= 1.0 + min(bet, limit) * (x - best)
        if capital >= goal:
            best, excess = _moved_up(run[:t], goal, best)
            capital = goal * math.exp(excess)
            limit = _CAP / best if best > 0.0 else math.inf
        found.append(best)
    return found


def _moved_up(run: _Run, goal: float, best: float) -> tuple[float, float]:
    def excess(m: float) -> float:
        return _log(_capital(run, m)) - math.log(goal)

    return crossing(excess, best, 1.0, _NEAR)
