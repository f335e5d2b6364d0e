"""Running cases from a program, without project files and without entry points.

report = await quintain.run([Case("hello", "Say hello")], driver=my_driver, repeat=3)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from attrs import evolve

from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.driver import Bound, DriverSpec
from quintain.contracts.sink import Sink
from quintain.errors import UsageError
from quintain.functions import DENY, AnswerFunction, answerer_of
from quintain.model.campaign import Campaign
from quintain.model.case import Case
from quintain.model.codec import to_plain
from quintain.model.limits import Limits, Retry
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.trial import Isolation, TrialReport
from quintain.plugins import Plugins
from quintain.runs.checks import with_checks
from quintain.runs.control import Control
from quintain.runs.plan import make_plan
from quintain.runs.run import RunResult, Settings, run_plan
from quintain.workspace.blobs import BlobStore

if TYPE_CHECKING:
    from quintain.campaign.runner import Settlement
    from quintain.campaign.session import CampaignResult


async def run(
    cases: Iterable[Case],
    *,
    driver: DriverSpec[Any] | Bound[Any] | str | None = None,
    answerer: AnswererSpec[Any] | AnswerFunction | str = "deny",
    profiles: Sequence[Profile] = (),
    repeat: int = 1,
    concurrency: int = 4,
    limits: Limits | None = None,
    retry: Retry | None = None,
    isolation: Isolation | None = None,
    fail_fast: bool = False,
    preflight: bool = False,
    seed: int = 0,
    plugins: Plugins | None = None,
    sinks: Sequence[Sink | Plug] = (),
    store: Path | str = ".quintain",
    control: Control | None = None,
    on_report: Callable[[TrialReport], None] | None = None,
) -> RunResult:
    """Run cases and keep the evidence. Works on asyncio and trio.

    Args:
        cases: the tasks; assertions may be functions wrapped by `quintain.check`.
        driver: a declaration, one with its configuration (`my_driver(model="m")`), or the name of an installed one.
        answerer: who answers questions: a function, a declaration, or the name of an installed one. "deny" refuses.
        profiles: ways to run side by side, instead of `driver` and `answerer`.
        repeat: repetitions of each case.
        concurrency: trials at once.
        limits: bounds of one attempt.
        retry: what to do about infrastructure failures.
        isolation: what the agent may see.
        fail_fast: begin no new trial after one that is not passed.
        preflight: try each way to run before the first trial, if its driver says how; one that does not work stops the
            run.
        seed: of the first repetition.
        plugins: where names come from; the installed ones if not given.
        sinks: told what happens.
        store: directory that keeps runs and their evidence.
        control: stops the run from outside.
        on_report: told of each report after it is stored.

    Returns:
        The summary, and the way to the reports.

    Raises:
        QuintainError: something in the arguments can't be run; nothing has been spent then.
    """
    known = _known(plugins)
    if profiles and driver is not None:
        raise UsageError("give either `driver` or `profiles`")
    if not profiles:
        if driver is None:
            raise UsageError("a driver is needed to run cases")
        driver_plug, known = _driver_plug(driver, known)
        answerer_plug, known = _answerer_plug(answerer, known)
        profiles = (
            Profile(
                name="default",
                driver=driver_plug,
                answerer=answerer_plug,
                limits=limits or Limits(),
                retry=retry or Retry(),
                isolation=isolation or Isolation(),
            ),
        )
    ready, known = with_checks(cases, known)
    plan = make_plan(ready, profiles, known, BlobStore(Path(store) / "blobs"), repeat=repeat, seed=seed)
    settings = Settings(
        store=Path(store),
        concurrency=concurrency,
        fail_fast=fail_fast,
        preflight=preflight,
        sinks=tuple(sink for sink in sinks if isinstance(sink, Plug)),
        own_sinks=tuple(sink for sink in sinks if isinstance(sink, Sink)),
        command="quintain.run",
    )
    return await run_plan(plan, known, settings, control=control, on_report=on_report)


def run_sync(cases: Iterable[Case], **options: Any) -> RunResult:
    """`run` for scripts and notebooks; takes the same arguments. Also works where an event loop is already running."""
    try:
        import asyncio

        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(lambda: run(cases, **options))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, lambda: run(cases, **options)).result()


async def run_campaign(
    campaign: Campaign,
    *,
    plugins: Plugins | None = None,
    store: Path | str = ".quintain",
    concurrency: int = 4,
    resume: Path | str | None = None,
    reuse: Iterable[Path | str] = (),
    control: Control | None = None,
    on_trial: Callable[[Settlement], Awaitable[None]] | None = None,
    preflight: bool = True,
) -> CampaignResult:
    """Compare candidates with the baseline under one budget and one identity. Works on asyncio and trio.

    Args:
        campaign: what is measured and how it is decided.
        plugins: where drivers, answerers and assertions come from; the installed ones if not given.
        store: directory that keeps campaigns and their evidence.
        concurrency: trials at once.
        resume: directory of the same campaign, to go on where it was left.
        reuse: directories of campaigns in the same store; their trials are taken where everything is equal.
        control: stops it from outside.
        on_trial: told of each trial after it is settled.
        preflight: try each way to run before the first trial, if its driver says how; one that does not work stops it.

    Returns:
        The decision, and the way to the evidence.

    Raises:
        QuintainError: it can't be run, or is not the campaign that is to be resumed; nothing has been spent then.
    """
    from quintain.authoring.campaign_file import check_campaign
    from quintain.campaign.metrics import METRICS
    from quintain.campaign.prepare import prepare_campaign
    from quintain.campaign.session import CampaignSettings, run_session

    check_campaign(campaign, METRICS)
    known = _known(plugins)
    settings = CampaignSettings(
        store=Path(store),
        concurrency=concurrency,
        command="quintain.run_campaign",
        reuse=tuple(map(Path, reuse)),
        preflight=preflight,
    )
    if on_trial is not None:
        settings = evolve(settings, heard=on_trial)
    ready = await prepare_campaign(campaign, known, settings.store, settings.host)
    directory = Path(resume) if resume is not None else None
    return await run_session(ready, known, settings, directory=directory, control=control)


def _known(plugins: Plugins | None) -> Plugins:
    """The plugins that a program chose, or the installed ones; refusing every question is always among them."""
    known = plugins if plugins is not None else Plugins.from_entry_points()
    return known if "deny" in known.names("answerer") else known.with_(DENY)


def _driver_plug(driver: DriverSpec[Any] | Bound[Any] | str, plugins: Plugins) -> tuple[Plug, Plugins]:
    if isinstance(driver, str):
        return Plug(driver), plugins
    if isinstance(driver, Bound):
        config: Mapping[str, Any] = to_plain(driver.config)
        return Plug(driver.spec.name, config), plugins.with_(driver.spec)
    return Plug(driver.name), plugins.with_(driver)


def _answerer_plug(answerer: AnswererSpec[Any] | AnswerFunction | str, plugins: Plugins) -> tuple[Plug, Plugins]:
    if isinstance(answerer, str):
        return Plug(answerer), plugins
    spec = answerer if isinstance(answerer, AnswererSpec) else answerer_of(answerer)
    return Plug(spec.name), plugins.with_(spec)
