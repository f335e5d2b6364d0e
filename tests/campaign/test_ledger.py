"""The ledger keeps what happened in order, whole or not at all, and shows every change."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from quintain.campaign.ledger import GENESIS, Ledger
from quintain.errors import StoreError
from quintain.model.run import RunInfo
from quintain.runs.store import RunStore
from quintain.testing import made_order, made_report

pytestmark = pytest.mark.anyio

INFO = RunInfo("r", "2026-01-01T00:00:00.000", "0", 1)


def opened(directory: Path) -> Ledger:
    Ledger.create(directory, INFO)
    return Ledger(directory, write=True)


async def test_entries_come_back_in_order_with_what_was_said(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        assert ledger.head == GENESIS
        await ledger.add(("session", "1", {"pid": 1}), ("look", "validation", {"why": "ünï \udcff\n"}))
        kinds = [(entry.seq, entry.kind, entry.name) for entry in ledger.entries()]
        assert kinds == [(1, "session", "1"), (2, "look", "validation")]
        assert next(iter(ledger.entries("look"))).body["why"] == "ünï \udcff\n"
        assert ledger.broken() is None
        assert ledger.head != GENESIS


async def test_a_trial_and_what_is_said_of_it_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.store.add_templates([made_order()])
        await ledger.settle(
            made_order(), 0, made_report(), lambda row, traces: {"report": row[-1][:5]}, ("then", "", {})
        )

        def broken(row: object, traces: object) -> object:
            raise sqlite3.OperationalError("database or disk is full")

        with pytest.raises(StoreError, match="disk is full"):
            await ledger.settle(made_order(repetition=2), 0, made_report(repetition=2), broken)
        with pytest.raises(StoreError, match="disk is full"):
            await ledger.add(("after", "", {}))
    with closing(Ledger(tmp_path, write=True)) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["settled", "then"]
        assert [row.repetition for row in ledger.store.rows()] == [1]
        assert ledger.broken() is None
        await ledger.add(("after", "", {}))
        assert ledger.broken() is None


async def test_a_trial_that_is_taken_up_again_has_one_row(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.store.add_templates([made_order()])
        await ledger.settle(made_order(), 0, made_report(infrastructure=True), lambda row, traces: {})
        await ledger.settle(made_order(), 0, made_report(), lambda row, traces: {})
        assert [row.scored for row in ledger.store.rows()] == [True]
        assert len(list(ledger.entries("settled"))) == 2


@pytest.mark.parametrize("column", ["kind", "name", "body", "digest"])
@pytest.mark.parametrize("seq", [1, 2, 3])
async def test_the_change_of_any_entry_is_named(tmp_path: Path, column: str, seq: int) -> None:
    with closing(opened(tmp_path)) as ledger:
        await ledger.add(*(("look", "validation", {"n": number}) for number in range(3)))
    with closing(sqlite3.connect(tmp_path / "run.db")) as db, db:
        db.execute(f"UPDATE entries SET {column} = {column} || ' ' WHERE seq = ?", (seq,))
    with closing(Ledger(tmp_path)) as ledger:
        assert ledger.broken() == seq


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM entries WHERE seq = 2", 2),
        ("DELETE FROM entries WHERE seq = 1", 1),
        ("UPDATE entries SET seq = seq + 10 WHERE seq = 3", 3),
        ("INSERT INTO entries SELECT 4, kind, name, body, digest FROM entries WHERE seq = 3", 4),
    ],
)
async def test_removed_moved_and_added_entries_are_found(tmp_path: Path, statement: str, expected: int) -> None:
    with closing(opened(tmp_path)) as ledger:
        await ledger.add(*(("look", "validation", {"n": number}) for number in range(3)))
    with closing(sqlite3.connect(tmp_path / "run.db")) as db, db:
        db.execute(statement)
    with closing(Ledger(tmp_path)) as ledger:
        assert ledger.broken() == expected


async def test_many_writers_share_commits_and_none_is_lost(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(ledger.add, ("look", str(number), {}))
        assert sorted(int(entry.name) for entry in ledger.entries()) == list(range(200))
        assert ledger.broken() is None


async def test_a_ledger_of_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "run.db")) as db, db:
        db.execute("UPDATE meta SET value = '7' WHERE key = 'ledger'")
    with pytest.raises(StoreError, match="format 7; this version reads format 1"):
        Ledger(tmp_path)


async def test_a_run_is_no_campaign(tmp_path: Path) -> None:
    RunStore.create(tmp_path, INFO).close()
    with pytest.raises(StoreError, match="this is a run, not a campaign"):
        Ledger(tmp_path)


@pytest.mark.parametrize("damage", ["nothing", "half", "junk"])
async def test_a_damaged_file_is_one_clear_error(tmp_path: Path, damage: str) -> None:
    with closing(opened(tmp_path)) as ledger:
        await ledger.add(*(("look", str(number), {"text": "x" * 500}) for number in range(200)))
    path = tmp_path / "run.db"
    data = path.read_bytes()
    path.write_bytes({"nothing": b"", "half": data[: len(data) // 2], "junk": os.urandom(len(data))}[damage])
    with pytest.raises(StoreError) as caught, closing(Ledger(tmp_path)) as ledger:
        list(ledger.entries())
    assert str(tmp_path) in str(caught.value)


WRITE = """
import sys, anyio
from pathlib import Path
from quintain.campaign.ledger import Ledger
async def main():
    ledger = Ledger(Path(sys.argv[1]), write=True)
    for number in range(10**6):
        await ledger.add(("reserved", str(number), {}), ("settled", str(number), {}))
        print(number, flush=True)
anyio.run(main)
"""


def killed_after(lines: int, directory: Path) -> list[int]:
    """What a process said that it had written before it was killed."""
    with subprocess.Popen([sys.executable, "-c", WRITE, str(directory)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(lines)]
        os.kill(process.pid, signal.SIGKILL)
    return told


@pytest.mark.parametrize("lines", [1, 7, 40])
async def test_what_was_written_before_a_kill_is_there_and_nothing_is_half(tmp_path: Path, lines: int) -> None:
    opened(tmp_path).close()
    told = killed_after(lines, tmp_path)
    with closing(Ledger(tmp_path, write=True)) as ledger:
        kept = [int(entry.name) for entry in ledger.entries("settled")]
        assert kept[: len(told)] == told
        assert len(list(ledger.entries("reserved"))) == len(kept)
        assert ledger.broken() is None
        await ledger.add(("after", "", {}))
        assert ledger.broken() is None


async def test_a_locked_ledger_is_one_clear_error_and_takes_nothing_until_it_is_opened_again(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as ledger:
        ledger.store.connection.execute("PRAGMA busy_timeout = 50")
        with closing(sqlite3.connect(tmp_path / "run.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                await ledger.add(("look", "", {}))
            other.execute("ROLLBACK")
        with pytest.raises(StoreError, match="locked"):
            await ledger.add(("after", "", {}))
    with closing(Ledger(tmp_path, write=True)) as ledger:
        await ledger.add(("look", "", {}))
        assert [entry.kind for entry in ledger.entries()] == ["look"]
