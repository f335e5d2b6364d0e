"""How far graders can be trusted: agreement between them, and against labels that are known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from random import Random
from typing import Literal

from quintain.errors import SampleError, UsageError
from quintain.model.interval import Interval, Side
from quintain.statistics._proportions import clopper_pearson
from quintain.statistics._sample import NOTHING, alpha_of, normal_quantile, opened

FEWEST_UNITS = 10
_UNDEFINED = "only one label was used, so that agreement by chance is certain and nothing can be said"

Scale = Literal["nominal", "interval"]


def cohen_kappa(
    a: Sequence[Hashable], b: Sequence[Hashable], level: float = 0.95, side: Side = "two-sided"
) -> Interval:
    """Agreement of two graders beyond chance: 1 is perfect, 0 is what chance alone would give.

    Args:
        a: labels by one grader.
        b: labels of the same cases by the other, in the same order.
        level: confidence, 0 to 1.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Returns:
        without an estimate if there is no case or both use one and the same label throughout. Perfect agreement
        has no bounds, since its error can't be estimated.

    Raises:
        UsageError: there are not as many labels of one as of the other.

    Source: Cohen (1960); standard error by Fleiss, Cohen and Everitt (1969).
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} labels can't be compared with {len(b)}")
    alpha = alpha_of(level, side)
    n = len(a)
    words = ("cases are independent", "n is large enough for a normal error")
    pairs, rows, columns = Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    chance = sum(rows[label] * columns[label] for label in rows) / (n * n) if n else 1.0
    if chance >= 1.0:
        why = _UNDEFINED if n else NOTHING
        return Interval(None, None, None, "cohen kappa", level, n, n, side, (*words, why))
    seen = sum(count for (x, y), count in pairs.items() if x == y) / n
    kappa = (seen - chance) / (1.0 - chance)
    if seen == 1.0:
        why = "agreement is perfect, so its error can't be estimated"
        return Interval(kappa, None, None, "cohen kappa", level, n, n, side, (*words, why))
    agree = disagree = 0.0
    for (x, y), count in pairs.items():
        if x == y:
            agree += count / n * (1.0 - (rows[x] + columns[x]) / n * (1.0 - kappa)) ** 2
        else:
            disagree += count / n * ((columns[x] + rows[y]) / n) ** 2
    square = agree + (1.0 - kappa) ** 2 * disagree - (kappa - chance * (1.0 - kappa)) ** 2
    half = normal_quantile(1.0 - alpha) * math.sqrt(max(0.0, square) / n) / (1.0 - chance)
    bounds = opened(max(-1.0, kappa - half), min(1.0, kappa + half), side)
    return Interval(kappa, *bounds, "cohen kappa", level, n, n, side, words)


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]],
    level: float = 0.95,
    *,
    scale: Scale = "nominal",
    seed: int = 0,
    resamples: int = 999,
    side: Side = "two-sided",
) -> Interval:
    """Agreement of any number of graders beyond chance, where some ratings may be missing.

    Args:
        ratings: for each case the rating by each grader; None is missing. A case with fewer than two is left out.
        level: confidence, 0 to 1.
        scale: "nominal" counts any difference alike, "interval" by its square.
        seed: of the bootstrap over cases.
        resamples: how many samples it draws.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Returns:
        without an estimate if no two ratings can be compared, or all are the same. With fewer than 10 cases, or where
        all cases agree, without bounds.

    Raises:
        SampleError: a rating is NaN or infinite.
        UsageError: the scale is not known.

    Source: Krippendorff (2011); the interval is a percentile bootstrap over cases, by Efron (1979).
    """
    if scale not in ("nominal", "interval"):
        raise UsageError(f"{scale!r} is no scale: say nominal or interval")
    tail = alpha_of(level, side)
    units = _units(ratings)
    n = len(units)
    words: tuple[str, ...] = ("cases are independent draws of one population",)
    parts = _parts(units, scale)
    estimate = _agreement(parts, scale)
    bounds: tuple[float | None, float | None] = (None, None)
    if estimate is None:
        words = (*words, _UNDEFINED if n else NOTHING)
    elif n < FEWEST_UNITS:
        words = (*words, f"fewer than {FEWEST_UNITS} cases are too few for a bootstrap")
    elif estimate == 1.0:
        words = (*words, "agreement is perfect, so its error can't be estimated")
    else:
        random = Random(seed)
        drawn = (_agreement(random.choices(parts, k=n), scale) for _ in range(resamples))
        draws = sorted(1.0 if draw is None else draw for draw in drawn)
        skip = int(tail * len(draws))
        bounds = opened(min(estimate, draws[skip]), max(estimate, draws[-1 - skip]), side)
    return Interval(estimate, *bounds, "krippendorff alpha", level, n, len(ratings), side, words, seed)


def _units(ratings: Sequence[Sequence[float | None]]) -> list[list[float]]:
    units: list[list[float]] = []
    for position, unit in enumerate(ratings):
        known = [float(rating) for rating in unit if rating is not None]
        if not all(map(math.isfinite, known)):
            raise SampleError(f"a rating of the case at position {position} is no number", position=position)
        if len(known) > 1:
            units.append(known)
    return units


def _parts(units: Sequence[Sequence[float]], scale: Scale) -> list[tuple[float, ...]]:
    """Of each case: the disagreement within it, then what it adds to the sums that disagreement overall needs."""
    center = math.fsum(value for unit in units for value in unit) / max(1, sum(map(len, units)))
    labels = sorted({value for unit in units for value in unit})
    parts = []
    for unit in units:
        sums: tuple[float, ...]
        if scale == "nominal":
            sums = tuple(float(unit.count(label)) for label in labels)
        else:
            shifted = [value - center for value in unit]
            sums = (float(len(unit)), math.fsum(shifted), math.fsum(value * value for value in shifted))
        parts.append((_disagreement(sums, scale) / (len(unit) - 1), *sums))
    return parts


def _disagreement(sums: Sequence[float], scale: Scale) -> float:
    """Over all ordered pairs of ratings."""
    if scale == "nominal":
        return sum(sums) ** 2 - sum(count * count for count in sums)
    count, total, squares = sums
    return max(0.0, 2.0 * (count * squares - total * total))


def _agreement(parts: Sequence[Sequence[float]], scale: Scale) -> float | None:
    if not parts:
        return None
    within, *sums = map(sum, zip(*parts, strict=True))
    ratings = sum(sums) if scale == "nominal" else sums[0]
    overall = _disagreement(sums, scale)
    return 1.0 - (ratings - 1.0) * within / overall if overall > 0.0 else None


def sensitivity_specificity(
    true_positive: int, false_negative: int, true_negative: int, false_positive: int, level: float = 0.95
) -> tuple[Interval, Interval]:
    """How often a grader passes what should pass, and fails what should fail, each with its exact interval.

    Args:
        true_positive: should pass and was passed.
        false_negative: should pass and was failed.
        true_negative: should fail and was failed.
        false_positive: should fail and was passed.
        level: confidence of each, 0 to 1.

    Raises:
        UsageError: a count is negative.

    Source: Clopper and Pearson (1934).
    """
    return (
        clopper_pearson(true_positive, true_positive + false_negative, level),
        clopper_pearson(true_negative, true_negative + false_positive, level),
    )


def rogan_gladen(
    passed: int,
    n: int,
    *,
    true_positive: int,
    positives: int,
    true_negative: int,
    negatives: int,
    level: float = 0.95,
) -> Interval:
    """The pass rate behind an imperfect grader's, with an interval that knows how few labels measured the grader.

    Args:
        passed: cases that the grader passed.
        n: cases that it graded; with none, nothing is known.
        true_positive: of the labelled cases that should pass, those that it passed.
        positives: labelled cases that should pass.
        true_negative: of the labelled cases that should fail, those that it failed.
        negatives: labelled cases that should fail.
        level: confidence, 0 to 1.

    Raises:
        UsageError: counts don't fit.
        SampleError: the grader is no better than chance, or was not measured on both kinds.

    Source: Rogan and Gladen (1978); interval by Lang and Reiczigel (2014).
    """
    for part, whole in ((passed, n), (true_positive, positives), (true_negative, negatives)):
        if not 0 <= part <= whole:
            raise UsageError(f"{part} of {whole} is no proportion")
    z = normal_quantile(1.0 - alpha_of(level, "two-sided"))
    words = (
        "cases are independent",
        "labelled cases are like the graded ones",
        f"grader measured on {positives} and {negatives} labelled cases",
    )
    if not positives or not negatives:
        raise SampleError("a grader that was not measured on both kinds of cases can't be corrected for")
    skill = true_positive / positives + true_negative / negatives - 1.0
    if skill <= 0.0:
        raise SampleError("this grader is no better than chance, so no pass rate can be told from its verdicts")
    if not n:
        return Interval(None, None, None, "rogan-gladen", level, 0, 0, assumptions=(*words, NOTHING))
    estimate = min(1.0, max(0.0, (passed / n + true_negative / negatives - 1.0) / skill))
    more = n + z * z
    seen = (passed + z * z / 2.0) / more
    se, sp = (true_positive + 1.0) / (positives + 2.0), (true_negative + 1.0) / (negatives + 2.0)
    spread_se, spread_sp = se * (1.0 - se) / (positives + 2.0), sp * (1.0 - sp) / (negatives + 2.0)
    skill = se + sp - 1.0
    center = (seen + sp - 1.0) / skill
    shift = 2.0 * z * z * (center * spread_se - (1.0 - center) * spread_sp)
    square = seen * (1.0 - seen) / more + center**2 * spread_se + (1.0 - center) ** 2 * spread_sp
    half = z * math.sqrt(square) / skill
    low = min(estimate, max(0.0, center + shift - half))
    high = max(estimate, min(1.0, center + shift + half))
    return Interval(estimate, low, high, "rogan-gladen", level, n, n, assumptions=words)
