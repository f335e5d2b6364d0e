"""Cases that belong together, such as variants of one task: the cluster is the unit, not the case."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal

from quintain.errors import UsageError
from quintain.model.interval import Interval, Side
from quintain.statistics._distributions import student_quantile
from quintain.statistics._sample import NO_SPREAD, NOTHING, alpha_of, finite, mean, opened

Kind = Literal["CR0", "CR1", "CR2"]


def cluster_means(values: Sequence[float], clusters: Sequence[Hashable | None]) -> tuple[float, ...]:
    """The mean of each cluster, in the order in which clusters first appear.

    Args:
        values: one per case.
        clusters: of the same cases in the same order; None is a cluster of its own.

    Raises:
        UsageError: there are not as many of one as of the other.
        SampleError: a value is no number.

    Source: one summary per cluster is analysed as one case, as in Donner and Klar (2000).
    """
    return tuple(mean(group) for group in _grouped(finite(values), clusters))


def clustered(
    values: Sequence[float],
    clusters: Sequence[Hashable | None],
    level: float = 0.95,
    kind: Kind = "CR2",
    side: Side = "two-sided",
) -> Interval:
    """The mean over cases, with a standard error that lets cases of one cluster depend on each other.

    CR0 is the plain sandwich, too small for few clusters; CR1 is it times sqrt(G / (G - 1)), what regression programs
    give; CR2 is unbiased if cases are independent after all. CR0 and CR1 use Student's t with G - 1 degrees of freedom,
    CR2 with Satterthwaite's. With fewer than two clusters, or where every cluster agrees with the mean, the
    bounds are None.

    Args:
        values: one per case.
        clusters: of the same cases in the same order; None is a cluster of its own.
        level: confidence, 0 to 1.
        kind: which standard error.
        side: "greater" has a lower bound only, "less" an upper bound only.

    Raises:
        UsageError: there are not as many values as clusters, or the kind is none of the three.
        SampleError: a value is no number.

    Source: Liang and Zeger (1986) and Miller (2024) for CR0; Bell and McCaffrey (2002) for CR2.
    """
    sample = finite(values)
    alpha = alpha_of(level, side)
    if kind not in ("CR0", "CR1", "CR2"):
        raise UsageError(f"{kind!r} is no kind of standard error: say CR0, CR1 or CR2")
    groups = _grouped(sample, clusters)
    count, cases = len(groups), len(sample)
    method = f"clustered {kind}"
    words: tuple[str, ...] = ("clusters are independent", "the mean over so many clusters is about normal")
    center = mean(sample) if sample else None
    error = standard_error(groups, kind)
    if center is None or error is None:
        why = NO_SPREAD if count > 1 else "fewer than two clusters say nothing about spread" if count else NOTHING
        return Interval(center, None, None, method, level, count, cases, side, (*words, why))
    df = _satterthwaite([len(group) for group in groups]) if kind == "CR2" else count - 1.0
    half = student_quantile(1.0 - alpha, df) * error
    words = (*words, f"Student's t with {df:.4g} degrees of freedom")
    return Interval(center, *opened(center - half, center + half, side), method, level, count, cases, side, words)


def standard_error(groups: Sequence[Sequence[float]], kind: Kind) -> float | None:
    """Of the mean of all values; None if there are fewer than two groups or no spread between them."""
    if len(groups) < 2:
        return None
    n = sum(map(len, groups))
    center = math.fsum(value for group in groups for value in group) / n
    total = 0.0
    for group in groups:
        square = math.fsum(value - center for value in group) ** 2
        total += square / (1.0 - len(group) / n) if kind == "CR2" else square
    if kind == "CR1":
        total *= len(groups) / (len(groups) - 1.0)
    error = math.sqrt(total) / n
    return error if error > 1e-12 * max(abs(value) for group in groups for value in group) else None


def _satterthwaite(sizes: Sequence[int]) -> float:
    """Degrees of freedom if cases were independent and alike; G - 1 where all clusters are of one size."""
    n = float(sum(sizes))
    weights = [size * size / (1.0 - size / n) for size in sizes]
    diagonal = math.fsum(size * size for size in sizes)
    beside = math.fsum(weights) ** 2 - math.fsum(weight * weight for weight in weights)
    return n * n / (diagonal + beside / (n * n))


def _grouped(sample: Sequence[float], clusters: Sequence[Hashable | None]) -> list[list[float]]:
    if len(sample) != len(clusters):
        raise UsageError(f"{len(sample)} values don't fit {len(clusters)} names of clusters")
    groups: dict[Hashable, list[float]] = {}
    for position, (value, cluster) in enumerate(zip(sample, clusters, strict=True)):
        groups.setdefault((position,) if cluster is None else (cluster, "named"), []).append(value)
    return list(groups.values())
