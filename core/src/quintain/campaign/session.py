"""Running a campaign: begun, or taken up again where it was left, by the one process that owns its directory."""

from __future__ import annotations

import os
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread
from attrs import field, frozen

from quintain.campaign.account import Account, Standing
from quintain.campaign.directory import make_directory, run_info
from quintain.campaign.experiment import Experiment
from quintain.campaign.ledger import Ledger, New, text_digest
from quintain.campaign.owner import owned
from quintain.campaign.plan import money_problems, phases_of
from quintain.campaign.preflight import Tower
from quintain.campaign.ready import CandidateTemplate, Ready
from quintain.campaign.reuse import Reuse
from quintain.campaign.runner import Runner, Settlement, conditions_words
from quintain.campaign.seal import is_sealed, seal, unseal
from quintain.campaign.settled import charge_body
from quintain.campaign.state import State, read_state
from quintain.candidates import Problem, store_captured, validate
from quintain.errors import StoreError, UsageError, ungrouped
from quintain.identity.lock import read_lock, write_lock
from quintain.identity.tree import Difference, difference
from quintain.model.campaign import BASELINE, Campaign, Candidate
from quintain.model.codec import dumps, to_plain
from quintain.model.decision import Decision
from quintain.model.events import Traced
from quintain.model.plain import Json
from quintain.model.trial import TrialOrder
from quintain.plugins import Plugins
from quintain.process import Keepers
from quintain.runs.bench import open_bench
from quintain.runs.collector import patient_collector
from quintain.runs.control import Control
from quintain.runs.preflight import Preflight
from quintain.trial.bench import Bench, nobody
from quintain.version import VERSION
from quintain.workspace.area import Areas, refuse_surroundings, sweep_leftovers


async def _nobody(what: object) -> None:
    return None


@frozen
class CampaignSettings:
    """How a campaign is run; none of it changes what is measured.

    Attributes:
        store: directory that holds campaigns and blobs.
        concurrency: trials at once.
        command: what the user asked for, in words.
        scratch: directory under which workspaces are made; None for the system's.
        host: environment variables of the host.
        reuse: directories of campaigns whose equal trials are taken instead of being run again.
        attempting: told before each attempt of a trial.
        listen: told of everything that happens in a trial.
        heard: told of each trial after it is settled.
        began: told once everything is ready, before the first trial.
        preflight: try each way to run before the first trial; see `quintain.campaign.preflight`.
        tried: told of each that was tried.
    """

    store: Path
    concurrency: int = 4
    command: str = ""
    scratch: Path | None = None
    host: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)
    reuse: tuple[Path, ...] = ()
    attempting: Callable[[TrialOrder, int], Awaitable[None]] = nobody
    listen: Callable[[str, Traced], None] | None = None
    heard: Callable[[Settlement], Awaitable[None]] = _nobody
    began: Callable[[Path, State], Awaitable[None]] | None = None
    preflight: bool = True
    tried: Callable[[Preflight], Awaitable[None]] = _nobody


@frozen
class CampaignResult:
    """A session of a campaign that is over.

    Attributes:
        directory: of the campaign.
        decision: what it came to.
        status: "finished", "incomplete", "interrupted", "budget" or "stopped".
        reason: why, if it is not finished.
        state: its trials.
    """

    directory: Path
    decision: Decision
    status: str
    reason: str | None
    state: State = field(repr=False)


async def run_session(
    ready: Ready,
    plugins: Plugins,
    settings: CampaignSettings,
    *,
    directory: Path | None = None,
    control: Control | None = None,
) -> CampaignResult:
    """Begin a campaign, or take it up again, and run it as far as its budget and its user let it.

    Args:
        ready: the campaign, prepared.
        plugins: where plugins come from.
        settings: how to run it.
        directory: of the campaign that is taken up again; None begins a new one.
        control: stops it from outside.

    Raises:
        QuintainError: it can't be run, or is not the campaign that was begun there; nothing has been spent then.
    """
    if settings.concurrency < 1:
        raise UsageError(f"at least one trial runs at a time, not {settings.concurrency}")
    refuse_unbounded(ready.campaign)
    reuse = Reuse(settings.reuse, settings.store)
    control = control or Control()
    refuse_surroundings(settings.scratch)
    await anyio.to_thread.run_sync(sweep_leftovers, settings.scratch)
    path = directory or make_directory(settings.store, ready.campaign.id, lambda made: _fill(made, ready, settings))
    with ungrouped(), owned(path):
        # Opening it for writing changes the file, which would break the seal of a campaign that is refused.
        with closing(Ledger(path)) as seen:
            state = read_state(seen)
            broken = seen.broken()
        if broken is not None:
            raise StoreError(
                f"entry {broken} of the ledger is not what was written",
                where=str(path),
                hint="put the old file back; quintain verify says more",
            )
        if state.status == "finished" and state.decision is not None and not is_sealed(path):
            # It was killed with its last step to go.
            Ledger(path, write=True).close()
            await anyio.to_thread.run_sync(seal, path)
            return CampaignResult(path, state.decision, state.status, state.reason, state)
        if state.campaign is not None:
            refuse_other(ready, state, path)
        elif directory is not None:
            # It was killed before it had begun, perhaps under other conditions.
            write_lock(path / "identity.lock", ready.conditions.tree)
        # It speaks of what the files were: once they change it would accuse us.
        unseal(path)
        ledger = Ledger(path, write=True)
        try:
            await _begin(ready, ledger, state, settings)
            decision = await _through(ready, ledger, state, plugins, settings, control, reuse)
        finally:
            ledger.close()
        await anyio.to_thread.run_sync(seal, path)
    return CampaignResult(path, decision, control.status, control.reason, state)


def _fill(directory: Path, ready: Ready, settings: CampaignSettings) -> None:
    uses = [use for template in ready.templates for use in template.prepared.plugins]
    campaign, plugins = ready.campaign, tuple(dict.fromkeys(uses))
    name = directory.name.removeprefix(".")
    info = run_info(
        campaign,
        name,
        sum(phase.trials for phase in phases_of(campaign)),
        settings.concurrency,
        plugins,
        settings.command,
    )
    write_lock(directory / "identity.lock", ready.conditions.tree)
    Ledger.create(directory, info)


def refuse_unbounded(campaign: Campaign) -> None:
    """Refuse a budget that can't be held. Raises UsageError."""
    found = money_problems(campaign)
    if found:
        raise UsageError("; ".join(found), where=campaign.source)


def refuse_other(ready: Ready, state: State, path: Path) -> None:
    """Refuse to go on with anything but the campaign that was begun; says what differs.

    Raises:
        UsageError: something that is measured, or how it is decided, has changed.
    """
    if state.status == "finished":
        raise UsageError("it is finished", where=str(path), hint=f"quintain report {path}")
    again = "undo the change, or begin a new campaign; --reuse keeps the trials that are still the same"
    changed = difference(read_lock(path / "identity.lock").tree, ready.conditions.tree)
    if changed:
        raise UsageError(
            f"the conditions are not those under which it was begun:{_listed(changed)}", where=str(path), hint=again
        )
    if state.campaign["identity"] != ready.conditions.root:
        raise UsageError(
            "its identity.lock is not the one under which it was begun", where=str(path), hint="put the old one back"
        )
    if state.campaign["subject"] != ready.captured.digest:
        raise UsageError(
            "the subject has changed since the campaign was begun",
            where=str(ready.campaign.subject.root),
            hint=again,
        )
    if state.campaign["digest"] != ready.digest:
        rules = difference(rules_of(state.campaign["campaign"]), rules_of(to_plain(ready.campaign)))
        raise UsageError(
            f"what is measured, or how it is decided, has changed since it was begun:{_listed(rules)}",
            where=str(path),
            hint=again,
        )


def rules_of(campaign: Mapping[str, Json]) -> dict[str, Json]:
    """What a campaign measures and how it decides, as plain data: no budget, nothing that conditions name better."""
    subject = {key: value for key, value in campaign["subject"].items() if key != "root"}
    left_out = ("budget", "source", "profiles", "splits")
    rest = {key: value for key, value in campaign.items() if key not in left_out}
    return {**rest, "subject": subject, "splits": {name: len(one["cases"]) for name, one in campaign["splits"].items()}}


def _listed(changed: Sequence[Difference]) -> str:
    return "".join(f"\n  {one}" for one in changed[:20])


async def _begin(ready: Ready, ledger: Ledger, state: State, settings: CampaignSettings) -> None:
    """Write down that this session begins, and under what; what an earlier one left open is charged at its bound."""
    entries: list[New] = []
    if state.campaign is None:
        plain = to_plain(ready.campaign)
        state.campaign = {
            "campaign": plain,
            "digest": ready.digest,
            "subject": ready.captured.digest,
            "captured": store_captured(ready.captured, ready.blobs),
        }
        state.campaign["identity"] = ready.conditions.root
        entries.append(("campaign", ready.campaign.id, {**state.campaign, "run": text_digest(ledger.info_text)}))
    entries.append(("session", str(state.sessions + 1), _session(settings)))
    if state.sessions == 0 or state.budget != ready.campaign.budget:
        state.budget = ready.campaign.budget
        entries.append(("budget", "", {"budget": to_plain(state.budget)}))
    for trial, charge in state.open.items():
        entries.append(("abandoned", trial, {"charge": charge_body(charge)}))
        state.spent += charge
    state.open.clear()
    state.sessions += 1
    state.status, state.reason = "running", None
    await ledger.add(*entries)
    for candidate in tuple(state.candidates.values()):
        ready.admit(candidate)
    known = {id: candidate.digest for id, candidate in state.candidates.items()}
    for candidate, problems in await candidates_of(ready, {**known, **dict.fromkeys(state.rejected)}):
        await _admit(ready, ledger, state, candidate, problems)


async def candidates_of(ready: Ready, known: Mapping[str, str | None]) -> list[tuple[Candidate, tuple[Problem, ...]]]:
    """The baseline and the variants that are not known yet, each with what is wrong with it.

    Args:
        ready: the campaign.
        known: digests of the candidates that were admitted before; None for one that was refused.

    Raises:
        UsageError: one is not what it was when it was admitted.
    """
    found: list[tuple[Candidate, tuple[Problem, ...]]] = []
    for candidate in ready.authored:
        before = known.get(candidate.id)
        if before is not None and before != candidate.digest:
            raise UsageError(
                f"the candidate {candidate.id} is not what it was when the campaign was begun",
                where=ready.campaign.source,
                hint="undo the change, or begin a new campaign; --reuse keeps the trials that are still the same",
            )
        if candidate.id not in known:
            problems = await validate(candidate, ready.captured, ready.campaign.subject, ready.blobs)
            found.append((candidate, problems))
    return found


async def _admit(ready: Ready, ledger: Ledger, state: State, candidate: Candidate, problems: Sequence[Problem]) -> None:
    """Let a candidate in, or write down why not: a bad one is a result, and the campaign goes on without it."""
    if problems:
        if candidate.id == BASELINE:
            raise UsageError(f"the baseline itself is refused: {'; '.join(map(str, problems))}")
        words = tuple(map(str, problems))
        await ledger.add(("rejected", candidate.id, {"problems": list(words)}))
        state.rejected[candidate.id] = words
        return
    templates = ready.admit(candidate)
    await ledger.admit(
        [(template.number, dumps(to_plain(template.order))) for template in templates],
        ("candidate", candidate.id, {"candidate": to_plain(candidate), "orders": _orders(templates)}),
    )
    state.candidates[candidate.id] = candidate


def _orders(templates: Sequence[CandidateTemplate]) -> dict[str, str]:
    return {str(template.number): text_digest(dumps(to_plain(template.order))) for template in templates}


def _session(settings: CampaignSettings) -> dict[str, object]:
    return {
        "version": VERSION,
        "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "pid": os.getpid(),
        "host": platform.node(),
        "concurrency": settings.concurrency,
        "command": settings.command,
    }


async def _through(
    ready: Ready,
    ledger: Ledger,
    state: State,
    plugins: Plugins,
    settings: CampaignSettings,
    control: Control,
    reuse: Reuse,
) -> Decision:
    if settings.began is not None:
        await settings.began(ledger.directory, state)
    account = Account(Standing(ready.campaign.budget, state.spent, wall_s=state.wall_s))
    experiment = Experiment(ready, ledger, state, control)

    async def heard(settlement: Settlement) -> None:
        await experiment.heard(settlement)
        await settings.heard(settlement)

    with control.owns(anyio.CancelScope()):
        make = _bench(ready, ledger, plugins, settings, control)
        async with open_bench(settings.scratch, make) as bench, ready.conditions.watch() as watch:
            runner = Runner(
                ready,
                ledger,
                state,
                account,
                watch,
                control,
                bench,
                reuse=reuse,
                concurrency=settings.concurrency,
                heard=heard,
            )
            with patient_collector():
                if settings.preflight and not state.settled:
                    tower = Tower(ledger, account, control, bench, settings.tried)
                    await tower.through(ready, plugins, concurrency=settings.concurrency)
                await experiment.through(runner)
            found = await watch.verify()
            if found:
                control.drain("stopped", conditions_words(found))
    return await experiment.decide()


def _bench(
    ready: Ready, ledger: Ledger, plugins: Plugins, settings: CampaignSettings, control: Control
) -> Callable[[Areas, Keepers], Bench]:
    return lambda areas, keepers: Bench(
        plugins=plugins,
        blobs=ready.blobs,
        evidence=ledger.store.evidence,
        host=settings.host,
        areas=areas,
        keepers=keepers,
        switch=control.switch,
        listen=settings.listen,
        attempt_began=settings.attempting,
    )
