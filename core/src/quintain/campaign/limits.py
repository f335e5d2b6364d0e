"""What the evidence of a campaign does not show, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quintain.campaign.effects import comparisons_of, watches
from quintain.campaign.evaluate import FEWEST_UNBOUNDED, Table
from quintain.campaign.metrics import METRICS
from quintain.model.campaign import BASELINE, Campaign
from quintain.model.decision import Effect, Standing
from quintain.model.usage import CostState
from quintain.statistics import best_reachable_lower_bound, smallest_p


def limits_of(
    campaign: Campaign,
    table: Table,
    standings: Sequence[Standing],
    confirmed: Mapping[str, Sequence[Effect]],
    looks: Mapping[str, int],
    stopped: Mapping[str, str],
) -> tuple[str, ...]:
    """Every reason to doubt the decision that the figures themselves give, each once."""
    searched = [effect for one in standings for effect in one.effects]
    tested = [effect for effects in confirmed.values() for effect in effects]
    found = [
        *_few(campaign, searched, comparisons_of(campaign, len(standings) - 1)),
        *_few(campaign, tested, comparisons_of(campaign, len(confirmed))),
        *_unreachable(campaign, table),
        *_missing(standings),
        *_unknown(campaign, standings, [*searched, *tested]),
        *_uneven(campaign, table, standings, stopped),
        *_selection(campaign, standings, looks, stopped),
    ]
    return tuple(dict.fromkeys(found))


def _few(campaign: Campaign, effects: Sequence[Effect], comparisons: int) -> Iterator[str]:
    for effect in effects:
        metric, n = METRICS[effect.objective.metric], effect.difference.n
        if metric.of == "candidate":
            continue
        what = f"{metric.name} on {effect.split}"
        if effect.difference.estimate is None:
            yield f"{what}: no case has a value for both a candidate and the baseline."
            continue
        if smallest_p(n) * comparisons > campaign.alpha:
            yield (
                f"{what}: {_many(n)} can't show a difference between candidates whatever happens"
                f" (p is at least {min(1.0, smallest_p(n) * comparisons):.2g}, {campaign.alpha:g} is asked)."
            )
        if effect.difference.cases != n:
            yield f"{what}: {effect.difference.cases} cases are only {_many(n, 'independent cluster')}."
        if not metric.unit_interval and n < FEWEST_UNBOUNDED:
            yield f"{what}: a mean of {n} values without bounds has no interval; {FEWEST_UNBOUNDED} are needed."
        if metric.binary and max(n, 0) < 30 and smallest_p(n) * comparisons <= campaign.alpha:
            yield f"{what}: {_many(n)} are few: only large differences can be shown."


def _unreachable(campaign: Campaign, table: Table) -> Iterator[str]:
    for one in campaign.constraints:
        if one.min is None or one.confidence is None or not METRICS[one.metric].unit_interval:
            continue
        for profile in (
            campaign.profiles if one.profile is None else [p for p in campaign.profiles if p.name == one.profile]
        ):
            cases = table.cases(BASELINE, one.split, profile.name, one.metric)
            clusters = [value.cluster for value in cases.values() if value.cluster is not None]
            n = len(cases) - len(clusters) + len(set(clusters))
            single = all(value.trials == 1 for value in cases.values()) and n == len(cases)
            method = "clopper-pearson" if single and METRICS[one.metric].binary else "betting"
            best = best_reachable_lower_bound(method, n, max(0.5, one.confidence), side="greater") if n else None
            if best is not None and best < one.min:
                yield (
                    f"{one.metric} >= {one.min:g} at {one.confidence:.0%} can't be shown with {_many(n)}:"
                    f" the best possible bound is {best:.3f}."
                )


def _missing(standings: Sequence[Standing]) -> Iterator[str]:
    base = next((one for one in standings if one.candidate == BASELINE), None)
    for one in standings:
        if not one.missing:
            continue
        bounds = f"; its pass rate is {one.worst_case:.3f} if they all fail, {one.best_case:.3f} if they all pass"
        known = bounds if one.worst_case is not None and one.best_case is not None else ""
        yield f"{one.missing} of {one.planned} trials of `{one.candidate}` have no verdict{known}."
        if base is not None and one is not base and one.planned and base.planned:
            mine, other = one.missing / one.planned, base.missing / base.planned
            if mine > other:
                yield (
                    f"`{one.candidate}` has more missing trials than the baseline ({mine:.0%} against {other:.0%}):"
                    " the difference may be that of what is missing."
                )


def _unknown(campaign: Campaign, standings: Sequence[Standing], effects: Sequence[Effect]) -> Iterator[str]:
    asked = {one.metric for one in campaign.constraints} | {one.metric for one in campaign.objectives}
    for one in standings:
        if one.spend.cost.state is CostState.UNKNOWN:
            least = f"; it is at least ${one.spend.cost.usd:.4f}" if one.spend.cost.usd else ""
            yield f"The cost of some trials of `{one.candidate}` is unknown, so that of all is{least}."
        elif not one.spend.complete and any(name.startswith("tokens") for name in asked):
            yield f"The tokens of some trials of `{one.candidate}` are unknown; their sum is a lower bound."
    for effect in effects:
        if effect.unpaired:
            yield (
                f"{effect.objective.metric} on {effect.split}: {_many(len(effect.unpaired))} could not be paired,"
                " because only one of the two has a value."
            )


def _uneven(
    campaign: Campaign, table: Table, standings: Sequence[Standing], stopped: Mapping[str, str]
) -> Iterator[str]:
    profiles = tuple(one.name for one in campaign.profiles)
    for one in standings:
        if one.candidate == BASELINE or one.candidate in stopped:
            continue
        for effect in one.effects:
            if METRICS[effect.objective.metric].of == "candidate":
                continue
            where = (effect.objective.profile,) if effect.objective.profile is not None else profiles
            pairs = table.pairs(one.candidate, effect.split, where, effect.objective.metric)
            if pairs.uneven:
                yield (
                    f"`{one.candidate}` and the baseline have a different number of values in {_many(len(pairs.uneven))}"
                    f" of {effect.split}; each case counts as one all the same."
                )


def _selection(
    campaign: Campaign, standings: Sequence[Standing], looks: Mapping[str, int], stopped: Mapping[str, str]
) -> Iterator[str]:
    many = len(standings) - 1
    if "test" not in campaign.splits:
        yield "There is no test split: the gain is estimated on the cases that chose the candidate, and so too high."
        if looks.get("validation", 0) > 1 and not watches(campaign):
            yield f"Validation was looked at {looks['validation']} times before this decision."
    if looks.get("test", 0) > 1:
        yield f"The test split was looked at {looks['test']} times: it is no longer untouched."
    if many > 1:
        yield (
            f"{many} candidates were compared: the best of many looks better than it is; p-values and intervals of the"
            " differences are corrected for all of them."
        )
    if watches(campaign) and stopped:
        yield (
            "The campaign may stop early: only the first objective is tested for that, and the intervals are those of a"
            " number of cases that was fixed."
        )
    if campaign.repetitions.promotion == 1:
        yield "Each case ran once: how much one case varies by itself is not known."
    if campaign.aa:
        yield "This is an A/A campaign: whatever it finds is noise."


def _many(count: int, what: str = "case") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
