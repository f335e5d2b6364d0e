"""A campaign that is left at once, or told to stop, at any instant has told the truth so far and goes on later."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest
from attrs import evolve
from campaign.campaigns import USD, Agent, campaign_in, plugins_with, run, state_of
from quintain.api import run_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.session import CampaignResult
from quintain.campaign.verify import verify
from quintain.errors import UsageError
from quintain.model.campaign import Budget, Campaign, Stopping
from quintain.model.limits import Retry
from quintain.model.outcome import Failure
from quintain.model.trial import Allowance
from quintain.runs.control import Control
from quintain.runs.history import campaign_names
from quintain.runs.store import RunStore
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


def sound(folder: Path, directory: Path) -> bool:
    return verify(directory, BlobStore(folder / "store" / "blobs")).problems == ()


def told(result: CampaignResult) -> object:
    decision = result.decision
    standings = [(one.candidate, one.rank, one.scored, one.effects) for one in decision.standings]
    return standings, decision.verdict, decision.candidate, decision.why, decision.confirmed


def small(folder: Path) -> Campaign:
    return campaign_in(folder, cases=2, test=2)


async def cut_in_write(
    folder: Path, agent: Agent, number: int, stop: Callable[[Control], None], scope: anyio.CancelScope
) -> CampaignResult | None:
    """Run a campaign and stop it while its thread is busy with one write of the ledger."""
    real, counted, control = RunStore._write, itertools.count(), Control()

    def write(store: RunStore, batch: object) -> None:
        if next(counted) == number:
            anyio.from_thread.run_sync(stop, control)
        real(store, batch)  # type: ignore[arg-type]  # as it was given

    with pytest.MonkeyPatch.context() as patch, scope:
        patch.setattr(RunStore, "_write", write)
        return await run_campaign(
            small(folder), plugins=plugins_with(agent), store=folder / "store", control=control, concurrency=3
        )
    return None


@pytest.mark.parametrize("number", [4, 9, 13])
@pytest.mark.parametrize("how", ["drain", "end", "abandon", "cancel"])
async def test_whoever_stops_it_during_whatever_write_finds_the_truth_and_goes_on(
    tmp_path: Path, how: str, number: int
) -> None:
    agent, scope = Agent([]), anyio.CancelScope()

    def stop(control: Control) -> None:
        if how == "drain":
            control.drain("interrupted", "enough")
        elif how == "end":
            control.end_trials("enough")
        elif how == "abandon":
            control.abandon()
        else:
            scope.cancel()

    result = await cut_in_write(tmp_path, agent, number, stop, scope)
    (name,) = campaign_names(tmp_path / "store")
    directory = tmp_path / "store" / "campaigns" / name
    state = state_of(directory)
    assert sound(tmp_path, directory)
    assert state.looks.get("test", 0) == (1 if state.status == "finished" else 0)
    if state.status == "finished":
        return
    assert result is None or result.status == "interrupted"
    assert len(agent.ran) <= state.spent.attempts + sum(charge.attempts for charge in state.open.values())
    verdicts = {trial for trial, settled in state.settled.items() if settled.figures.scored}
    result = await run(small(tmp_path), agent, tmp_path, resume=directory)
    assert result.status == "finished"
    assert all(Counter(agent.ran)[trial] == 1 for trial in verdicts)
    assert state_of(directory).looks["test"] == 1
    assert sound(tmp_path, directory)
    whole = await run(small(tmp_path / "whole"), Agent([]), tmp_path / "whole", concurrency=1)
    assert told(result) == told(whole)


@pytest.mark.parametrize("anytime", [False, True])
async def test_the_decision_is_the_same_however_many_run_at_once_and_however_often_it_is_taken_up(
    tmp_path: Path, anytime: bool
) -> None:
    bound = {"default": Allowance(usd=USD)}
    found = []
    for folder, rounds in (
        (tmp_path / "one", [(1.0, 1)]),
        (tmp_path / "many", [(0.1, 8), (0.2, 3), (0.31, 1), (1.0, 5)]),
    ):
        agent, directory = Agent([]), None
        campaign = campaign_in(folder, cases=10, test=3, stopping=Stopping(anytime=anytime))
        for usd, concurrency in rounds:
            campaign = evolve(campaign, budget=Budget(usd=usd, bounds=bound))
            result = await run(campaign, agent, folder, resume=directory, concurrency=concurrency)
            directory = result.directory
            assert state_of(directory).spent.usd <= usd + 1e-12
            assert sound(folder, directory)
        assert result.status == "finished"
        assert set(Counter(agent.ran).values()) == {1}
        decision = result.decision
        found.append(
            (
                decision.verdict,
                decision.candidate,
                [(one.candidate, one.rank, one.effects) for one in decision.standings],
                decision.confirmed,
            )
        )
    assert found[0] == found[1]


async def test_a_campaign_that_is_running_is_sound_at_any_instant(tmp_path: Path) -> None:
    blobs, looked, over = BlobStore(tmp_path / "store" / "blobs"), [], anyio.Event()

    async def look() -> None:
        while not over.is_set():
            for directory in (tmp_path / "store" / "campaigns").glob("[!.]*"):
                looked.append((await anyio.to_thread.run_sync(verify, directory, blobs)).problems)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        result = await run(campaign_in(tmp_path, cases=25), Agent([]), tmp_path)
        over.set()
    assert len(looked) > 3
    assert set(looked) == {()}
    assert sound(tmp_path, result.directory)


async def test_the_test_split_is_looked_at_once_however_many_trials_of_it_are_missing(tmp_path: Path) -> None:
    broken = {"baseline:test/1@default#1", "best:test/3@default#2"}
    agent = Agent([], lambda launch: Failure.NETWORK if launch.trial in broken else None)
    campaign = campaign_in(tmp_path, cases=3, test=4)
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=Retry(attempts=1)),))
    result = await run(campaign, agent, tmp_path)
    # Too few for a decision: nobody looks.
    assert result.status == "incomplete"
    assert "test" not in result.decision.looks
    assert result.decision.confirmed == ()
    lenient = evolve(campaign, coverage=0.5)
    other = await run(lenient, evolve(agent, ran=[]), tmp_path / "lenient")
    # Enough, with some missing: it is decided, and that is final.
    assert other.status == "finished"
    assert other.decision.looks["test"] == 1
    assert sum(one.missing for one in other.decision.standings) == 2
    with pytest.raises(UsageError, match="it is finished"):
        await run(lenient, agent, tmp_path / "lenient", resume=other.directory)
    broken.clear()
    result = await run(campaign, agent, tmp_path, resume=result.directory)
    assert (result.status, result.decision.looks["test"]) == ("finished", 1)
    assert sound(tmp_path, result.directory)


async def test_the_time_of_all_sessions_is_one_budget_and_the_time_between_them_is_none(tmp_path: Path) -> None:
    agent = Agent([])
    campaign = campaign_in(tmp_path, budget=Budget(trials=5))
    result = await run(campaign, agent, tmp_path, concurrency=1)
    first = state_of(result.directory).wall_s
    await anyio.sleep(0.3)
    assert state_of(result.directory).wall_s == first
    timed = evolve(campaign, budget=Budget(wall_s=first))
    result = await run(timed, agent, tmp_path, resume=result.directory, concurrency=1)
    assert result.status == "budget"
    assert "budget.wall_s" in (result.reason or "")
    assert len(agent.ran) == 5
    assert first <= state_of(result.directory).wall_s
    more = evolve(campaign, budget=Budget(wall_s=first + 600))
    result = await run(more, agent, tmp_path, resume=result.directory, concurrency=1)
    assert result.status == "finished"


async def test_a_candidate_that_is_found_better_early_is_confirmed_by_the_test_split(tmp_path: Path) -> None:
    agent = Agent([])
    campaign = campaign_in(tmp_path, cases=40, test=12, stopping=Stopping(anytime=True))
    result = await run(campaign, agent, tmp_path)
    state = state_of(result.directory)
    assert "better" in state.stopped["best"]
    counts = Counter(tuple(trial.replace(":", "/").split("/")[:2]) for trial in agent.ran)
    assert counts["best", "validation"] < 80
    assert counts["best", "test"] == counts["baseline", "test"] == 24
    assert (result.status, result.decision.candidate, state.looks["test"]) == ("finished", "best", 1)
    assert sound(tmp_path, result.directory)


async def test_a_candidate_that_is_given_up_while_its_next_trial_is_promised_does_not_run_it(tmp_path: Path) -> None:
    agent = Agent([])
    campaign = campaign_in(tmp_path, cases=40, stopping=Stopping(anytime=True))
    result = await run(campaign, agent, tmp_path, concurrency=1)
    with closing(Ledger(result.directory)) as ledger:
        entries = list(ledger.entries("stopped", "settled", "reserved", "released"))
    for stop in [entry for entry in entries if entry.kind == "stopped"]:
        later = [entry.kind for entry in entries if entry.seq > stop.seq and entry.name.startswith(f"{stop.name}:")]
        assert set(later) <= {"released"}
    assert state_of(result.directory).open == {}
