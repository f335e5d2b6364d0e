"""Trials of earlier campaigns are taken whole and unchanged, or not at all."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from campaign.campaigns import Agent, Loud, campaign_in, plugins_with, run, state_of
from quintain.api import run_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.session import CampaignResult
from quintain.campaign.verify import verify
from quintain.errors import StoreError, UsageError
from quintain.model.campaign import Campaign
from quintain.model.limits import Retry
from quintain.model.outcome import Failure
from quintain.runs.store import RunStore
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """What is tested here has nothing to do with event loops."""
    return "asyncio"


async def again(
    campaign: Campaign, agent: Agent, folder: Path, *reuse: Path, resume: Path | None = None
) -> CampaignResult:
    plugins, store = plugins_with(agent), folder / "store"
    return await run_campaign(campaign, plugins=plugins, store=store, reuse=reuse, resume=resume)


def sound(folder: Path, result: CampaignResult) -> bool:
    return verify(result.directory, BlobStore(folder / "store" / "blobs")).problems == ()


async def test_evidence_in_files_of_its_own_is_taken_too_and_stays_when_the_first_campaign_goes(
    tmp_path: Path,
) -> None:
    campaign = campaign_in(tmp_path, cases=1)
    first = await run(campaign, Loud([]), tmp_path)
    agent = Loud([])
    second = await again(evolve(campaign, id="second"), agent, tmp_path, first.directory)
    assert agent.ran == []
    assert state_of(second.directory).spent.attempts == 0
    with closing(Ledger(first.directory)) as one, closing(Ledger(second.directory)) as other:
        for trial in state_of(first.directory).settled:
            for kind in ("events", "raw"):
                assert list(other.store.lines(kind, trial, 1)) == list(one.store.lines(kind, trial, 1))
    for path in first.directory.rglob("*"):
        if path.is_file():
            path.unlink()
    assert sound(tmp_path, second)
    assert second.decision.verdict == first.decision.verdict


async def test_of_two_campaigns_with_the_same_trials_the_first_is_taken_and_each_trial_once(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, cases=2)
    one = await run(campaign, Agent([]), tmp_path)
    two = await run(evolve(campaign, id="two"), Agent([]), tmp_path)
    agent = Agent([])
    third = await again(evolve(campaign, id="three"), agent, tmp_path, two.directory, one.directory)
    assert agent.ran == []
    taken = [settled.reused or "" for settled in state_of(third.directory).settled.values()]
    assert len(taken) == 12
    assert all(name.startswith(two.directory.name) for name in taken)
    fourth = await again(evolve(campaign, id="four"), agent, tmp_path, third.directory)
    assert agent.ran == []
    assert sound(tmp_path, fourth)


async def test_a_trial_without_a_verdict_is_not_taken(tmp_path: Path) -> None:
    broken = "best:validation/0@default#1"
    campaign = campaign_in(tmp_path, cases=2)
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=Retry(attempts=1)),))
    failing = Agent([], lambda launch: Failure.NETWORK if launch.trial == broken else None)
    first = await run(campaign, failing, tmp_path)
    assert first.status == "incomplete"
    agent = Agent([])
    second = await again(evolve(campaign, id="second"), agent, tmp_path, first.directory)
    assert agent.ran == [broken]
    assert sound(tmp_path, second)


async def test_a_trial_that_failed_here_is_taken_when_it_is_resumed(tmp_path: Path) -> None:
    broken = "best:validation/0@default#1"
    campaign = campaign_in(tmp_path, cases=2)
    campaign = evolve(
        campaign, profiles=(evolve(campaign.profiles[0], retry=Retry(attempts=2, base_s={"network": 0.01})),)
    )
    first = await run(campaign, Loud([]), tmp_path)
    failing = Loud([], lambda launch: Failure.NETWORK if launch.trial == broken else None)
    mine = await run(evolve(campaign, id="mine"), failing, tmp_path)
    assert mine.status == "incomplete"
    spent = state_of(mine.directory).spent
    agent = Agent([])
    mine = await again(evolve(campaign, id="mine"), agent, tmp_path, first.directory, resume=mine.directory)
    assert (mine.status, agent.ran) == ("finished", [])
    assert state_of(mine.directory).spent == spent
    assert sound(tmp_path, mine)


class Cut(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("number", [4, 6])
async def test_who_is_killed_while_taking_takes_the_rest_afterwards(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_in(tmp_path, cases=1)
    first = await run(campaign, Loud([]), tmp_path)
    real, seen = RunStore._write, []

    def write(store: RunStore, batch: object) -> None:
        seen.append(1)
        if len(seen) == number + 1:
            raise Cut
        real(store, batch)  # type: ignore[arg-type]  # as it was given

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "_write", write)
        with pytest.raises(Cut):
            await again(evolve(campaign, id="second"), Agent([]), tmp_path, first.directory)
    (directory,) = (path for path in (tmp_path / "store" / "campaigns").glob("*-second-*"))
    agent = Agent([])
    second = await again(evolve(campaign, id="second"), agent, tmp_path, first.directory, resume=directory)
    assert (second.status, agent.ran) == ("finished", [])
    assert sound(tmp_path, second)
    with closing(Ledger(first.directory)) as one, closing(Ledger(second.directory)) as other:
        for trial in state_of(first.directory).settled:
            assert list(other.store.lines("events", trial, 1)) == list(one.store.lines("events", trial, 1))


def edited_report(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "run.db")) as db, db:
        db.execute("UPDATE trials SET report = replace(report, 'completed', 'completed ')")


def edited_events(directory: Path) -> None:
    for path in directory.glob("trials/*.events.jsonl"):
        path.write_text(path.read_text().replace("much", "less"))


def removed_events(directory: Path) -> None:
    for path in directory.glob("trials/*.events.jsonl"):
        path.unlink()


@pytest.mark.parametrize("damage", [edited_report, edited_events, removed_events])
async def test_what_was_changed_is_not_taken_and_nothing_is_spent(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    campaign = campaign_in(tmp_path, cases=1)
    first = await run(campaign, Loud([]), tmp_path)
    damage(first.directory)
    agent = Agent([])
    with pytest.raises(StoreError, match=first.directory.name):
        await again(evolve(campaign, id="second"), agent, tmp_path, first.directory)
    assert agent.ran == []
    (directory,) = (path for path in (tmp_path / "store" / "campaigns").glob("*-second-*"))
    second = await again(evolve(campaign, id="second"), agent, tmp_path, resume=directory)
    assert second.status == "finished"
    assert set(Counter(agent.ran).values()) == {1}
    assert sound(tmp_path, second)


async def test_a_campaign_of_another_store_is_refused(tmp_path: Path) -> None:
    first = await run(campaign_in(tmp_path, cases=1), Agent([]), tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="same store"):
        await again(campaign_in(tmp_path, cases=1), Agent([]), tmp_path, first.directory)
    assert not (tmp_path / "store" / "campaigns").exists()
