"""A damaged campaign is refused with the name of what is wrong, is not made worse, and goes on once it is put right."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from campaign.campaigns import Agent, campaign_in, run
from quintain.campaign.seal import NAME as SEAL
from quintain.campaign.verify import verify
from quintain.contracts.driver import Launch
from quintain.errors import QuintainError
from quintain.identity.cache import DigestCache
from quintain.identity.lock import read_lock, write_lock
from quintain.model.campaign import Budget
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """What is tested here has nothing to do with event loops."""
    return "asyncio"


Damage = Callable[[Path], None]


def gone(name: str) -> Damage:
    return lambda directory: (directory / name).unlink()


def holds(name: str, made: Callable[[bytes], bytes]) -> Damage:
    def damage(directory: Path) -> None:
        path = directory / name
        path.write_bytes(made(path.read_bytes()))

    return damage


def says(statement: str) -> Damage:
    def damage(directory: Path) -> None:
        with closing(sqlite3.connect(directory / "run.db")) as db, db:
            assert db.execute(statement).rowcount

    return damage


def other_lock(directory: Path) -> None:
    tree = dict(read_lock(directory / "identity.lock").tree)
    write_lock(directory / "identity.lock", {**tree, "more": "x"})


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (gone("identity.lock"), r"identity\.lock: there is no identity\.lock here"),
        (holds("identity.lock", lambda data: b""), r"identity\.lock"),
        (holds("identity.lock", lambda data: data[: len(data) // 2]), r"identity\.lock"),
        (holds("identity.lock", lambda data: bytes(255 - byte for byte in data)), r"identity\.lock"),
        (other_lock, "more"),
        (gone("run.db"), "there is no run here"),
        (holds("run.db", lambda data: b""), "small"),
        (holds("run.db", lambda data: data[: len(data) // 2]), "small"),
        (holds("run.db", lambda data: data[:100]), "small"),
        (holds("run.db", lambda data: os.urandom(len(data))), r"run\.db"),
        (says("DELETE FROM entries WHERE seq = 3"), "entry 3 of the ledger"),
        (
            says("UPDATE entries SET body = replace(body, '0.01', '0.00') WHERE kind = 'settled'"),
            "entry . of the ledger",
        ),
        (says("UPDATE entries SET body = 'x' WHERE seq = 2"), "ledger"),
        (says("DROP TABLE entries"), "not a campaign"),
    ],
)
async def test_what_is_damaged_is_refused_and_goes_on_when_it_is_mended(
    tmp_path: Path, damage: Damage, named: str
) -> None:
    campaign, agent = campaign_in(tmp_path, cases=3, budget=Budget(trials=5)), Agent([])
    directory = (await run(campaign, agent, tmp_path, concurrency=1)).directory
    whole = evolve(campaign, budget=Budget())
    shutil.copytree(directory, tmp_path / "kept")
    damage(directory)
    damaged = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    with pytest.raises(QuintainError, match=named):
        await run(whole, agent, tmp_path, resume=directory)
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == damaged
    assert len(agent.ran) == 5
    shutil.rmtree(directory)
    (tmp_path / "kept").rename(directory)
    result = await run(whole, agent, tmp_path, resume=directory)
    assert result.status == "finished"
    assert set(Counter(agent.ran).values()) == {1}
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()


async def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuintainError, match="gone"):
        await run(campaign_in(tmp_path), Agent([]), tmp_path, resume=tmp_path / "gone")


@pytest.mark.parametrize("damage", [gone(SEAL), holds(SEAL, lambda data: b"{}"), holds(SEAL, lambda data: b"x")])
async def test_a_seal_is_made_anew_at_the_next_end(tmp_path: Path, damage: Damage) -> None:
    campaign, agent = campaign_in(tmp_path, cases=2, budget=Budget(trials=5)), Agent([])
    directory = (await run(campaign, agent, tmp_path)).directory
    damage(directory)
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems != ()
    await run(evolve(campaign, budget=Budget()), agent, tmp_path, resume=directory)
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()


async def test_a_ledger_that_another_process_holds_is_refused_and_goes_on_when_it_is_free(tmp_path: Path) -> None:
    campaign, agent = campaign_in(tmp_path, cases=2, budget=Budget(trials=5)), Agent([])
    directory = (await run(campaign, agent, tmp_path, concurrency=1)).directory
    with closing(sqlite3.connect(directory / "run.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(QuintainError, match="locked"):
            await run(evolve(campaign, budget=Budget()), agent, tmp_path, resume=directory)
        other.execute("ROLLBACK")
    result = await run(evolve(campaign, budget=Budget()), agent, tmp_path, resume=directory)
    assert result.status == "finished"
    assert set(Counter(agent.ran).values()) == {1}


async def test_who_reads_along_does_not_break_the_seal(tmp_path: Path) -> None:
    campaign, agent = campaign_in(tmp_path, cases=2), Agent([])
    readers: list[sqlite3.Connection] = []

    def connect(launch: Launch) -> None:
        if not readers:
            (path,) = (tmp_path / "store" / "campaigns").glob("*/run.db")
            readers.append(
                sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
            )
            readers[0].execute("SELECT count(*) FROM entries").fetchall()

    result = await run(campaign, evolve(agent, behaviour=connect), tmp_path)
    blobs = BlobStore(tmp_path / "store" / "blobs")
    assert verify(result.directory, blobs).problems == ()
    readers[0].close()
    assert verify(result.directory, blobs).problems == ()
    with closing(sqlite3.connect(result.directory / "run.db")) as db:
        db.execute("SELECT count(*) FROM trials").fetchall()
    assert verify(result.directory, blobs).problems == ()


async def test_a_cache_that_can_not_be_written_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(cache: DigestCache, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(DigestCache, "save", full)
    assert (await run(campaign_in(tmp_path, cases=1), Agent([]), tmp_path)).status == "finished"
