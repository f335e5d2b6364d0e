"""Means of bounded values by betting: guarantees that need neither a distribution nor many cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from quintain.model.interval import Interval, Side
from quintain.statistics._sample import NOTHING, alpha_of, bounded, mean, opened, unknown

_CAP = 0.75
"""The largest share of the capital that is ever bet."""

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
    stake remain. His bets depend on the order of the cases, so they are first shuffled with the seed.

    Args:
        values: one per case, each in [low, high]; with none, nothing is known and both bounds are None.
        level: confidence, 0 to 1.
        low: the least value that could have been seen.
        high: the greatest one.
        side: "greater" has a lower bound only, "less" an upper bound only.
        seed: of the shuffle; fix it before the values are known.

    Raises:
        SampleError: a value is no number or out of bounds.

    Source: Waudby-Smith and Ramdas (2024), theorem 3 and remark 1, truncated at 3/4.
    """
    sample = bounded(values, low, high)
    alpha = alpha_of(level, side)
    if not sample:
        return unknown("betting", level, sample, side, NOTHING)
    Random(seed).shuffle(sample)
    unit = [(value - low) / (high - low) for value in sample]
    bets = _bets(unit, alpha, len(unit))
    lowest = 0.0 if side == "less" else _lower(unit, bets, 1.0 / alpha, _CAP)
    highest = 1.0 if side == "greater" else 1.0 - _lower([1.0 - x for x in unit], bets, 1.0 / alpha, _CAP)
    words = (f"values are in [{low:g}, {high:g}]", _ALIKE, "n was fixed beforehand", "cases shuffled with the seed")
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
    """
    alpha_of(level, side, comparisons)
    inner = 1.0 - (1.0 - level) / comparisons
    found = betting(differences, inner, low=low, high=high, side=side, seed=seed)
    words = (*found.assumptions, f"{comparisons} intervals share the error equally") if comparisons > 1 else None
    return Interval(
        found.estimate,
        found.low,
        found.high,
        "betting paired",
        level,
        found.n,
        found.cases,
        side,
        words or found.assumptions,
        seed,
        comparisons,
    )


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
    bets = _bets(unit, alpha, None)
    lows = [0.0] * len(unit) if side == "less" else _lower_each(unit, bets, 1.0 / alpha, _CAP)
    mirrored = [1.0 - x for x in unit]
    highs = [0.0] * len(unit) if side == "greater" else _lower_each(mirrored, bets, 1.0 / alpha, _CAP)
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


def _bets(unit: Sequence[float], alpha: float, fixed: int | None) -> list[float]:
    """How much is bet on each value, from the values before it only."""
    bets: list[float] = []
    total, squares, spread = 0.5, 0.25, 0.25
    for t, x in enumerate(unit, 1):
        horizon = fixed if fixed is not None else t * math.log1p(t)
        bets.append(math.sqrt(2.0 * math.log(1.0 / alpha) / (horizon * spread)))
        total += x
        squares += (x - total / (t + 1)) ** 2
        spread = squares / (t + 1)
    return bets


def _lower(unit: Sequence[float], bets: Sequence[float], goal: float, cap: float) -> float:
    """The greatest mean at which the bets won `goal` at some time; the capital falls in the mean, so halving finds it."""

    def won(m: float) -> bool:
        capital, limit = 1.0, cap / m
        for x, bet in zip(unit, bets, strict=True):
            capital *= 1.0 + (bet if bet < limit else limit) * (x - m)
            if capital >= goal:
                return True
        return False

    return _halved(won, 0.0, 1.0)


def _lower_each(unit: Sequence[float], bets: Sequence[float], goal: float, cap: float) -> list[float]:
    """Likewise after each value: it only moves when the capital at the last of them reaches the goal again."""
    found: list[float] = []
    best, capital, limit = 0.0, 1.0, math.inf
    for t, (x, bet) in enumerate(zip(unit, bets, strict=True), 1):
        capital *= 1.0 + min(bet, limit) * (x - best)
        if capital >= goal:
            best, capital = _moved_up(unit[:t], bets[:t], goal, cap, best)
            limit = cap / best if best > 0.0 else math.inf
        found.append(best)
    return found


def _moved_up(unit: Sequence[float], bets: Sequence[float], goal: float, cap: float, low: float) -> tuple[float, float]:
    """The greatest mean at which the capital now is the goal, and the capital there (Illinois' regula falsi)."""

    def excess(m: float) -> float:
        capital, limit = 1.0, cap / m if m > 0.0 else math.inf
        for x, bet in zip(unit, bets, strict=True):
            capital *= 1.0 + (bet if bet < limit else limit) * (x - m)
        return max(-700.0, min(700.0, math.log(capital) if capital > 0.0 else -700.0)) - math.log(goal)

    high, at_low, at_high = 1.0, excess(low), excess(1.0)
    weight_low, weight_high = at_low, at_high
    for _ in range(100):
        if high - low < 1e-9 or not weight_low > 0.0 > weight_high:
            break
        middle = low + (high - low) * weight_low / (weight_low - weight_high)
        value = excess(middle)
        if value >= 0.0:
            low, at_low, weight_low, weight_high = middle, value, value, weight_high / 2.0
        else:
            high, weight_high, weight_low = middle, value, weight_low / 2.0
    return low, goal * math.exp(at_low)


def _halved(won: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(40):
        middle = (low + high) / 2.0
        if won(middle):
            low = middle
        else:
            high = middle
    return low
