"""Nothing of a finished campaign can be changed without `verify` finding it, and it never stumbles over what it finds."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest
from attrs import frozen
from campaign.campaigns import Agent, campaign_in, plugins_with, run
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.api import run_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.seal import NAME as SEAL
from quintain.campaign.seal import seal
from quintain.campaign.verify import verify
from quintain.contracts.driver import Launch
from quintain.errors import StoreError
from quintain.model.campaign import Subject
from quintain.model.events import Event, Message
from quintain.workspace.blobs import BlobStore


class Loud(Agent):
    """Says more than a record keeps, so that its evidence lies in files of its own."""

    async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
        """Run."""
        async for event in super().__call__(launch):
            yield event
            if isinstance(event, Message) and launch.case.id.endswith("/0"):
                for _ in range(20):
                    yield Message("much " * 1000)


@frozen
class Finished:
    """A campaign that has ended."""

    directory: Path
    blobs: BlobStore

    def problems(self) -> tuple[str, ...]:
        """What `verify` says."""
        try:
            return verify(self.directory, self.blobs).problems
        except StoreError as error:
            return (f"it can't be opened: {error}",)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("finished")
    result = anyio.run(run, campaign_in(folder, cases=2, test=2), Loud([]), folder)
    assert result.status == "finished"
    made = Finished(result.directory, BlobStore(folder / "store" / "blobs"))
    assert made.problems() == ()
    assert list(result.directory.glob("trials/*.events.jsonl"))
    return made


@contextmanager
def changed(path: Path) -> Iterator[bytes]:
    """A file that is what it was afterwards."""
    before = path.read_bytes()
    try:
        yield before
    finally:
        path.write_bytes(before)


@contextmanager
def sealed_anew(finished: Finished) -> Iterator[None]:
    """Whoever changes the record may know how to seal it."""
    with changed(finished.directory / SEAL):
        (finished.directory / SEAL).unlink()
        seal(finished.directory)
        yield


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


@settings(max_examples=80)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_change_of_any_byte_of_the_record_is_found(finished: Finished, place: float, bit: int) -> None:
    with changed(finished.directory / "run.db") as data:
        (finished.directory / "run.db").write_bytes(flipped(data, int(place * len(data)), bit))
        assert finished.problems()


def test_a_change_in_any_page_of_the_record_is_found(finished: Finished) -> None:
    chance = random.Random(1)
    path = finished.directory / "run.db"
    with changed(path) as data:
        for page in range(0, len(data), 4096):
            path.write_bytes(flipped(data, page + chance.randrange(4096), chance.randrange(8)))
            assert finished.problems()


def test_a_change_of_any_other_file_is_found(finished: Finished) -> None:
    chance = random.Random(2)
    paths = [path for path in finished.directory.rglob("*") if path.is_file() and path.name != "run.db"]
    assert len(paths) > 3
    for path in paths:
        with changed(path) as data:
            for _ in range(6):
                path.write_bytes(flipped(data, chance.randrange(len(data)), chance.randrange(8)))
                assert finished.problems(), path
            path.write_bytes(data[:-1])
            assert finished.problems(), path
            path.unlink()
            assert finished.problems(), path
    assert finished.problems() == ()


def every_blob_is_looked_at(finished: Finished) -> None:
    for path in [path for path in finished.blobs.root.rglob("*") if path.is_file()]:
        mode = path.stat().st_mode
        path.chmod(0o600)
        with changed(path) as data:
            path.write_bytes(flipped(data, 0, 0) if data else b"x")
            assert finished.problems(), data
            path.unlink()
            assert finished.problems(), data
        path.chmod(mode)
    assert finished.problems() == ()


def test_every_stored_content_is_looked_at(finished: Finished) -> None:
    every_blob_is_looked_at(finished)


def test_what_lies_beside_the_workspace_is_looked_at_too(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, cases=1)
    (tmp_path / "subject" / "notes").mkdir()
    (tmp_path / "subject" / "notes" / "more.txt").write_text("context")
    beside = Subject(campaign.subject.root, ("*.md",), place="beside")

    async def through() -> Path:
        made = await run_campaign(
            campaign_in(tmp_path, cases=1, subject=beside), plugins=plugins_with(Bold([])), store=tmp_path / "store"
        )
        return made.directory

    every_blob_is_looked_at(Finished(anyio.run(through), BlobStore(tmp_path / "store" / "blobs")))


class Bold(Agent):
    """Needs no file."""

    async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
        """Run."""
        (launch.workspace / "prompt.md").write_text("1")
        async for event in super().__call__(launch):
            yield event


def columns_of(directory: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(directory / "run.db")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")]


VALUES = ("{0} || 'x'", "NULL", "12345", "X'ff00'", "{0} + 1", "'{{}}'", "'[]'", "'zz'")


@pytest.mark.parametrize("value", VALUES)
def test_a_change_of_any_column_is_found_even_if_it_was_sealed_again(finished: Finished, value: str) -> None:
    path = finished.directory / "run.db"
    seen = 0
    for table, column in columns_of(finished.directory):
        key = {"meta": "key", "traces": "trial, attempt"}.get(table, "rowid")
        for end in ("ASC", "DESC"):
            with changed(path), closing(sqlite3.connect(path)) as db:
                chosen = f"({key}) = (SELECT {key} FROM {table} ORDER BY {key} {end} LIMIT 1)"
                try:
                    before = db.execute(f"SELECT * FROM {table} ORDER BY {key}").fetchall()
                    with db:
                        db.execute(f"UPDATE {table} SET {column} = {value.format(column)} WHERE {chosen}")
                    if before == db.execute(f"SELECT * FROM {table} ORDER BY {key}").fetchall():
                        continue
                except sqlite3.Error:
                    continue  # the table itself refuses it
                db.close()
                if (table, column, end) == ("trials", "seq", "DESC"):
                    continue  # the last stays the last, and the number means nothing else
                seen += 1
                with sealed_anew(finished):
                    assert finished.problems(), (table, column, end)
    assert seen > 3


STATEMENTS = [
    "DELETE FROM {0} WHERE rowid = (SELECT min(rowid) FROM {0})",
    "DELETE FROM {0} WHERE rowid = (SELECT max(rowid) FROM {0})",
    "DELETE FROM {0}",
    "DROP TABLE {0}",
]


@pytest.mark.parametrize(
    "statement",
    [
        *(one.format(table) for table in ("orders", "trials", "entries") for one in STATEMENTS),
        *(one.format("traces").replace("rowid", "trial") for one in STATEMENTS),
        *(one.format("meta").replace("rowid", "key") for one in STATEMENTS),
        "DELETE FROM entries WHERE kind IN ('decision', 'look', 'ended')",
        "UPDATE trials SET seq = seq + 1000 WHERE seq = (SELECT min(seq) FROM trials)",
        "INSERT INTO orders SELECT 99, body FROM orders WHERE id = 0",
        "INSERT INTO gradings VALUES (1, 'x', '2026', 'x', 1, 1, '{}')",
        "INSERT INTO traces VALUES ('x', 1, '', '')",
        "INSERT INTO meta VALUES ('x', 'y')",
        "INSERT INTO trials SELECT 9999, 'x', case_id, profile, candidate, 9, template, seed, outcome, scored, passed,"
        " score, attempts, duration_s, tokens, usd, cost_state, report FROM trials LIMIT 1",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER late AFTER INSERT ON trials BEGIN DELETE FROM trials; END",
        "CREATE VIEW other AS SELECT * FROM trials",
    ],
)
def test_rows_that_are_removed_added_or_moved_are_found_even_if_it_was_sealed_again(
    finished: Finished, statement: str
) -> None:
    path = finished.directory / "run.db"
    with changed(path):
        with closing(sqlite3.connect(path)) as db, db:
            assert db.execute(statement).rowcount != 0
        with sealed_anew(finished):
            assert finished.problems()
    assert finished.problems() == ()


def test_a_decision_that_does_not_follow_is_found_though_every_digest_is_right(
    finished: Finished, tmp_path: Path
) -> None:
    copy = tmp_path / "store" / "campaigns" / "copy"
    shutil.copytree(finished.directory, copy)

    async def lie() -> None:
        with closing(Ledger(copy, write=True)) as ledger:
            last = list(ledger.entries("decision"))[-1].body
            decision = {**last["decision"], "verdict": "promote", "candidate": "worst"}
            await ledger.add(
                ("decision", "worst", {**last, "decision": decision}), ("ended", "", {"status": "finished"})
            )

    anyio.run(lie)
    seal(copy)
    assert verify(copy, finished.blobs).problems == ("the decision does not follow from the evidence",)
