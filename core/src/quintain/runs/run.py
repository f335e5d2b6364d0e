"""Runs a plan: so many trials at once, each stored before it counts."""

from __future__ import annotations

import os
import platform
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread
from attrs import evolve, field, frozen

from quintain.contracts.sink import Sink, SinkContext
from quintain.errors import StoreError, UsageError
from quintain.model.plain import Plug
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport
from quintain.plugins import Plugins
from quintain.process import Keepers
from quintain.runs.bench import open_bench
from quintain.runs.collector import patient_collector
from quintain.runs.control import Control, Warden
from quintain.runs.identity import record_identity
from quintain.runs.plan import Plan
from quintain.runs.preflight import FOLDER, Preflight, failure_of, flights_of, preflight
from quintain.runs.sinks import Audience, open_sinks
from quintain.runs.store import RunStore
from quintain.runs.tally import Totals
from quintain.trial.bench import Bench
from quintain.trial.trial import run_trial
from quintain.version import VERSION
from quintain.workspace.area import Areas, refuse_surroundings, sweep_leftovers
from quintain.workspace.blobs import BlobStore


@frozen
class Settings:
    """How a plan is run.

    Attributes:
        store: directory that holds runs and blobs.
        concurrency: trials at once.
        fail_fast: begin no new trial after one that is not passed.
        sinks: sinks by name.
        own_sinks: sinks that are open already.
        command: what the user asked for, in words.
        project: directory against which sinks resolve relative paths.
        scratch: directory under which workspaces are made; None for the system's.
        host: environment variables of the host.
        output: where sinks write what people read.
        preflight: try each way to run before the first trial; one that does not work stops the run.
        tried: told of each that was tried.
    """

    store: Path
    concurrency: int = 1
    fail_fast: bool = False
    sinks: tuple[Plug, ...] = ()
    own_sinks: tuple[Sink, ...] = ()
    command: str = ""
    project: Path = field(factory=Path.cwd)
    scratch: Path | None = None
    host: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)
    output: TextIO = field(factory=lambda: sys.stderr)
    preflight: bool = False
    tried: Callable[[Preflight], None] | None = None


@frozen
class RunResult:
    """A run that is over: its summary, and its evidence in the store."""

    summary: RunSummary
    directory: Path

    @property
    def passed(self) -> bool:
        """Every planned trial passed."""
        return self.summary.exit_code == 0

    def reports(self) -> Iterator[TrialReport]:
        """Every trial's report, in the order in which they ended."""
        store = RunStore(self.directory)
        try:
            yield from store.reports()
        finally:
            store.close()


async def run_plan(
    plan: Plan,
    plugins: Plugins,
    settings: Settings,
    *,
    control: Control | None = None,
    on_report: Callable[[TrialReport], None] | None = None,
) -> RunResult:
    """Run every trial of a plan and store it.

    Args:
        plan: what to run.
        plugins: where plugins come from.
        settings: how to run it.
        control: stops it from outside.
        on_report: told of each report after it is stored.

    Raises:
        QuintainError: nothing was planned, a sink can't be opened, or the store can't be written.
    """
    if plan.trials == 0:
        raise UsageError("there is nothing to run")
    if settings.concurrency < 1:
        raise UsageError(f"at least one trial runs at a time, not {settings.concurrency}")
    control = control or Control()
    refuse_surroundings(settings.scratch)
    await anyio.to_thread.run_sync(sweep_leftovers, settings.scratch)
    directory, info = _begin(plan, settings)
    store = RunStore.create(directory, info)
    store.add_templates(template.order for template in plan.templates)
    context = SinkContext(directory, settings.project, settings.output)
    try:
        nameless = await record_identity(
            plan.templates,
            plugins,
            settings.host,
            store=settings.store,
            directory=directory,
            root=settings.project,
        )
        async with open_sinks(settings.sinks, settings.own_sinks, plugins, context) as audience:
            running = _Running(plan, plugins, settings, control, store, audience, on_report)
            if nameless is not None:
                audience.warnings.append(nameless)
            await audience.run_began(info)
            with patient_collector():
                summary = await running.through(info)
            await audience.run_ended(summary)
    finally:
        store.close()
    return RunResult(summary, directory)


class _Running:
    """What the workers of a run share."""

    def __init__(
        self,
        plan: Plan,
        plugins: Plugins,
        settings: Settings,
        control: Control,
        store: RunStore,
        audience: Audience,
        on_report: Callable[[TrialReport], None] | None,
    ) -> None:
        self._plan = plan
        self._plugins = plugins
        self._settings = settings
        self._control = control
        self._store = store
        self._audience = audience
        self._on_report = on_report
        self._orders = plan.orders()
        groups = [(template.order.case.id, template.order.profile) for template in plan.templates]
        self._totals = Totals(groups, plan.repeat)
        self._warden = Warden(control)

    def _bench(self, areas: Areas, keepers: Keepers) -> Bench:
        audience, settings = self._audience, self._settings
        return Bench(
            plugins=self._plugins,
            blobs=BlobStore(settings.store / "blobs"),
            evidence=self._store.evidence,
            host=settings.host,
            areas=areas,
            keepers=keepers,
            switch=self._control.switch,
            attempt_began=audience.trial_began,
            listen=audience.event if audience.watches_events else None,
        )

    async def through(self, info: RunInfo) -> RunSummary:
        began = time.monotonic()
        workers = min(self._settings.concurrency, self._plan.trials)
        with self._control.owns(anyio.CancelScope()):
            async with open_bench(self._settings.scratch, self._bench) as bench:
                if self._settings.preflight:
                    await self._preflight(bench)
                async with anyio.create_task_group() as group:
                    for _ in range(workers):
                        group.start_soon(self._work, bench)
        summary = RunSummary(
            run=info,
            status=self._control.status,
            tally=self._totals.tally(),
            cases=self._totals.cases(),
            spend=self._totals.spend,
            duration_s=round(time.monotonic() - began, 3),
            reason=self._control.reason,
            warnings=tuple(self._audience.warnings),
        )
        try:
            self._store.finish(summary)
        except StoreError as error:
            return evolve(summary, warnings=(*summary.warnings, f"the summary was not stored: {error}"))
        return summary

    async def _preflight(self, bench: Bench) -> None:
        """Begin no trial if a way to run doesn't work."""
        flights = flights_of((template.order for template in self._plan.templates), self._plugins)
        folder = self._store.directory / FOLDER
        found = await preflight(
            flights, bench, folder, concurrency=self._settings.concurrency, stopped=lambda: self._control.draining
        )
        for one in found:
            if one.report is not None:
                self._totals.spent(one.report.spend)
            if self._settings.tried is not None:
                self._settings.tried(one)
        words = failure_of(found)
        if words is not None:
            self._control.drain("stopped", words)

    async def _work(self, bench: Bench) -> None:
        for index, order in self._orders:
            if self._control.draining:
                return
            template = self._plan.templates[index]
            report = await run_trial(order, template.prepared, template.fixtures, bench)
            await self._settle(index, order, report)

    async def _settle(self, index: int, order: TrialOrder, report: TrialReport) -> None:
        try:
            await self._store.settle(order, index, report)
        except StoreError as error:
            self._totals.lose(report)
            self._control.drain("stopped", f"the store does not take more: {error}")
            return
        self._totals.add(report)
        self._warden.saw(report.outcome)
        if self._settings.fail_fast and report.passed is not True:
            self._control.drain("stopped", f"fail-fast: {report.trial} did not pass")
        await self._audience.trial_ended(report)
        if self._on_report is not None:
            self._on_report(report)


def _begin(plan: Plan, settings: Settings) -> tuple[Path, RunInfo]:
    """Make a directory that is this run's alone."""
    now = datetime.now(UTC)
    runs = settings.store / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        while True:
            id = f"{now:%Y-%m-%dT%H-%M-%S}-{secrets.token_hex(2)}"
            try:
                (runs / id).mkdir(mode=0o700)
                break
            except FileExistsError:
                continue
    except OSError as error:
        raise StoreError(f"can't be written: {error.strerror}", where=str(runs)) from error
    orders = [template.order for template in plan.templates]
    info = RunInfo(
        id=id,
        started_at=now.isoformat(timespec="milliseconds"),
        version=VERSION,
        trials=plan.trials,
        cases=tuple(dict.fromkeys(order.case.id for order in orders)),
        profiles=tuple(dict.fromkeys(order.profile for order in orders)),
        repeat=plan.repeat,
        concurrency=settings.concurrency,
        command=settings.command,
        plugins=plan.plugins,
        platform=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        host={"processors": str(os.cpu_count())},
    )
    return runs / id, info
