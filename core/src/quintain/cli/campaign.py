"""What the commands about campaigns begin with, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
from attrs import evolve, frozen

from quintain.authoring import open_project
from quintain.authoring.campaign_file import open_campaign
from quintain.authoring.quarantine import Quarantined, read_quarantine
from quintain.campaign.metrics import METRICS
from quintain.campaign.prepare import prepare_campaign
from quintain.campaign.ready import Ready
from quintain.campaign.session import CampaignResult, CampaignSettings, run_session
from quintain.cli.campaign_live import CampaignWatcher
from quintain.cli.project import add_project_options, concurrency_of, plugins_of, shown
from quintain.cli.signals import obey_signals
from quintain.errors import UsageError, ungrouped
from quintain.model.campaign import Campaign, Split
from quintain.model.codec import dumps, to_plain
from quintain.model.decision import Verdict
from quintain.model.project import Project
from quintain.plugins import Plugins
from quintain.runs.control import Control
from quintain.trial.prepare import Places

EXIT = {
    Verdict.PROMOTE: 0,
    Verdict.KEEP_BASELINE: 1,
    Verdict.FAILED_CONSTRAINT: 1,
    Verdict.NOT_ENOUGH_EVIDENCE: 3,
    Verdict.INCOMPLETE: 3,
}
# The baseline against itself is as it should be if nothing is found.
EXIT_AA = {**EXIT, Verdict.PROMOTE: 1, Verdict.NOT_ENOUGH_EVIDENCE: 0}


@frozen
class CampaignContext:
    """A campaign file that is open, with its project and plugins; `quarantined` cases are left out of it."""

    path: Path
    project: Project
    plugins: Plugins
    campaign: Campaign
    places: Places
    quarantined: tuple[str, ...] = ()


def add_campaign_options(parser: argparse.ArgumentParser) -> None:
    """The campaign, and options that choose among plugins."""
    parser.add_argument("path", metavar="CAMPAIGN", type=Path, help="a campaign file, such as campaign.toml")
    parser.add_argument("--aa", action="store_true", help="the baseline against itself, to see what noise alone finds")
    add_project_options(parser)


def add_running_options(parser: argparse.ArgumentParser) -> None:
    """How a campaign is run."""
    parser.add_argument("-j", dest="concurrency", type=int, metavar="N", help="trials at once")
    parser.add_argument("--grace", type=float, default=10.0, metavar="S", help="seconds to finish after Ctrl-C")
    parser.add_argument("--reuse", action="append", default=[], metavar="DIR", help="take equal trials from a campaign")
    parser.add_argument("--no-preflight", action="store_true", help="don't try each profile before the first trial")
    parser.add_argument("--executor", default="local", metavar="E", help="who runs the trials")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing of single trials")
    parser.add_argument("--json", action="store_true", help="print events as JSON lines on standard output")


def open_campaign_context(path: Path, args: argparse.Namespace) -> CampaignContext:
    """Open a campaign file with its project. Raises QuintainError."""
    if not path.is_file():
        raise UsageError(f"there is no campaign file {path}")
    opened = open_project(path, required=True)
    plugins = plugins_of(opened.project, args)
    loaded = open_campaign(path, opened.project, metrics=METRICS)
    campaign, left_out = trusted(loaded.campaign, read_quarantine(opened.project.root))
    if getattr(args, "aa", False):
        campaign = evolve(campaign, variants=(), aa=True)
    places = Places(
        case=lambda case, key: loaded.sources.where(case.id, key),
        profile=lambda name, key: opened.sources.where(("profiles", name, *key)),
    )
    return CampaignContext(path.resolve(), opened.project, plugins, campaign, places, left_out)


def trusted(campaign: Campaign, quarantined: Mapping[str, Quarantined]) -> tuple[Campaign, tuple[str, ...]]:
    """A campaign without the cases that can't be trusted, and the ids of those.

    Raises:
        UsageError: nothing is left of a split.
    """
    out = tuple(case.id for split in campaign.splits.values() for case in split.cases if case.id in quarantined)
    if not out:
        return campaign, ()
    splits = {
        name: Split(tuple(case for case in split.cases if case.id not in quarantined))
        for name, split in campaign.splits.items()
    }
    for name, split in splits.items():
        if not split.cases:
            raise UsageError(
                f"every case of the split {name} is quarantined", hint="mend the cases and calibrate them again"
            )
    return evolve(campaign, splits=splits), out


async def made_ready(context: CampaignContext, settings: CampaignSettings) -> Ready:
    """Everything that can be checked before anything is spent. Raises QuintainError."""
    return await prepare_campaign(
        context.campaign,
        context.plugins,
        context.project.store,
        settings.host,
        root=context.project.root,
        places=context.places,
    )


def run_campaign_here(context: CampaignContext, args: argparse.Namespace, directory: Path | None) -> int:
    """Begin or take up a campaign under the eyes of a person, and say what it came to."""
    if args.executor != "local":
        raise UsageError(f"there is no executor `{args.executor}`", hint="only `local` is installed")
    concurrency = concurrency_of(args, context.project)
    watcher = CampaignWatcher(
        context.campaign,
        concurrency=concurrency,
        interactive=_interactive(context),
        json=args.json,
        quiet=args.quiet,
    )
    settings = CampaignSettings(
        store=context.project.store,
        concurrency=concurrency,
        command=" ".join(sys.argv[1:]),
        attempting=watcher.attempting,
        listen=watcher.listen,
        heard=watcher.heard,
        began=watcher.began,
        preflight=not args.no_preflight,
        tried=watcher.tried,
        reuse=tuple(Path(name) for name in args.reuse),
    )
    if context.quarantined:
        print(f"left out  {len(context.quarantined)} quarantined cases", file=sys.stderr)
    control = Control()

    async def through() -> CampaignResult:
        ready = await made_ready(context, settings)
        async with anyio.create_task_group() as group, watcher.view.drawn():
            group.start_soon(obey_signals, control, args.grace)
            result = await run_session(ready, context.plugins, settings, directory=directory, control=control)
            group.cancel_scope.cancel()
        return result

    with ungrouped():
        result = anyio.run(through)
    return _said(result, args, aa=context.campaign.aa)


def _interactive(context: CampaignContext) -> set[str]:
    """Profiles under which a person answers."""
    return {
        profile.name
        for profile in context.campaign.profiles
        if context.plugins.answerer(profile.answerer.name).interactive
    }


def _said(result: CampaignResult, args: argparse.Namespace, *, aa: bool) -> int:
    from quintain.reporting.campaign import decision_lines

    if args.json:
        ended = {"type": "campaign_ended", "directory": str(result.directory), "status": result.status}
        print(dumps({**ended, "reason": result.reason, "decision": to_plain(result.decision)}))
    else:
        for line in decision_lines(result.decision):
            print(line)
    output = sys.stderr if args.json else sys.stdout
    where = shown(result.directory)
    if result.status == "finished":
        print(f"report  quintain report {where}", file=output)
    else:
        print(f"{result.status}: {result.reason}" if result.reason else result.status, file=output)
        print(f"resume  quintain resume {where}", file=output)
    if result.status == "interrupted":
        return 130
    if result.status == "budget":
        return 4
    return (EXIT_AA if aa else EXIT)[result.decision.verdict]
