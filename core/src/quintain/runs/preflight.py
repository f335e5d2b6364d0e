"""Tries each way to run with a small task of its driver, before anything is spent on the user's.

The task goes through the ordinary engine, so what fails here would have failed in every trial: an agent that does not
start, can't reach its model, is served another, or whose own sandbox refuses every command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from attrs import evolve, frozen

from quintain.errors import ungrouped
from quintain.identity.canonical import digest
from quintain.model.case import Case
from quintain.model.codec import to_plain
from quintain.model.events import ToolResult, Traced
from quintain.model.outcome import OutcomeKind
from quintain.model.project import Profile
from quintain.model.trial import TrialOrder, TrialReport
from quintain.model.usage import NO_SPEND, Spend
from quintain.plugins import Plugins
from quintain.process import Keepers
from quintain.runs.bench import open_bench
from quintain.runs.checks import with_checks
from quintain.runs.diagnosis import advice_for, problems_of
from quintain.runs.tables import trial_file_name
from quintain.trial.bench import Bench, nobody
from quintain.trial.fixtures import Fixtures
from quintain.trial.prepare import Prepared, prepare_order, structure
from quintain.trial.trace import EvidencePlace
from quintain.trial.trial import run_trial
from quintain.workspace.area import Areas
from quintain.workspace.blobs import BlobStore

FOLDER = "preflight"
"""Where the evidence of a preflight lies in the directory of its run."""


@frozen
class Flight:
    """One way to run that is to be tried.

    Attributes:
        profiles: names of the profiles that run so.
        order: its case is the driver's; if there is none, that of a trial.
        prepared: its plugins, or None if there is nothing to try.
    """

    profiles: tuple[str, ...]
    order: TrialOrder
    prepared: Prepared | None

    @property
    def name(self) -> str:
        """Of the trial that it is."""
        return self.order.trial


@frozen
class Preflight:
    """What came of a flight.

    Attributes:
        flight: what was tried.
        report: of its trial, or None if there was nothing to try.
        problems: why it does not work, one sentence each.
        advice: what to do about them.
        evidence: directory in which its events and protocol are kept.
    """

    flight: Flight
    report: TrialReport | None = None
    problems: tuple[str, ...] = ()
    advice: str = ""
    evidence: Path | None = None

    @property
    def failed(self) -> bool:
        """It does not work, and nobody stopped it before that could be known."""
        return bool(self.problems) and not self.cancelled

    @property
    def cancelled(self) -> bool:
        """It was ended from outside."""
        return self.report is not None and self.report.outcome.kind is OutcomeKind.CANCELLED

    @property
    def spend(self) -> Spend:
        """What it cost."""
        return self.report.spend.total if self.report is not None else NO_SPEND

    @property
    def duration_s(self) -> float:
        """Seconds that it took."""
        return self.report.duration_s if self.report is not None else 0.0

    def describe(self) -> str:
        """One line for people."""
        who = f"{_profiles(self.flight.profiles)} (driver {self.flight.order.driver.name})"
        if self.report is None:
            return f"{who}: its driver declares nothing to try"
        tokens = self.spend.tokens
        spent = f"{tokens.total} tokens" if tokens is not None else "tokens unknown"
        took = f"{self.duration_s:.1f} s, {spent}, cost {self.spend.cost.describe()}"
        if self.cancelled:
            return f"{who}: stopped before it was known ({took})"
        return f"{who}: {'works' if not self.failed else '; '.join(self.problems)} ({took})"


def failure_of(preflights: Iterable[Preflight]) -> str | None:
    """Why nothing should be run, naming profiles, reasons and what to do; None if every way works."""
    failed = [one for one in preflights if one.failed]
    if not failed:
        return None
    parts = []
    for one in failed:
        kept = f" Its evidence is in {one.evidence}." if one.evidence is not None else ""
        parts.append(f"{_profiles(one.flight.profiles)}: {'; '.join(one.problems)}. {one.advice}{kept}")
    return f"the preflight failed, so no trial was begun. {' '.join(parts)}"


def _profiles(names: Sequence[str]) -> str:
    return f"profile{'s' if len(names) > 1 else ''} {', '.join(names)}"


def order_of(profile: Profile) -> TrialOrder:
    """An order without a task, to try a profile that no case is planned for."""
    return TrialOrder(
        trial=FOLDER,
        case=Case(FOLDER, ""),
        profile=profile.name,
        driver=profile.driver,
        answerer=profile.answerer,
        limits=profile.limits,
        retry=profile.retry,
        isolation=profile.isolation,
    )


def flights_of(orders: Iterable[TrialOrder], plugins: Plugins) -> tuple[Flight, ...]:
    """The distinct ways to run among some orders: driver with its configuration, answerer, isolation.

    Args:
        orders: what is to run; of each way the first counts.
        plugins: where plugins come from.

    Raises:
        QuintainError: a driver or a configuration is wrong.
    """
    found: dict[str, TrialOrder] = {}
    profiles: dict[str, dict[str, None]] = {}
    for order in orders:
        key = digest(to_plain((order.driver, order.answerer, order.isolation, order.subject)))
        found.setdefault(key, order)
        profiles.setdefault(key, {})[order.profile] = None
    return tuple(
        _flight(order, tuple(profiles[key]), number, plugins) for number, (key, order) in enumerate(found.items(), 1)
    )


def _flight(order: TrialOrder, profiles: tuple[str, ...], number: int, plugins: Plugins) -> Flight:
    name = f"{FOLDER}@{order.profile}#{number}"
    driver = plugins.driver(order.driver.name)
    if driver.preflight is None:
        return Flight(profiles, evolve(order, trial=name), None)
    where = f"profile {order.profile}: driver.config"
    config = structure(order.driver.config, driver.config, lambda key: ".".join((where, *map(str, key))))
    (case,), known = with_checks([driver.preflight(config)], plugins)
    mine = evolve(
        order,
        trial=name,
        case=evolve(case, id=FOLDER, driver=None, answerer=None),
        repetition=1,
        fixtures=None,
        hidden=None,
        limits=case.limits.over(order.limits),
    )
    return Flight(profiles, mine, prepare_order(mine, known))


async def fly(flight: Flight, bench: Bench, folder: Path) -> Preflight:
    """Try one way to run.

    Args:
        flight: what to try.
        bench: where to run it; what it says of evidence is not heeded.
        folder: where the evidence is kept; it is made.

    Raises:
        QuintainError: the fixtures of the driver's case can't be read.
    """
    if flight.prepared is None:
        return Preflight(flight)
    results: list[ToolResult] = []
    places: list[EvidencePlace] = []

    def evidence(trial: str, attempt: int) -> EvidencePlace:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        places.append(EvidencePlace(f"{folder}/{trial_file_name(trial)}.{attempt}"))
        return places[-1]

    def listen(trial: str, traced: Traced) -> None:
        if isinstance(traced.event, ToolResult):
            results.append(traced.event)

    fixtures = await anyio.to_thread.run_sync(Fixtures.capture, flight.order.case, bench.blobs)
    own = evolve(bench, evidence=evidence, attempt_began=nobody, listen=listen)
    report = await run_trial(flight.order, flight.prepared, fixtures, own)
    await anyio.to_thread.run_sync(partial(_keep, places))
    problems = tuple(problems_of(flight.prepared, report, results))
    advice = advice_for(report.outcome, results) if problems else ""
    return Preflight(flight, report, problems, advice, folder)


async def preflight(
    flights: Sequence[Flight],
    bench: Bench,
    folder: Path,
    *,
    concurrency: int = 4,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Preflight, ...]:
    """Try several ways to run, so many at once, and none once it is stopped; told in their order. See `fly`."""
    found: dict[int, Preflight] = {}
    limit = anyio.CapacityLimiter(concurrency)

    async def one(number: int, flight: Flight) -> None:
        async with limit:
            if stopped():
                return
            found[number] = await fly(flight, bench, folder)

    async with anyio.create_task_group() as group:
        for number, flight in enumerate(flights):
            group.start_soon(one, number, flight)
    return tuple(found[number] for number in sorted(found))


async def preflight_alone(
    flights: Sequence[Flight], plugins: Plugins, blobs: BlobStore, host: Mapping[str, str], folder: Path
) -> tuple[Preflight, ...]:
    """Try several ways to run where nothing else runs.

    Args:
        flights: what to try.
        plugins: where plugins come from.
        blobs: the store of file contents.
        host: environment variables of the host.
        folder: where the evidence is kept.
    """

    def bench(areas: Areas, keepers: Keepers) -> Bench:
        # The flights bring their own place for evidence.
        return Bench(plugins, blobs, lambda trial, attempt: EvidencePlace(""), host, areas, keepers)

    with ungrouped():
        async with open_bench(None, bench) as opened:
            found = await preflight(flights, opened, folder)
    return found


def _keep(places: Sequence[EvidencePlace]) -> None:
    """Write what is small, too: nobody stores it with a report."""
    for place in places:
        for lines in (place.events, place.raw):
            if lines.text:
                # A disk that is full will be told of by the first trial.
                with suppress(OSError):
                    Path(lines.path).write_text(lines.text, encoding="ascii")
