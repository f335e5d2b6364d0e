"""`quintain plan`."""

from __future__ import annotations

import argparse

import anyio
from attrs import evolve

from quintain.campaign.history import history_of
from quintain.campaign.plan import CampaignPlan, plan_campaign
from quintain.campaign.session import CampaignSettings, candidates_of
from quintain.cli.campaign import CampaignContext, add_campaign_options, made_ready, open_campaign_context
from quintain.errors import QuintainError, flatten
from quintain.model.codec import dumps, to_plain
from quintain.reporting.plan import plan_lines


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_campaign_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    plan = anyio.run(_plan, open_campaign_context(args.path, args))
    if args.json:
        print(dumps(to_plain(plan)))
    else:
        for line in plan_lines(plan):
            print(line)
    if plan.problems:
        return 2
    return 0 if plan.fits else 4


async def _plan(context: CampaignContext) -> CampaignPlan:
    problems: list[str] = []
    identity: str | None = None
    weaknesses: tuple[str, ...] = ()
    try:
        ready = await made_ready(context, CampaignSettings(context.project.store))
        identity, weaknesses = ready.conditions.root, ready.conditions.warnings
        for candidate, found in await candidates_of(ready, {}):
            problems += [f"candidate {candidate.id}: {problem}" for problem in found]
    except QuintainError as error:
        problems += [str(single) for single in flatten([error])]
    history = {profile.name: history_of(context.project.store, profile.name) for profile in context.campaign.profiles}
    plan = plan_campaign(context.campaign, history, problems=problems, identity=identity)
    out = tuple(f"case {id} is quarantined and left out" for id in context.quarantined)
    return evolve(plan, warnings=(*plan.warnings, *out, *weaknesses))
