"""What a statistical procedure says, with everything that a reader needs to doubt it."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Side = Literal["two-sided", "greater", "less"]
"""Which alternative is tested, or on which side an interval is open: "greater" has a lower bound only."""


@frozen
class Interval:
    """An estimate with the interval that a named procedure gives for it.

    Attributes:
        estimate: the value itself, or None if there is nothing to estimate from.
        low: lower bound; None means that there is none (unbounded, or nothing is known).
        high: upper bound, likewise.
        method: name of the procedure, such as "wilson" or "betting".
        level: confidence, 0 to 1; simultaneous if `comparisons` is more than 1.
        n: independent units, cases or clusters, that stand behind it.
        cases: cases behind those units; the same as `n` unless clusters were declared.
        side: two-sided or one-sided.
        assumptions: in words, what must hold for the level to hold.
        seed: of the random numbers, for procedures that draw any.
        comparisons: how many intervals hold their level together.
    """

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    level: float
    n: int
    cases: int | None = None
    side: Side = "two-sided"
    assumptions: tuple[str, ...] = ()
    seed: int | None = None
    comparisons: int = 1


@frozen
class TestResult:
    """A test of one hypothesis.

    Attributes:
        p: the p-value; None if it can't be computed, and then `note` says why.
        method: name of the procedure, such as "sign-flip exact".
        n: pairs that are no tie, or units, whatever the method counts.
        statistic: what was compared with its distribution.
        side: the alternative.
        adjusted: p-value after correction for several comparisons, or None if it was not corrected.
        correction: how it was corrected.
        seed: of the random numbers, for procedures that draw any.
        note: what a reader must know.
    """

    __test__ = False  # not one of pytest's

    p: float | None
    method: str
    n: int
    statistic: float | None = None
    side: Side = "two-sided"
    adjusted: float | None = None
    correction: str | None = None
    seed: int | None = None
    note: str | None = None
