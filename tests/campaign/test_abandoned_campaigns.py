"""A campaign that is left at once, or told to stop, at any instant has told the truth so far and goes on later."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.from_thread
import pytest
from attrs import evolve
from campaign.campaigns import USD, Agent, campaign_in, plugins_with, run, state_of
from quintain.api import run_campaign
from quintain.campaign.directory import campaign_names
from quintain.campaign.session import CampaignResult
from quintain.campaign.verify import verify
from quintain.model.campaign import Budget, Campaign, Stopping
from quintain.model.trial import Allowance
from quintain.runs.control import Control
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


@pytest.mark.parametrize("number", (4, 9, 13))
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
