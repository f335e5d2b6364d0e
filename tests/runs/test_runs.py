"""Many trials: planned, counted, stopped, stored, found and graded again."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import quintain
from quintain import (
    Case,
    Control,
    Done,
    Event,
    Failed,
    Failure,
    Launch,
    Limits,
    OutcomeKind,
    Plugins,
    Ready,
    Retry,
    Sink,
)
from quintain.errors import AuthoringError, StoreError, UsageError
from quintain.model.events import Traced
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport
from quintain.runs.history import find_run, find_trial, list_runs, run_names
from quintain.runs.regrade import regrade
from quintain.runs.run import RunResult
from quintain.runs.store import RunStore
from quintain.runs.tables import trial_file_name
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


async def ok(launch: Launch) -> str:
    return "ok"


async def run(cases: Any, store: Path, agent: Any = ok, **options: Any) -> RunResult:
    options.setdefault("plugins", Plugins())
    options.setdefault("retry", Retry(attempts=1))
    options.setdefault("limits", Limits(linger_s=0.3, grace_s=0.3))
    return await quintain.run(cases, driver=quintain.driver_of(agent), store=store, **options)


def case(id: str, passes: bool = True) -> Case:
    return Case(id, "x", assertions=(quintain.check(lambda evidence: passes, id="check"),))


async def test_every_case_runs_as_often_as_asked_and_all_once_before_any_again(tmp_path: Path) -> None:
    order: list[tuple[str, int]] = []

    async def agent(launch: Launch) -> str:
        order.append((launch.case.id, launch.seed))
        return "ok"

    result = await run([case("a"), case("b")], tmp_path, agent, repeat=3, concurrency=1)
    assert order == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert result.passed
    assert [report.trial for report in result.reports()][:2] == ["a@default#1", "b@default#1"]


@pytest.mark.parametrize("concurrency", [1, 4, 16])
async def test_the_summary_does_not_depend_on_concurrency(tmp_path: Path, concurrency: int) -> None:
    async def agent(launch: Launch) -> str:
        await anyio.sleep(0.001 * (hash(launch.trial) % 5))
        return "ok"

    result = await run(
        [case(f"c{n}", n % 3 != 0) for n in range(10)], tmp_path, agent, repeat=2, concurrency=concurrency
    )
    tally = result.summary.tally
    assert (tally.passed, tally.failed, tally.planned) == (12, 8, 20)
    assert [one.case for one in result.summary.cases] == [f"c{n}" for n in range(10)]
    assert result.summary.exit_code == 1


async def test_missing_trials_are_shown_bounded_and_never_a_zero(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        if launch.case.id.startswith("lost"):
            yield Failed("503", failure=Failure.OVERLOAD)
        else:
            yield Done("ok")

    cases = [case(f"good{n}") for n in range(8)] + [case("bad", passes=False), case("lost")]
    tally = (await run(cases, tmp_path, agent, concurrency=4)).summary.tally
    assert tally.rate == 8 / 9
    assert tally.bounds == (0.8, 0.9)
    assert tally.coverage == 0.9
    assert tally.unscored == {"infrastructure": 1}


async def test_only_missing_trials_give_exit_code_3(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Failed("503", failure=Failure.OVERLOAD)

    assert (await run([case("a")], tmp_path, agent)).summary.exit_code == 3


async def test_fail_fast_begins_no_new_trial(tmp_path: Path) -> None:
    result = await run([case("a"), case("b", False), case("c"), case("d")], tmp_path, fail_fast=True, concurrency=1)
    assert result.summary.status == "stopped"
    assert result.summary.tally.not_started == 2
    assert result.summary.exit_code == 1


async def test_repeated_authentication_failures_stop_the_run(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Failed("401 invalid key", failure=Failure.AUTH)

    result = await run([case(f"c{n}") for n in range(20)], tmp_path, agent, concurrency=1)
    assert result.summary.status == "stopped"
    assert result.summary.tally.unscored == {"infrastructure": 3}
    assert "401 invalid key" in (result.summary.reason or "")


async def test_draining_lets_running_trials_finish(tmp_path: Path) -> None:
    control = Control()
    running: list[str] = []
    both = anyio.Event()

    async def agent(launch: Launch) -> str:
        running.append(launch.trial)
        if len(running) == 2:
            both.set()
        await both.wait()
        control.drain("interrupted", "by hand")
        await anyio.sleep(0.05)
        return "ok"

    result = await run([case(f"c{n}") for n in range(9)], tmp_path, agent, concurrency=2, control=control)
    assert (result.summary.tally.passed, result.summary.tally.not_started) == (2, 7)
    assert result.summary.exit_code == 130


async def test_ended_trials_are_cancelled_and_keep_their_evidence(tmp_path: Path) -> None:
    control = Control()

    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(agent="patient")
        control.end_trials("the user interrupted the run")
        await anyio.sleep_forever()

    result = await run([case("a"), case("b")], tmp_path, agent, concurrency=1, control=control)
    (report,) = result.reports()
    assert report.outcome.kind is OutcomeKind.CANCELLED
    assert report.last.agent == Ready(agent="patient")
    assert result.summary.tally.not_started == 1


async def test_an_abandoned_run_leaves_at_once_and_still_sums_up(tmp_path: Path) -> None:
    control = Control()

    async def agent(launch: Launch) -> str:
        control.abandon()
        await anyio.sleep_forever()
        return "ok"

    with anyio.fail_after(20):
        result = await run([case("a")], tmp_path, agent, control=control)
    assert result.summary.exit_code == 130
    assert result.summary.tally.not_started == 1


async def test_nothing_to_run_is_an_error_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to run"):
        await run([], tmp_path)
    assert run_names(tmp_path) == []


async def test_two_cases_of_one_name_are_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match="`a` is used twice"):
        await run([case("a"), case("a")], tmp_path)


async def test_two_runs_at_once_have_directories_of_their_own(tmp_path: Path) -> None:
    results: list[RunResult] = []

    async def one() -> None:
        results.append(await run([case("a")], tmp_path, repeat=5))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(one)
    assert len({result.directory for result in results}) == 4
    assert all(len(list(result.reports())) == 5 for result in results)


async def test_the_store_can_be_shared_by_cases_with_the_same_files(tmp_path: Path) -> None:
    fixtures = tmp_path / "fixtures"
    fixtures.mkdir()
    (fixtures / "a.txt").write_text("hello")

    async def agent(launch: Launch) -> str:
        text: str = (launch.workspace / "a.txt").read_text()
        (launch.workspace / "b.txt").write_text("new")
        return text

    kept = quintain.check(lambda e: e.answer == "hello" and e.files.read("b.txt").data == b"new", id="kept")
    cases = [Case(name, "x", fixtures=fixtures, assertions=(kept,)) for name in ("a", "b")]
    assert (await run(cases, tmp_path / "store", agent, repeat=2)).passed


# sinks


class Recording(Sink):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def run_began(self, run: RunInfo) -> None:
        self.seen.append("run_began")

    async def trial_began(self, order: TrialOrder, attempt: int) -> None:
        self.seen.append(f"began {order.trial}")

    async def event(self, trial: str, traced: Traced) -> None:
        self.seen.append(f"{trial} {type(traced.event).__name__}")

    async def trial_ended(self, report: TrialReport) -> None:
        self.seen.append(f"ended {report.trial}")

    async def run_ended(self, summary: RunSummary) -> None:
        self.seen.append("run_ended")


class Failing(Sink):
    async def trial_ended(self, report: TrialReport) -> None:
        raise RuntimeError("the sink is clogged")


async def test_a_sink_hears_everything_in_order(tmp_path: Path) -> None:
    sink = Recording()
    await run([case("a")], tmp_path, sinks=[sink])
    assert sink.seen[0] == "run_began"
    assert sink.seen[1] == "began a@default#1"
    assert "a@default#1 Done" in sink.seen
    assert sink.seen[-2:] == ["ended a@default#1", "run_ended"]


async def test_a_sink_that_fails_hurts_nobody_and_is_reported_once(tmp_path: Path) -> None:
    sink = Recording()
    result = await run([case("a"), case("b")], tmp_path, sinks=[Failing(), sink])
    assert result.passed
    assert len(result.summary.warnings) == 1
    assert "clogged" in result.summary.warnings[0]
    assert "ended b@default#1" in sink.seen


# the store


async def test_a_run_is_found_by_the_names_people_type(tmp_path: Path) -> None:
    first = await run([case("a"), case("ab")], tmp_path, repeat=2)
    second = await run([case("a")], tmp_path)
    assert find_run(tmp_path, "last").name == max(first.directory.name, second.directory.name)
    assert find_run(tmp_path, first.directory.name) == first.directory
    assert find_run(tmp_path, first.directory.name[-4:]) == first.directory
    with pytest.raises(UsageError, match="no run `nope`"):
        find_run(tmp_path, "nope")
    with pytest.raises(UsageError, match="no run in"):
        find_run(tmp_path / "empty", "last")
    store = RunStore(first.directory)
    assert find_trial(store, "a#2") == "a@default#2"
    assert find_trial(store, "ab@default#1") == "ab@default#1"
    with pytest.raises(UsageError, match="several"):
        find_trial(store, "a")
    store.close()
    assert [info.id for info, summary in list_runs(tmp_path)] == run_names(tmp_path)


async def test_a_finished_run_is_one_plain_file_that_a_read_only_place_can_hold(tmp_path: Path) -> None:
    result = await run([case("a")], tmp_path)
    assert sorted(path.name for path in result.directory.iterdir()) == ["identity.lock", "run.db", "trials"]
    raw = (result.directory / "run.db").read_bytes()
    assert raw[18:20] == b"\x01\x01", "it is still in WAL mode"


async def test_a_damaged_run_is_a_clear_error(tmp_path: Path) -> None:
    result = await run([case("a")], tmp_path)
    path = result.directory / "run.db"
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(StoreError, match=r"run\.db"):
        list(result.reports())
    path.unlink()
    with pytest.raises(StoreError, match="no run here"):
        list(result.reports())


async def test_a_run_of_another_format_is_refused(tmp_path: Path) -> None:
    result = await run([case("a")], tmp_path)
    with sqlite3.connect(result.directory / "run.db") as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    db.close()
    with pytest.raises(StoreError, match="format 99"):
        RunStore(result.directory)


async def test_what_a_killed_run_has_settled_is_there(tmp_path: Path) -> None:
    result = await run([case("a"), case("b")], tmp_path)
    copy = tmp_path / "killed"
    copy.mkdir()
    source = RunStore(result.directory, write=True)
    try:
        (copy / "run.db").write_bytes((result.directory / "run.db").read_bytes())
    finally:
        source.close()
    store = RunStore(copy)
    assert len(list(store.reports())) == 2
    store.close()


@pytest.mark.parametrize("name", ["a@default#1", "a/b@default#1", "a~b@default#1", "../x", ".x", "é☕\n", "x" * 500])
def test_names_of_files_are_safe_and_distinct(name: str) -> None:
    found = trial_file_name(name)
    assert "/" not in found
    assert not found.startswith(".")
    assert len(found) < 200
    assert found.isascii()
    assert found != trial_file_name(name + "x")


# grading again


async def test_grading_again_gives_the_same_grade(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> str:
        (launch.workspace / "made.txt").write_text("made")
        return "ok"

    def made(evidence: quintain.Evidence) -> quintain.Verdict:
        content = evidence.files.read("made.txt").data
        return quintain.Verdict.of(content == b"made" and evidence.answer == "ok", f"found {content!r}")

    spec = quintain.AssertionSpec("made", lambda config, evidence: made(evidence), quick=True)
    plugins = Plugins.of(spec)
    result = await run([Case("a", "x", assertions=(quintain.Assertion("made"),))], tmp_path, agent, plugins=plugins)
    known = plugins.with_(quintain.driver_of(agent), quintain.functions.DENY)  # type: ignore[attr-defined]
    store = RunStore(result.directory, write=True)
    try:
        again = [one async for one in regrade(store, BlobStore(tmp_path / "blobs"), known, host={})]
        (before,) = (report.grade for report in store.reports())
        assert before is not None
        assert again[0].now is not None
        assert (again[0].now.passed, again[0].now.score) == (before.passed, before.score) == (True, 1.0)
        assert again[0].now.identity == before.identity
        assert len(store.gradings("a@default#1")) == 1
    finally:
        store.close()


async def test_the_collector_is_patient_during_a_run_and_as_before_afterwards(tmp_path: Path) -> None:
    import gc

    before, during = gc.get_threshold(), []

    async def agent(launch: Launch) -> str:
        during.append(gc.get_threshold())
        return "ok"

    await run([case("a")], tmp_path, agent)
    assert during[0][0] > before[0]
    assert gc.get_threshold() == before
