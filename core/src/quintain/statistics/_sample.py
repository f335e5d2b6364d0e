"""What all procedures share: samples that can be computed with, levels, and the sides of an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from quintain.errors import SampleError, UsageError
from quintain.model.interval import Interval, Side

SIDES = ("two-sided", "greater", "less")
NO_SPREAD = "all values are the same, so that their spread is not known and no bound can be given"
ONE_VALUE = "one value alone says nothing about spread, so no bound can be given"
NOTHING = "there is no value, so nothing is known"
LARGEST = 1e100

_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    return _NORMAL.inv_cdf(probability)


def normal_cdf(value: float) -> float:
    """The distribution function of the standard normal distribution."""
    return _NORMAL.cdf(value)


def finite(values: Sequence[float], what: str = "value") -> list[float]:
    """The values as floats.

    Raises:
        SampleError: one of them is NaN, infinite or too large to be squared; `position` says which.
    """
    found = [float(value) for value in values]
    for position, value in enumerate(found):
        if not abs(value) <= LARGEST:
            raise SampleError(
                f"{what} at position {position} is {value}, which is no number to compute with",
                position=position,
                hint="leave out what is not known, and count it as missing",
            )
    return found


def bounded(values: Sequence[float], low: float, high: float) -> list[float]:
    """The values as floats, each between the bounds.

    Raises:
        UsageError: the bounds are no interval.
        SampleError: a value is NaN, infinite or out of bounds; `position` says which.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"{low} and {high} are no bounds: the first must be finite and below the second")
    found = finite(values)
    for position, value in enumerate(found):
        if not low <= value <= high:
            raise SampleError(f"value at position {position} is {value}, not in [{low}, {high}]", position=position)
    return found


def alpha_of(level: float, side: Side, comparisons: int = 1) -> float:
    """The probability of error that each bound of an interval may have.

    Raises:
        UsageError: level, side or comparisons say nothing that an interval can hold.
    """
    if not 0.0 < level < 1.0:
        raise UsageError(f"a level of {level} is not between 0 and 1")
    if side not in SIDES:
        raise UsageError(f"{side!r} is no side: say one of {', '.join(SIDES)}")
    if side != "two-sided" and level < 0.5:
        raise UsageError(f"a one-sided bound at a level of {level} would lie beyond the estimate")
    if comparisons < 1:
        raise UsageError(f"{comparisons} comparisons can't hold a level together: say 1 or more")
    return (1.0 - level) / comparisons / (2 if side == "two-sided" else 1)


def opened(low: float | None, high: float | None, side: Side) -> tuple[float | None, float | None]:
    """The bounds, without the one that a one-sided interval doesn't have."""
    return (None if side == "less" else low), (None if side == "greater" else high)


def unknown(
    method: str, level: float, values: Sequence[float], side: Side, why: str, assumptions: tuple[str, ...] = ()
) -> Interval:
    """An interval without bounds: the estimate is what it is, and nothing can be said about its error."""
    n = len(values)
    estimate = mean(values) if n else None
    return Interval(estimate, None, None, method, level, n, n, side, (*assumptions, why))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, summed without loss, and never outside of the values."""
    return min(max(math.fsum(values) / len(values), min(values)), max(values))


def has_spread(values: Sequence[float]) -> bool:
    """Whether the values differ by more than the rounding of arithmetic."""
    return len(values) > 1 and max(values) - min(values) > max(1e-12 * max(map(abs, values)), 1e-100)


def variance(values: Sequence[float], center: float | None = None) -> float:
    """The sample variance, with n - 1."""
    middle = mean(values) if center is None else center
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
