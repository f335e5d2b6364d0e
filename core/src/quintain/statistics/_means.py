"""Means of values without bounds, such as cost, tokens and time; and ratios of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attrs import evolve

from quintain.errors import SampleError, TooFewCases, UsageError
from quintain.model.interval import Interval, Side
from quintain.statistics._distributions import student_quantile
from quintain.statistics._resample import resampled
from quintain.statistics._sample import (
    NO_SPREAD,
    NOTHING,
    ONE_VALUE,
    alpha_of,
    finite,
    has_spread,
    mean,
    normal_cdf,
    normal_quantile,
    opened,
    unknown,
    variance,
)

FEWEST_FOR_BOOTSTRAP = 10

Statistic = Callable[[Sequence[float]], float]


def t_interval(values: Sequence[float], level: float = 0.95, side: Side = "two-sided") -> Interval:
    """Student's interval of a mean; right for normal values, close for n >= 30 of values that aren't very skewed.

    Args:
        values: one per case. Of no value nothing is known; of one, or of values that are all the same, the estimate is
            known and its error is not: both bounds are None.
        level: confidence, 0 to 1.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Raises:
        SampleError: a value is no number.

    Source: Student (1908).
    """
    sample = finite(values)
    alpha = alpha_of(level, side)
    n = len(sample)
    words = ("cases are independent", "the mean of so many cases is about normal")
    if n < 2:
        return unknown("t", level, sample, side, ONE_VALUE if n else NOTHING, words)
    if not has_spread(sample):
        return unknown("t", level, sample, side, NO_SPREAD, words)
    center = mean(sample)
    half = student_quantile(1.0 - alpha, n - 1) * math.sqrt(variance(sample) / n)
    return Interval(center, *opened(center - half, center + half, side), "t", level, n, n, side, words)


def log_ratio(a: Sequence[float], b: Sequence[float], level: float = 0.95, side: Side = "two-sided") -> Interval:
    """The typical ratio a/b of paired positive values: the geometric mean of the ratios, with Student's interval.

    Args:
        a: of the candidate, one per case.
        b: of the baseline, of the same cases in the same order.
        level: confidence, 0 to 1.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Raises:
        UsageError: there are not as many of one as of the other.
        SampleError: a value is no number or not positive.

    Source: Fieller's problem is avoided by the logarithm, as in Keene (1995).
    """
    above, below = _positive(a, "value of a"), _positive(b, "value of b")
    if len(above) != len(below):
        raise UsageError(f"{len(above)} values can't be paired with {len(below)}")
    logs = t_interval([math.log(x / y) for x, y in zip(above, below, strict=True)], level, side)
    return evolve(
        logs,
        estimate=None if logs.estimate is None else math.exp(logs.estimate),
        low=None if logs.low is None else math.exp(logs.low),
        high=None if logs.high is None else math.exp(logs.high),
        method="t of log ratios",
        assumptions=(*logs.assumptions, "the geometric mean of ratios is what is wanted"),
    )


def _positive(values: Sequence[float], what: str) -> list[float]:
    found = finite(values, what)
    for position, value in enumerate(found):
        if value <= 0.0:
            raise SampleError(
                f"{what} at position {position} is {value}; only positive values have a ratio", position=position
            )
    return found


def bca_bootstrap(
    values: Sequence[float],
    level: float = 0.95,
    *,
    seed: int,
    resamples: int = 9999,
    statistic: Statistic = mean,
    side: Side = "two-sided",
) -> Interval:
    """The bias-corrected and accelerated bootstrap interval, for skewed values such as cost and time.

    Args:
        values: one per case, 10 or more. If they are all the same, the bounds are None.
        level: confidence, 0 to 1.
        seed: of the resampling.
        resamples: how many samples are drawn from the sample.
        statistic: what is estimated; the mean is by far the fastest.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Raises:
        TooFewCases: there are fewer than 10 values.
        SampleError: a value is no number, or all resamples lie on one side of the estimate.

    Source: Efron (1987); acceleration by the jackknife.
    """
    sample = finite(values)
    alpha = alpha_of(level, side)
    if len(sample) < FEWEST_FOR_BOOTSTRAP:
        raise TooFewCases(
            f"a bootstrap of {len(sample)} values is not honest: it needs {FEWEST_FOR_BOOTSTRAP} or more",
            hint="add cases, or use a procedure for bounded values",
        )
    if resamples < 99:
        raise UsageError(f"{resamples} resamples are too few for any level; 9999 is usual")
    words = ("cases are independent draws of one population", "n is large enough for the bootstrap")
    if not has_spread(sample):
        return evolve(unknown("bca bootstrap", level, sample, side, NO_SPREAD, words), seed=seed)
    estimate = statistic(sample)
    draws = sorted(resampled(sample, resamples, seed, None if statistic is mean else statistic))
    bias = _bias(draws, estimate)
    bend = _acceleration(sample, statistic)
    low, high = (_quantile(draws, _moved(p, bias, bend)) for p in (alpha, 1.0 - alpha))
    n = len(sample)
    bounds = opened(low, high, side)
    return Interval(estimate, *bounds, "bca bootstrap", level, n, n, side, words, seed)


def _bias(draws: Sequence[float], estimate: float) -> float:
    below = sum(draw < estimate for draw in draws)
    same = sum(draw == estimate for draw in draws)
    share = (below + same / 2.0) / len(draws)
    if not 0.0 < share < 1.0:
        raise SampleError("all resamples lie on one side of the estimate, so its bias can't be corrected")
    return normal_quantile(share)


def _acceleration(sample: Sequence[float], statistic: Statistic) -> float:
    if statistic is mean:
        total, n = math.fsum(sample), len(sample)
        left_out = [(total - value) / (n - 1) for value in sample]
    else:
        left_out = [statistic([*sample[:i], *sample[i + 1 :]]) for i in range(len(sample))]
    center = mean(left_out)
    gaps = [center - value for value in left_out]
    squares = math.fsum(gap * gap for gap in gaps)
    return math.fsum(gap**3 for gap in gaps) / (6.0 * squares**1.5) if squares > 0.0 else 0.0


def _moved(probability: float, bias: float, bend: float) -> float:
    point = bias + normal_quantile(probability)
    rest = 1.0 - bend * point
    if rest <= 0.0:
        return float(point > 0.0)
    return normal_cdf(bias + point / rest)


def _quantile(ordered: Sequence[float], probability: float) -> float:
    """Between the two nearest of ordered values, linearly."""
    place = probability * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2)
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (place - below)
