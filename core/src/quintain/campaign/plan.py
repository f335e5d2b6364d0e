"""What a campaign would do, cost and find, told before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, pvariance

from attrs import frozen

from quintain.campaign.experiment import search_splits, searches
from quintain.campaign.history import History
from quintain.campaign.metrics import METRICS
from quintain.model.campaign import Campaign, Constraint
from quintain.model.interval import Interval
from quintain.statistics import best_reachable_lower_bound, detectable_effect, t_interval

POWER = 0.8
"""Probability with which an effect of the size that a plan calls detectable is found."""


@frozen
class Phase:
    """Trials of one phase, if no candidate is given up.

    Attributes:
        name: "search", "promotion" or "test".
        split: where.
        candidates: how many run, the baseline among them.
        cases: how many.
        repetitions: how often each case runs, those of an earlier phase included.
        trials: how many trials are new in it.
    """

    name: str
    split: str
    candidates: int
    cases: int
    repetitions: int
    trials: int


@frozen
class Projection:
    """What the trials of one profile are expected to cost.

    Attributes:
        profile: its name.
        trials: how many it has.
        known: earlier trials that the projection stands on.
        usd: mean of one trial, or None if nothing is known.
        tokens: likewise.
        seconds: likewise.
        most_usd: the dearest of them.
    """

    profile: str
    trials: int
    known: int
    usd: Interval | None
    tokens: Interval | None
    seconds: Interval | None
    most_usd: float | None = None


@frozen
class Detectable:
    """The smallest difference that an objective can show.

    Attributes:
        metric: of the objective.
        split: where.
        cases: independent units.
        effect: difference of means, or None if nothing is known of the spread.
        basis: where the spread comes from.
    """

    metric: str
    split: str
    cases: int
    effect: float | None
    basis: str


@frozen
class CampaignPlan:
    """The whole plan.

    Attributes:
        campaign: id.
        phases: what would run.
        trials: most trials in all.
        projections: by profile.
        usd: projected sum with its interval, or None if it is unknown.
        affordable: trials that the budget buys at the projected price, by the key that ends first; None without bound.
        detectable: by objective.
        unreachable: constraints that no result of so few cases can meet.
        warnings: what else a person should know first.
        problems: everything that would make it fail.
        identity: root digest of the conditions, or None if they could not be read.
    """

    campaign: str
    phases: tuple[Phase, ...]
    trials: int
    projections: tuple[Projection, ...]
    usd: Interval | None
    affordable: Mapping[str, int | None]
    detectable: tuple[Detectable, ...]
    unreachable: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    identity: str | None = None

    @property
    def fits(self) -> bool:
        """Nothing would make it fail, and the budget is enough for all of it as far as is known."""
        return not self.problems and all(buys is None or buys >= self.trials for buys in self.affordable.values())


def plan_campaign(
    campaign: Campaign,
    history: Mapping[str, History],
    *,
    problems: Sequence[str] = (),
    identity: str | None = None,
) -> CampaignPlan:
    """Plan a campaign.

    Args:
        campaign: what is to be measured.
        history: earlier trials, by profile.
        problems: what was found to be wrong with it.
        identity: root digest of its conditions.
    """
    phases = tuple(phases_of(campaign))
    trials = sum(phase.trials for phase in phases)
    each = trials // len(campaign.profiles)
    projections = tuple(
        _projection(profile.name, each, history.get(profile.name, History())) for profile in campaign.profiles
    )
    return CampaignPlan(
        campaign=campaign.id,
        phases=phases,
        trials=trials,
        projections=projections,
        usd=_total(projections),
        affordable=_affordable(campaign, projections),
        detectable=tuple(_detectable(campaign, history)),
        unreachable=tuple(_unreachable(campaign)),
        warnings=tuple(_warnings(campaign, projections)),
        problems=(*problems, *money_problems(campaign, projections)),
        identity=identity,
    )


def phases_of(campaign: Campaign) -> list[Phase]:
    """What would run if no candidate were given up before its phase ends."""
    variants = len(campaign.variants) + campaign.aa
    repeat, profiles = campaign.repetitions, len(campaign.profiles)
    first = searches(campaign, variants)
    finalists = campaign.finalists if first else variants
    found: list[Phase] = []
    searched = repeat.search if first else 0
    for split in search_splits(campaign):
        cases = len(campaign.splits[split].cases)
        if first:
            count = (1 + variants) * cases * searched * profiles
            found.append(Phase("search", split, 1 + variants, cases, searched, count))
        count = (1 + finalists) * cases * (repeat.promotion - searched) * profiles
        found.append(Phase("promotion", split, 1 + finalists, cases, repeat.promotion, count))
    if "test" in campaign.splits:
        cases = len(campaign.splits["test"].cases)
        found.append(Phase("test", "test", 2, cases, repeat.promotion, 2 * cases * repeat.promotion * profiles))
    return found


def _projection(profile: str, trials: int, history: History) -> Projection:
    return Projection(
        profile,
        trials,
        history.trials,
        _mean(history.usd),
        _mean(history.tokens),
        _mean(history.seconds),
        max(history.usd, default=None),
    )


def _mean(values: Sequence[float]) -> Interval | None:
    """The mean of one trial; of two trials there is an interval, of one only the estimate."""
    if not values:
        return None
    if len(values) == 1:
        return Interval(values[0], None, None, "one trial", 0.95, 1, assumptions=("the next are like it",))
    return t_interval(values, 0.95)


def _total(projections: Sequence[Projection]) -> Interval | None:
    if any(one.usd is None or one.usd.estimate is None for one in projections):
        return None
    parts = [(one.trials, one.usd) for one in projections if one.usd is not None]

    def summed(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return math.fsum(known) if len(known) == len(values) else None

    return Interval(
        summed([trials * usd.estimate if usd.estimate is not None else None for trials, usd in parts]),
        summed([max(0.0, trials * usd.low) if usd.low is not None else None for trials, usd in parts]),
        summed([trials * usd.high if usd.high is not None else None for trials, usd in parts]),
        "sum over profiles of trials x mean",
        0.95,
        sum(usd.n for _, usd in parts),
        assumptions=("trials cost what earlier trials of the profile cost",),
    )


def _affordable(campaign: Campaign, projections: Sequence[Projection]) -> dict[str, int | None]:
    """How many trials each bound of the budget buys at the projected price; None if the price is not known."""
    budget = campaign.budget
    found: dict[str, int | None] = {}
    if budget.trials is not None:
        found["trials"] = budget.trials
    prices = {"usd": (budget.usd, [one.usd for one in projections])}
    prices["tokens"] = (budget.tokens, [one.tokens for one in projections])
    for key, (limit, means) in prices.items():
        if limit is None:
            continue
        known = [one.estimate for one in means if one is not None and one.estimate is not None]
        price = fmean(known) if len(known) == len(means) else None
        found[key] = None if price is None else math.floor(limit / price) if price > 0 else None
    return found


def _detectable(campaign: Campaign, history: Mapping[str, History]) -> list[Detectable]:
    found = []
    comparisons = max(1, len(campaign.variants) + campaign.aa)
    for objective in campaign.objectives:
        split = "test" if "test" in campaign.splits else objective.split
        clusters = {case.cluster or f"\0{case.id}" for case in campaign.splits[split].cases}
        between, within, basis = _spread(campaign, objective.metric, history)
        effect = None
        if between is not None and within is not None and len(clusters) > 1:
            effect = detectable_effect(
                len(clusters),
                campaign.repetitions.promotion,
                var_between=between,
                var_within=within,
                alpha=campaign.alpha,
                power=POWER,
                comparisons=1 if split == "test" else comparisons,
            )
        found.append(Detectable(objective.metric, split, len(clusters), effect, basis))
    return found


def _spread(campaign: Campaign, metric: str, history: Mapping[str, History]) -> tuple[float | None, float | None, str]:
    """Variances of a difference between cases and within one, from earlier trials or from the worst case."""
    if not METRICS[metric].unit_interval:
        return None, None, "nothing is known of how much it differs between cases"
    names = {profile.name for profile in campaign.profiles}
    groups = [values for name in names for values in history.get(name, History()).scores.values() if len(values) > 1]
    if metric == "pass_rate" and len(groups) >= 5:
        within = 2 * fmean(pvariance(values) for values in groups)
        return 0.0, within, f"earlier trials of {len(groups)} cases; candidates that differ by the same in each case"
    return 0.25, 0.5, "the worst case: outcomes that are a coin's, and differences that vary between cases"


def _unreachable(campaign: Campaign) -> list[str]:
    return [text for one in campaign.constraints if (text := unreachable(campaign, one)) is not None]


def unreachable(campaign: Campaign, constraint: Constraint) -> str | None:
    """Why no result of so few cases can meet a constraint, or None if some can."""
    if constraint.min is None or constraint.confidence is None or not METRICS[constraint.metric].unit_interval:
        return None
    if constraint.split not in campaign.splits:
        return None
    n = len(campaign.splits[constraint.split].cases)
    single = campaign.repetitions.promotion == 1
    method = "clopper-pearson" if single else "betting"
    best = best_reachable_lower_bound(method, n, constraint.confidence, side="greater")
    if best is None or best >= constraint.min:
        return None
    return (
        f"{constraint.metric} >= {constraint.min:g} at {constraint.confidence:.0%} can't be shown on {constraint.split}: "
        f"if every one of its {n} cases passes, the bound is {best:.3f}"
    )


def money_problems(campaign: Campaign, projections: Sequence[Projection] = ()) -> list[str]:
    """Bounds of the budget that can't be held because nobody says what one trial may cost."""
    dearest = {one.profile: one for one in projections if one.most_usd}
    found = []
    for key, limit in (("usd", campaign.budget.usd), ("tokens", campaign.budget.tokens)):
        for profile in campaign.profiles if limit is not None else ():
            bound = campaign.budget.bounds.get(profile.name)
            if bound is None or getattr(bound, key) is None:
                one = dearest.get(profile.name)
                seen = f"; the dearest of {one.known} earlier trials cost ${one.most_usd:.4f}" if one else ""
                found.append(
                    f"the budget bounds {key}, but not what one trial of profile {profile.name} may cost: "
                    f"write budget.bounds.{profile.name}.{key}{seen}"
                )
    return found


def _warnings(campaign: Campaign, projections: Sequence[Projection]) -> list[str]:
    found = []
    if "test" not in campaign.splits:
        found.append("there is no test split: the winner's result on validation is biased in its favour")
    if not campaign.variants and not campaign.aa:
        found.append("there is no variant: only the baseline is measured")
    for one in projections:
        if one.known == 0:
            found.append(f"nothing is known of what a trial of profile {one.profile} costs: it never ran here")
        elif one.usd is None:
            found.append(f"the cost of earlier trials of profile {one.profile} is unknown")
    for split, cases in campaign.splits.items():
        for case in cases.cases:
            if not case.assertions:
                found.append(f"case {case.id} of {split} has no assertion: nothing can pass or fail")
    return found
