"""Tests of paired verdicts, and corrections for several comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quintain.errors import SampleError, UsageError
from quintain.model.interval import Side, TestResult
from quintain.statistics._sample import alpha_of


def mcnemar(b: int, c: int, side: Side = "two-sided", *, mid_p: bool = False) -> TestResult:
    """The exact test of verdicts of the same cases, each tried once: do as many change for the better as for the worse?

    Args:
        b: cases that only the candidate passed.
        c: cases that only the baseline passed. With no case of either kind, p is 1.
        side: "greater" asks whether the candidate passes more.
        mid_p: count only half of the cases as they are: less cautious, and no longer a guarantee.

    Raises:
        UsageError: a count is negative.

    Source: McNemar (1947); Fagerland, Lydersen and Laake (2013) for the mid-p variant.
    """
    if b < 0 or c < 0:
        raise UsageError(f"{b} and {c} are no counts")
    alpha_of(0.95, side)
    method = "mcnemar mid-p" if mid_p else "mcnemar exact"
    n = b + c
    if not n:
        return TestResult(1.0, method, 0, 0.0, side, note="no pair differs")
    fewer = {"greater": c, "less": b, "two-sided": min(b, c)}[side]
    tail = sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n
    if mid_p:
        tail -= math.comb(n, fewer) / 2 ** (n + 1)
    p = min(1.0, 2.0 * tail) if side == "two-sided" else tail
    return TestResult(p, method, n, float(b - c), side)


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values that hold the probability of any false rejection, in the order given.

    Args:
        ps: one per comparison; none gives none.

    Raises:
        SampleError: a p-value is not in [0, 1]; `position` says which.

    Source: Holm (1979).
    """
    for position, p in enumerate(ps):
        if not 0.0 <= p <= 1.0:
            raise SampleError(f"p-value at position {position} is {p}, not in [0, 1]", position=position)
    order = sorted(range(len(ps)), key=ps.__getitem__)
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, ps[place] * (len(ps) - rank)))
        adjusted[place] = highest
    return tuple(adjusted)


def simultaneous_level(level: float, m: int) -> float:
    """The level that each of m intervals needs, so that all of them hold together with the given level.

    Args:
        level: of all together, 0 to 1.
        m: intervals, 1 or more.

    Raises:
        UsageError: the level is not between 0 and 1, or m is less than 1.

    Source: Bonferroni's inequality, by Dunn (1961).
    """
    alpha_of(level, "two-sided", m)
    return 1.0 - (1.0 - level) / m
