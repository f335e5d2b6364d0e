"""Intervals of a proportion: so many of so many independent cases passed, each tried once."""

from __future__ import annotations

import math

from quintain.errors import UsageError
from quintain.model.interval import Interval, Side
from quintain.statistics._distributions import beta_quantile
from quintain.statistics._sample import NOTHING, alpha_of, normal_quantile, opened

_INDEPENDENT = "cases are independent and alike, each counted once"


def wilson(successes: int, n: int, level: float = 0.95, side: Side = "two-sided") -> Interval:
    """Wilson's score interval: close to its level on average over proportions, without a guarantee for each.

    Args:
        successes: cases that passed.
        n: cases; with none, nothing is known and both bounds are None.
        level: confidence, 0 to 1.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Source: Wilson (1927).
    """
    alpha = _checked(successes, n, level, side)
    if not n:
        return _none("wilson", level, side)
    z2 = normal_quantile(1.0 - alpha) ** 2
    rate = successes / n
    center = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if successes == 0 else max(0.0, center - half)
    high = 1.0 if successes == n else min(1.0, center + half)
    words = (_INDEPENDENT, "the level holds on average over proportions, not for each")
    return _interval("wilson", successes, n, (low, high), level, side, words)


def clopper_pearson(successes: int, n: int, level: float = 0.95, side: Side = "two-sided") -> Interval:
    """The exact interval: it holds at least its level whatever the proportion is, and is wider for it.

    Arguments and the answer for no case are those of `wilson`.

    Source: Clopper and Pearson (1934).
    """
    alpha = _checked(successes, n, level, side)
    if not n:
        return _none("clopper-pearson", level, side)
    low = beta_quantile(alpha, successes, n - successes + 1) if successes else 0.0
    high = beta_quantile(1.0 - alpha, successes + 1, n - successes) if successes < n else 1.0
    return _interval("clopper-pearson", successes, n, (low, high), level, side, (_INDEPENDENT,))


def jeffreys(successes: int, n: int, level: float = 0.95, side: Side = "two-sided") -> Interval:
    """The equal-tailed interval of the posterior under Jeffreys' prior, Beta(1/2, 1/2).

    Neither bound is moved to 0 or 1 when no case or every case passed, so that the interval then leaves out the
    estimate itself. Arguments and the answer for no case are those of `wilson`.

    Source: Brown, Cai and DasGupta (2001).
    """
    alpha = _checked(successes, n, level, side)
    if not n:
        return _none("jeffreys", level, side)
    a, b = successes + 0.5, n - successes + 0.5
    low, high = beta_quantile(alpha, a, b), beta_quantile(1.0 - alpha, a, b)
    words = (_INDEPENDENT, "before any case, Jeffreys' prior stands for what is believed", "no guarantee for each rate")
    return _interval("jeffreys", successes, n, (low, high), level, side, words)


def _checked(successes: int, n: int, level: float, side: Side) -> float:
    if not 0 <= successes <= n:
        raise UsageError(f"{successes} of {n} is no proportion")
    return alpha_of(level, side)


def _none(method: str, level: float, side: Side) -> Interval:
    return Interval(None, None, None, method, level, 0, 0, side, (NOTHING,))


def _interval(
    method: str, successes: int, n: int, bounds: tuple[float, float], level: float, side: Side, words: tuple[str, ...]
) -> Interval:
    low, high = opened(*bounds, side)
    return Interval(successes / n, low, high, method, level, n, n, side, words)
