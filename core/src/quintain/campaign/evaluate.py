"""From the figures of trials to intervals: means of cases, paired differences, and what tests say of them. All pure.

The case, or its cluster, is the unit. Its value is the mean over its repetitions, so that a case which ran more often
does not weigh more. Differences are paired: only cases that both have a value for are compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve, frozen

from quintain.campaign.metrics import METRICS, Metric
from quintain.errors import QuintainError
from quintain.model.campaign import BASELINE, Campaign
from quintain.model.decision import TrialFigures
from quintain.model.interval import Interval, Side, TestResult
from quintain.statistics import (
    bca_bootstrap,
    betting,
    betting_paired,
    clopper_pearson,
    cluster_means,
    mcnemar,
    paired_interval,
    sign_flip,
    t_interval,
)

FEWEST_UNBOUNDED = 10
"""Fewer values than this have no honest interval if they have no bounds."""

MANY_UNBOUNDED = 100
"""From here on Student's interval is as good as the bootstrap, which takes time with the square of the precision."""

RESAMPLES = 1999
"""Of the bootstrap; the bounds move by a few hundredths of the width with the seed."""

T = TypeVar("T")


@frozen
class CaseValue:
    """One metric of one case, over repetitions, and over profiles where these are pooled.

    Attributes:
        mean: over what is known.
        trials: how many values stand behind it.
        unknown: trials that have no value.
        cluster: of the case; None is a cluster of its own.
    """

    mean: float
    trials: int
    unknown: int
    cluster: str | None


@frozen
class Pairs:
    """One metric of two candidates, by case.

    Attributes:
        metric: which.
        cases: those that both have a value for, in alphabetical order.
        candidate, baseline: their values, in the same order.
        clusters: of the cases, in the same order.
        single: each value is that of one trial.
        uneven: cases that the two ran a different number of times.
        unpaired: cases that only one of them has a value for.
    """

    metric: Metric
    cases: tuple[str, ...]
    candidate: tuple[float, ...]
    baseline: tuple[float, ...]
    clusters: tuple[str | None, ...]
    single: bool
    uneven: tuple[str, ...]
    unpaired: tuple[str, ...]

    @property
    def differences(self) -> tuple[float, ...]:
        """Candidate minus baseline, case by case."""
        return tuple(_difference(one, other) for one, other in zip(self.candidate, self.baseline, strict=True))


class Table:
    """The figures of a campaign by candidate, split, profile and case; what was computed once is kept.

    Args:
        figures: of all trials, in any order; of two with one name the last counts.
    """

    def __init__(self, figures: Iterable[TrialFigures]) -> None:
        cells: dict[tuple[str, str, str], dict[str, dict[int, TrialFigures]]] = {}
        for one in figures:
            cell = cells.setdefault((one.candidate, one.split, one.profile), {})
            cell.setdefault(one.case, {})[one.repetition] = one
        self._cells = cells
        self._kept: dict[object, Any] = {}

    def trials(self, candidate: str, split: str | None = None, profile: str | None = None) -> list[TrialFigures]:
        """The figures of one candidate, by split, profile, case and repetition."""
        return [
            by_number[number]
            for (who, where, how), cases in sorted(self._cells.items())
            if who == candidate and split in (None, where) and profile in (None, how)
            for _, by_number in sorted(cases.items())
            for number in sorted(by_number)
        ]

    def cases(self, candidate: str, split: str, profile: str, metric: str) -> Mapping[str, CaseValue]:
        """One metric of one candidate under one profile, by case; cases without any value are left out."""
        return self._once(
            ("cases", candidate, split, profile, metric), lambda: self._cases(candidate, split, profile, metric)
        )

    def _cases(self, candidate: str, split: str, profile: str, metric: str) -> dict[str, CaseValue]:
        found = {}
        for case, numbers in self._cells.get((candidate, split, profile), {}).items():
            values = [one.metrics[metric] for one in numbers.values() if metric in one.metrics]
            if values:
                cluster = next(iter(numbers.values())).cluster
                found[case] = CaseValue(_mean(values), len(values), len(numbers) - len(values), cluster)
        return found

    def pairs(self, candidate: str, split: str, profiles: Sequence[str], metric: str) -> Pairs:
        """A candidate and the baseline, pooled over the profiles under which both have a value of a case."""
        key = ("pairs", candidate, split, tuple(profiles), metric)
        return self._once(key, lambda: self._pairs(candidate, split, profiles, METRICS[metric]))

    def _pairs(self, candidate: str, split: str, profiles: Sequence[str], metric: Metric) -> Pairs:
        both: dict[str, list[tuple[CaseValue, CaseValue]]] = {}
        one_only: set[str] = set()
        for profile in profiles:
            mine = self.cases(candidate, split, profile, metric.name)
            base = self.cases(BASELINE, split, profile, metric.name)
            one_only.update(mine.keys() ^ base.keys())
            for case in mine.keys() & base.keys():
                both.setdefault(case, []).append((mine[case], base[case]))
        names = sorted(both)
        found = [both[name] for name in names]
        return Pairs(
            metric=metric,
            cases=tuple(names),
            candidate=tuple(_mean([one.mean for one, _ in pair]) for pair in found),
            baseline=tuple(_mean([other.mean for _, other in pair]) for pair in found),
            clusters=tuple(pair[0][0].cluster for pair in found),
            single=all(len(pair) == 1 and pair[0][0].trials == pair[0][1].trials == 1 for pair in found),
            uneven=tuple(
                name for name, pair in zip(names, found, strict=True) if any(a.trials != b.trials for a, b in pair)
            ),
            unpaired=tuple(sorted(one_only)),
        )

    def matched(self, candidate: str, split: str, profiles: Sequence[str], metric: str) -> Mapping[str, float]:
        """Differences by case over the trials that both candidates have of the same case, profile and repetition."""
        found: dict[str, list[float]] = {}
        for profile in profiles:
            mine, base = (
                self._cells.get((candidate, split, profile), {}),
                self._cells.get((BASELINE, split, profile), {}),
            )
            for case in mine.keys() & base.keys():
                for number in sorted(mine[case].keys() & base[case].keys()):
                    one, other = mine[case][number].metrics.get(metric), base[case][number].metrics.get(metric)
                    if one is not None and other is not None:
                        found.setdefault(case, []).append(_difference(one, other))
        return {case: _mean(values) for case, values in found.items()}

    def mean_of(
        self, campaign: Campaign, candidate: str, split: str, profile: str, metric: str, level: float
    ) -> Interval:
        """The mean of a metric over cases, with its two-sided interval."""
        key = ("mean", candidate, split, profile, metric, level)
        return self._once(key, lambda: self._mean_of(campaign, candidate, split, profile, metric, level))

    def _mean_of(
        self, campaign: Campaign, candidate: str, split: str, profile: str, metric: str, level: float
    ) -> Interval:
        cases = self.cases(candidate, split, profile, metric)
        names = sorted(cases)
        values, clusters = [cases[name].mean for name in names], [cases[name].cluster for name in names]
        seed = seed_of(campaign.seed, candidate, split, profile, metric)
        single = all(cases[name].trials == 1 for name in names)
        return mean_interval(METRICS[metric], values, clusters, level, single=single, seed=seed)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]
        return kept


def mean_interval(
    metric: Metric,
    values: Sequence[float],
    clusters: Sequence[str | None],
    level: float,
    *,
    single: bool,
    seed: int,
    side: Side = "two-sided",
) -> Interval:
    """The interval of a mean over cases, by the one procedure that fits.

    Args:
        metric: what was measured.
        values: one per case.
        clusters: of the cases, in the same order.
        level: confidence, 0 to 1.
        single: each value is that of one trial.
        seed: of procedures that draw random numbers.
        side: two-sided or one-sided.

    Returns:
        Clopper-Pearson for verdicts of one trial each; betting for other values in [0, 1]; the BCa bootstrap for what
        has no bounds, Student's from 100 values on, and no interval with fewer than 10. Cases of one cluster are one value.
    """
    units, words = _units(values, clusters)
    if single and metric.binary and not words and units:
        found = clopper_pearson(round(sum(units)), len(units), level, side)
    elif metric.unit_interval:
        found = betting(_within(units, 0.0), level, side=side, seed=seed)
    else:
        found = _unbounded(units, level, side, seed)
    return evolve(found, cases=len(values), assumptions=(*found.assumptions, *words))


def _unbounded(units: Sequence[float], level: float, side: Side, seed: int) -> Interval:
    few = f"{len(units)} values are too few for an interval of a mean without bounds: {FEWEST_UNBOUNDED} are needed"
    if len(units) >= MANY_UNBOUNDED:
        return t_interval(units, level, side)
    if len(units) >= FEWEST_UNBOUNDED:
        try:
            return bca_bootstrap(units, level, side=side, seed=seed, resamples=RESAMPLES)
        except QuintainError as error:
            few = str(error)
    estimate = _mean(units) if units else None
    return Interval(estimate, None, None, "none", level, len(units), len(units), side, (few,))


def difference_interval(
    pairs: Pairs, level: float, *, seed: int, side: Side = "two-sided", comparisons: int = 1
) -> Interval:
    """The interval of the mean paired difference, candidate minus baseline.

    Betting for metrics in [0, 1], which holds its level for every n; for the others the sign-flip test inverted, or
    Student's from 30 cases.
    """
    units, words = _units(pairs.differences, pairs.clusters)
    if not units:
        return Interval(None, None, None, "none", level, 0, 0, side, ("there is no pair",), None, comparisons)
    if pairs.metric.unit_interval:
        found = betting_paired(_within(units, -1.0), level, side, seed=seed, comparisons=comparisons)
    else:
        found = paired_interval(units, level, side, seed=seed, comparisons=comparisons)
    return evolve(found, cases=len(pairs.cases), assumptions=(*found.assumptions, *words))


def difference_test(pairs: Pairs, *, seed: int) -> TestResult:
    """The two-sided test that there is no difference: McNemar's for single verdicts, the sign-flip test otherwise."""
    units, words = _units(pairs.differences, pairs.clusters)
    if not units:
        return TestResult(None, "none", 0, note="there is no pair")
    if pairs.single and pairs.metric.binary and not words:
        return mcnemar(sum(unit > 0 for unit in units), sum(unit < 0 for unit in units))
    return sign_flip(units, seed=seed)


def seed_of(seed: int, *names: str) -> int:
    """A seed of its own for each thing that is estimated, the same on every machine."""
    text = "\0".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big")


def _units(values: Sequence[float], clusters: Sequence[str | None]) -> tuple[Sequence[float], tuple[str, ...]]:
    """The independent values, and what is assumed if they are not the cases themselves."""
    named = [cluster for cluster in clusters if cluster is not None]
    if len(set(named)) == len(named):
        return values, ()
    units = cluster_means(values, clusters)
    return units, (f"{len(values)} cases in {len(units)} clusters; each cluster is one value",)


def _difference(one: float, other: float) -> float:
    """Without what floats add: a tie must stay one."""
    return 0.0 if math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12) else one - other


def _within(units: Sequence[float], low: float) -> list[float]:
    """Means of floats may end a hair beyond the bounds of their parts."""
    return [min(1.0, max(low, unit)) for unit in units]


def _mean(values: Sequence[float]) -> float:
    first = values[0]
    # Equal values have exactly that mean; a sum of them may not.
    return first if all(value == first for value in values) else sum(values) / len(values)
