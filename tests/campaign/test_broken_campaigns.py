"""Campaigns that are cut off between any two of their writes, or whose writes fail, go on as if nothing had been."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve
from campaign.campaigns import Agent, Loud, campaign_in, run, state_of
from quintain.campaign.ledger import Ledger
from quintain.campaign.session import CampaignResult
from quintain.campaign.verify import verify
from quintain.errors import StoreError, UsageError
from quintain.model.campaign import Budget, Campaign, Repetitions, Variant
from quintain.model.events import Ready
from quintain.model.trial import Allowance
from quintain.model.usage import Cost
from quintain.runs.history import campaign_names
from quintain.runs.store import RunStore
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


class Cut(BaseException):
    """The process is gone."""


def only(folder: Path) -> Path:
    (name,) = campaign_names(folder / "store")
    return folder / "store" / "campaigns" / name


def sound(folder: Path, result: CampaignResult) -> None:
    assert verify(result.directory, BlobStore(folder / "store" / "blobs")).problems == ()


@contextmanager
def write_number(number: int, fault: Callable[[], None], *, after: bool = False) -> Iterator[list[int]]:
    """One write of the ledger, counted from 0, meets a fault before or after it; yields how many writes there were."""
    real, seen = RunStore._write, [0]

    def write(store: RunStore, batch: Any) -> None:
        mine = seen[0]
        seen[0] += 1
        if not after and (mine == number or (fault is full and mine > number)):
            fault()
        real(store, batch)
        if after and mine == number:
            fault()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunStore, "_write", write)
        yield seen


def cut() -> None:
    raise Cut


def full() -> None:
    """From now on."""
    raise sqlite3.OperationalError("database or disk is full")


def locked() -> None:
    """Once."""
    raise sqlite3.OperationalError("database is locked")


def small(folder: Path) -> Campaign:
    best = Variant("best", text={"prompt.md": "1"})
    return campaign_in(folder, cases=1, test=1, variants=(best,), repetitions=Repetitions(search=1, promotion=1))


def told(result: CampaignResult) -> object:
    """What a campaign came to; a session that was stopped has looked once more, and paid for what was cut off."""
    decision = result.decision
    standings = [(one.candidate, one.rank, one.scored, one.missing, one.effects) for one in decision.standings]
    return standings, decision.verdict, decision.candidate, decision.why, decision.confirmed


@pytest.mark.parametrize(
    ("fault", "after"),
    [(cut, False), (cut, True), (full, False), (locked, False)],
    ids=lambda one: getattr(one, "__name__", None),
)
async def test_whatever_write_is_the_last_the_campaign_ends_the_same(
    tmp_path: Path, fault: Callable[[], None], after: bool
) -> None:
    whole = tmp_path / "whole"
    with write_number(10**6, fault, after=after) as seen:
        expected = told(await run(small(whole), Agent([]), whole, concurrency=1))
    for number in range(seen[0]):
        folder, agent = tmp_path / str(number), Agent([])
        with write_number(number, fault, after=after), pytest.raises(Cut if fault is cut else StoreError):
            await run(small(folder), agent, folder, concurrency=1)
        directory = only(folder)
        before = state_of(directory)
        assert len(agent.ran) <= before.spent.attempts + sum(one.attempts for one in before.open.values())
        result = await run(small(folder), agent, folder, resume=directory, concurrency=1)
        assert (result.status, told(result)) == ("finished", expected)
        assert state_of(directory).looks["test"] == 1
        again = {name for name, count in Counter(agent.ran).items() if count > 1}
        assert again.isdisjoint(before.settled)
        assert len(again) <= 1
        sound(folder, result)


async def test_a_campaign_that_is_refused_is_not_touched(tmp_path: Path) -> None:
    campaign, agent = campaign_in(tmp_path, cases=2, budget=Budget(trials=2)), Agent([])
    result = await run(campaign, agent, tmp_path)
    before = {path: path.read_bytes() for path in result.directory.rglob("*") if path.is_file()}
    with pytest.raises(UsageError):
        await run(evolve(campaign, alpha=0.3), agent, tmp_path, resume=result.directory)
    assert {path: path.read_bytes() for path in result.directory.rglob("*") if path.is_file()} == before
    sound(tmp_path, result)
    result = await run(evolve(campaign, budget=Budget()), agent, tmp_path, resume=result.directory)
    assert result.status == "finished"
    before = {path: path.read_bytes() for path in result.directory.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="finished"):
        await run(campaign, agent, tmp_path, resume=result.directory)
    assert {path: path.read_bytes() for path in result.directory.rglob("*") if path.is_file()} == before
    sound(tmp_path, result)


@pytest.mark.parametrize("number", range(3, 9))
async def test_nobody_waits_for_the_promise_of_a_trial_that_could_not_be_written(tmp_path: Path, number: int) -> None:
    agent = Agent([], cost=Cost.known(0.001))
    # Two fit at once and a third waits; once one is settled, the next fits.
    campaign = campaign_in(tmp_path, budget=Budget(usd=0.0215, bounds={"default": Allowance(usd=0.01)}))
    with write_number(number, full), anyio.fail_after(60), pytest.raises(StoreError, match="disk is full"):
        await run(campaign, agent, tmp_path, concurrency=3)
    more = evolve(campaign, budget=Budget(usd=1.0, bounds={"default": Allowance(usd=0.01)}))
    result = await run(more, agent, tmp_path, resume=only(tmp_path), concurrency=3)
    assert result.status == "finished"
    sound(tmp_path, result)


@pytest.mark.parametrize("second", [Loud, Agent])
async def test_evidence_of_an_attempt_that_was_cut_off_is_no_part_of_the_one_that_follows(
    tmp_path: Path, second: type[Agent]
) -> None:
    with write_number(4, cut), pytest.raises(Cut):
        await run(small(tmp_path), Loud([]), tmp_path, concurrency=1)
    directory = only(tmp_path)
    assert [path.stat().st_size > 100_000 for path in directory.glob("trials/*.events.jsonl")] == [True]
    (trial,) = state_of(directory).open
    result = await run(small(tmp_path), second([]), tmp_path, resume=directory, concurrency=1)
    with closing(Ledger(directory)) as ledger:
        events = [line.event for line in ledger.store.trace(trial, 1)]
    assert sum(isinstance(event, Ready) for event in events) == 1
    assert len(list(directory.glob("trials/*"))) == (0 if second is Agent else 4)
    sound(tmp_path, result)


@pytest.mark.parametrize("number", [1, 3])
async def test_a_later_session_that_is_cut_off_is_not_accused_of_what_an_earlier_seal_says(
    tmp_path: Path, number: int
) -> None:
    agent, bounded = Agent([]), evolve(small(tmp_path), budget=Budget(trials=1))
    first = await run(bounded, agent, tmp_path, concurrency=1)
    sound(tmp_path, first)
    with write_number(number, cut, after=True), pytest.raises(Cut):
        await run(small(tmp_path), agent, tmp_path, resume=first.directory, concurrency=1)
    assert state_of(first.directory).status == "running"
    sound(tmp_path, first)
    result = await run(small(tmp_path), agent, tmp_path, resume=first.directory, concurrency=1)
    assert result.status == "finished"
    sound(tmp_path, result)
