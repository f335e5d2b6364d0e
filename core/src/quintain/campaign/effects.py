"""What each candidate changes in each objective, and what the evidence says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import evolve

from quintain.campaign.evaluate import Pairs, Table, difference_interval, difference_test, mean_interval, seed_of
from quintain.campaign.metrics import METRICS
from quintain.campaign.schedule import case_order
from quintain.model.campaign import Campaign, Candidate, Objective
from quintain.model.decision import Effect
from quintain.model.interval import Interval, TestResult
from quintain.statistics import SequentialDecision, holm, sequential_decision

Finding = Literal["better", "worse", "equivalent", "unknown"]


def sign_of(objective: Objective) -> int:
    """1 if more is better, -1 if less is."""
    return 1 if (objective.direction or METRICS[objective.metric].direction) == "maximize" else -1


def profiles_of(campaign: Campaign, profile: str | None) -> tuple[str, ...]:
    """The profile that was asked for, or all."""
    return (profile,) if profile is not None else tuple(one.name for one in campaign.profiles)


def comparisons_of(campaign: Campaign, challengers: int) -> int:
    """How many findings share alpha: every objective that trials decide, for every candidate."""
    decided = sum(METRICS[one.metric].of == "trial" for one in campaign.objectives)
    return max(1, challengers * decided)


def watched(campaign: Campaign, differences: Sequence[float], challengers: int) -> SequentialDecision:
    """What the differences in the first objective say, looked at after each: the rule by which campaigns stop early.

    Args:
        campaign: whose first objective, tolerance and alpha are used.
        differences: candidate minus baseline, one per case in the order of `case_order`; more is more.
        challengers: candidates that are compared with the baseline.

    Returns:
        The finding, in the objective's direction; `better` and `worse` are e-values against "no better" and "no worse"
        by more than the tolerance.
    """
    objective = campaign.objectives[0]
    sign, slack = sign_of(objective), min(objective.tolerance, 0.999)
    alpha, many = campaign.alpha, comparisons_of(campaign, challengers)
    gains = [sign * one for one in differences]
    up = sequential_decision([one - slack for one in gains], alpha, many, low=-1.0 - slack, high=1.0 - slack)
    down = sequential_decision([one + slack for one in gains], alpha, many, low=-1.0 + slack, high=1.0 + slack)
    if up.finding == "better":
        return evolve(up, worse=down.worse)
    if down.finding == "worse":
        return evolve(down, better=up.better)
    return evolve(up, finding="unknown", n=up.seen, worse=down.worse)


def effects_on(
    campaign: Campaign,
    table: Table,
    split: str | None,
    challengers: Sequence[Candidate],
    baseline_bytes: int,
    stopped: Mapping[str, str],
) -> dict[str, tuple[Effect, ...]]:
    """The effects of all candidates that are compared with the baseline at once, corrected for all of them.

    Args:
        campaign: whose objectives are measured.
        table: the figures.
        split: where; None takes the objective's own, and validation for those of the test split.
        challengers: the candidates, the baseline left out.
        baseline_bytes: size of the baseline's components.
        stopped: candidates that were run no further; they need not have all cases.
    """
    found: dict[tuple[str, int], Effect] = {}
    for place, objective in enumerate(campaign.objectives):
        where = split or (objective.split if objective.split != "test" else "validation")
        for one in challengers:
            found[one.id, place] = _raw(campaign, table, objective, where, one, baseline_bytes, len(challengers))
    _correct(campaign, found)
    for (id, place), effect in found.items():
        if METRICS[effect.objective.metric].of == "trial":
            finding = _finding(campaign, effect, id in stopped, _is_watched(campaign, effect))
            found[id, place] = evolve(effect, finding=finding)
    return {one.id: tuple(found[one.id, place] for place in range(len(campaign.objectives))) for one in challengers}


def _raw(
    campaign: Campaign,
    table: Table,
    objective: Objective,
    split: str,
    candidate: Candidate,
    baseline_bytes: int,
    challengers: int,
) -> Effect:
    profiles = profiles_of(campaign, objective.profile)
    metric = METRICS[objective.metric]
    if metric.of == "candidate":
        return _exact(table, objective, split, candidate, baseline_bytes, profiles)
    pairs = table.pairs(candidate.id, split, profiles, objective.metric)
    seed = seed_of(campaign.seed, candidate.id, split, *profiles, objective.metric)
    level, comparisons = 1.0 - campaign.alpha, comparisons_of(campaign, challengers)
    test = difference_test(pairs, seed=seed)
    if objective == campaign.objectives[0] and split == "validation" and watches(campaign):
        test = _watched_test(campaign, table, candidate.id, challengers)
    sign = sign_of(objective)
    moved = [(case, sign * one) for case, one in zip(pairs.cases, pairs.differences, strict=True)]
    return Effect(
        objective=objective,
        split=split,
        candidate=_side(pairs, pairs.candidate, level, seed),
        baseline=_side(pairs, pairs.baseline, level, seed),
        difference=difference_interval(pairs, level, seed=seed, comparisons=comparisons),
        test=test,
        finding="unknown",
        improved=tuple(case for case, by in moved if by > objective.tolerance),
        regressed=tuple(case for case, by in moved if by < -objective.tolerance),
        unpaired=pairs.unpaired,
    )


def watches(campaign: Campaign) -> bool:
    """The campaign may stop early, by an objective that can be watched."""
    return campaign.stopping.anytime and METRICS[campaign.objectives[0].metric].unit_interval


def _is_watched(campaign: Campaign, effect: Effect) -> bool:
    return watches(campaign) and effect.objective == campaign.objectives[0] and effect.split == "validation"


def _watched_test(campaign: Campaign, table: Table, candidate: str, challengers: int) -> TestResult:
    objective = campaign.objectives[0]
    profiles = profiles_of(campaign, objective.profile)
    by_case = table.matched(candidate, "validation", profiles, objective.metric)
    order = case_order([case.id for case in campaign.splits["validation"].cases], "validation", seed=campaign.seed)
    found = watched(campaign, [by_case[case] for case in order if case in by_case], challengers)
    e = max(found.better, found.worse)
    p = min(1.0, 2.0 / e) if e > 0 else 1.0
    note = f"{found.finding}; e = {e:.3g} after {found.n} of {found.seen} cases, {found.threshold:.3g} decides"
    adjusted = min(1.0, p * found.comparisons)
    return TestResult(p, found.method, found.n, e, adjusted=adjusted, correction="bonferroni", note=note)


def _side(pairs: Pairs, values: Sequence[float], level: float, seed: int) -> Interval:
    return mean_interval(pairs.metric, values, pairs.clusters, level, single=pairs.single, seed=seed)


def _exact(
    table: Table,
    objective: Objective,
    split: str,
    candidate: Candidate,
    baseline_bytes: int,
    profiles: Sequence[str],
) -> Effect:
    """A number that is known without chance; it is compared as it is."""
    mine, base = float(candidate.bytes), float(baseline_bytes)
    regressed: tuple[str, ...] = ()
    if objective.metric == "case_regressions":
        pairs = table.pairs(candidate.id, split, profiles, "pass_rate")
        regressed = tuple(
            case for case, one in zip(pairs.cases, pairs.differences, strict=True) if one < -objective.tolerance
        )
        mine, base = float(len(regressed)), 0.0
    gain = sign_of(objective) * (mine - base)
    finding: Finding = "equivalent"
    if abs(gain) > objective.tolerance:
        finding = "better" if gain > 0 else "worse"
        if objective.metric == "case_regressions":
            finding = "unknown"  # some cases fall by chance alone
    return Effect(
        objective=objective,
        split=split,
        candidate=exactly(mine),
        baseline=exactly(base),
        difference=exactly(mine - base),
        test=TestResult(None, "none", 0, note="there is no chance in it"),
        finding=finding,
        regressed=regressed,
    )


def exactly(value: float) -> Interval:
    """A number without chance."""
    return Interval(value, value, value, "exact", 1.0, 1, 1)


def _correct(campaign: Campaign, found: dict[tuple[str, int], Effect]) -> None:
    """Holm over all candidates and objectives; who has no p-value still counts as a comparison."""
    keys = [
        key
        for key, effect in found.items()
        if METRICS[effect.objective.metric].of == "trial" and effect.test.correction is None
    ]
    ps = [found[key].test.p for key in keys]
    for key, p, adjusted in zip(keys, ps, holm([1.0 if p is None else p for p in ps]), strict=True):
        test = evolve(found[key].test, adjusted=None if p is None else adjusted, correction="holm")
        found[key] = evolve(found[key], test=test)


def _finding(campaign: Campaign, effect: Effect, stopped: bool, is_watched: bool) -> Finding:
    objective, difference = effect.objective, effect.difference
    if difference.estimate is None or not (stopped or _covered(campaign, effect)):
        return "unknown"
    sign = sign_of(objective)
    if is_watched:
        note = effect.test.note or ""
        if note.startswith(("better;", "worse;")):
            return "better" if note.startswith("better;") else "worse"
    low, high = difference.low, difference.high
    if sign < 0:
        low, high = (None if high is None else -high), (None if low is None else -low)
    if objective.tolerance > 0:
        if low is not None and high is not None and -objective.tolerance <= low and high <= objective.tolerance:
            return "equivalent"
        if is_watched:
            return "unknown"
        if low is not None and low > objective.tolerance:
            return "better"
        return "worse" if high is not None and high < -objective.tolerance else "unknown"
    adjusted = effect.test.adjusted
    if is_watched or adjusted is None or adjusted > campaign.alpha or difference.estimate == 0:
        return "unknown"
    return "better" if math.copysign(1, difference.estimate) == sign else "worse"


def _covered(campaign: Campaign, effect: Effect) -> bool:
    """Enough cases have a value for both: a difference of the rest may be that of which cases are missing."""
    split = campaign.splits.get(effect.split)
    planned = len(split.cases) if split is not None else 0
    return (effect.difference.cases or 0) >= campaign.coverage * planned
