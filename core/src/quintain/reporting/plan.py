"""A plan as a page of text."""

from __future__ import annotations

from collections.abc import Iterator

from quintain.campaign.plan import POWER, CampaignPlan, Projection
from quintain.model.interval import Interval
from quintain.reporting.text import clean


def plan_lines(plan: CampaignPlan) -> Iterator[str]:
    """The plan, line by line."""
    yield f"campaign {plan.campaign}: at most {plan.trials} trials"
    for phase in plan.phases:
        many = f"{phase.candidates} candidates x {phase.cases} cases, each {phase.repetitions} x"
        yield f"  {phase.name:<10} {phase.split:<11} {many}: {phase.trials} new trials"
    yield ""
    yield "cost"
    for one in plan.projections:
        yield f"  {clean(one.profile)}: {_projected(one)}"
    yield f"  in all: {'unknown' if plan.usd is None else _money(plan.usd)}"
    for key, buys in plan.affordable.items():
        enough = "" if buys is None or buys >= plan.trials else "  NOT ENOUGH"
        yield f"  budget.{key} buys {'an unknown number of' if buys is None else buys} trials{enough}"
    yield ""
    yield f"smallest effect that is found with probability {POWER:.0%}"
    for found in plan.detectable:
        size = "unknown" if found.effect is None else f"{found.effect:.3f}"
        yield f"  {found.metric} on {found.split}, {found.cases} independent cases: {size} ({found.basis})"
    yield from _section("can't be met", plan.unreachable)
    yield from _section("know first", plan.warnings)
    yield from _section("would fail", plan.problems)
    if plan.identity:
        yield ""
        yield f"identity {plan.identity}"


def _section(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield ""
        yield title
        for text in texts:
            yield f"  {clean(text)}"


def _projected(one: Projection) -> str:
    if not one.known:
        return f"{one.trials} trials; nothing is known of their cost"
    usd = "unknown cost" if one.usd is None else f"{_money(one.usd)} each"
    tokens = "" if one.tokens is None or one.tokens.estimate is None else f", {one.tokens.estimate:.0f} tokens"
    seconds = "" if one.seconds is None or one.seconds.estimate is None else f", {one.seconds.estimate:.1f} s"
    return f"{one.trials} trials; {usd}{tokens}{seconds} (from {one.known} earlier trials)"


def _money(interval: Interval) -> str:
    if interval.estimate is None:
        return "unknown"
    if interval.low is None or interval.high is None:
        return f"${interval.estimate:.4f}"
    low = max(0.0, interval.low)
    return f"${interval.estimate:.4f} [{low:.4f}, {interval.high:.4f}]"
