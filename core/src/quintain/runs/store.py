"""The record of a run: one SQLite file for what is counted and compared, files for each trial's evidence.

    <store>/blobs/...                              contents of files, shared by all trials of all runs
    <store>/runs/<run>/run.db                      plan, reports, gradings, small traces
    <store>/runs/<run>/trials/<trial>.<attempt>.events.jsonl, <trial>.<attempt>.raw.jsonl
                                                   traces that have outgrown the memory

A report is stored in one transaction; trials that end at the same time share one commit, because a commit costs as much
as thirty rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread
from attrs import evolve

from quintain.errors import RecordError, StoreError
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.model.grade import Grade
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport
from quintain.runs.tables import SCHEMA, TABLES, Row, TrialRow, row_of, trial_file_name
from quintain.trial.trace import EvidencePlace, StoredTrace, lines_of

Kind: TypeAlias = Literal["events", "raw"]
EVIDENCE: tuple[Kind, ...] = ("events", "raw")
"""What is kept of an attempt, in the order of the columns."""

Also: TypeAlias = Callable[[sqlite3.Connection, "Row | None", Sequence[Row]], None]
"""Writes more in the transaction of a trial; told the connection, and the trial's row and traces if there is one."""


class RunStore:
    """One run's record, open for reading, and for writing by the one process that runs it."""

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        self.directory = directory
        self._path = directory / "run.db"
        self._waiting: list[_Pending] = []
        self._busy = False
        # Once a write has failed nothing more is taken: what is written next may fit and tell of what does not exist.
        self._refusal: str | None = None
        self._places: dict[str, list[tuple[int, EvidencePlace]]] = {}
        if not self._path.exists():
            raise StoreError("there is no run here", where=str(directory))
        self._write_mode = write
        try:
            self._db = _connect(self._path, write)
            version = int(self._meta("schema") or 0)
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise self._damaged(error) from error
        if version != SCHEMA:
            raise StoreError(
                f"it was written in format {version}; this version reads format {SCHEMA}",
                where=str(self._path),
                hint="use the version of quintain that wrote it",
            )

    @classmethod
    def create(cls, directory: Path, info: RunInfo) -> RunStore:
        """Make the record of a new run in a directory that exists and is empty."""
        path = directory / "run.db"
        (directory / "trials").mkdir(mode=0o700, exist_ok=True)
        try:
            db = sqlite3.connect(path)
            with db:
                # One transaction for all of it: each costs a wait for the disk.
                db.execute("BEGIN")
                for table in TABLES.split(";"):
                    db.execute(table)
                db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
                db.execute("INSERT INTO meta VALUES ('run', ?)", (dumps(to_plain(info)),))
            db.close()
        except sqlite3.Error as error:
            raise StoreError(f"can't be written: {error}", where=str(path)) from error
        return cls(directory, write=True)

    def close(self) -> None:
        """Let go of the file; a finished run is left as one plain file that can be read from a read-only place."""
        if self._write_mode:
            # On a full disk it stays as it is; readers cope with that, and nothing is lost.
            with suppress(sqlite3.Error):
                # While somebody reads along it can't be one file; then at least all of it is in the first.
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._db.execute("PRAGMA busy_timeout = 0")
                self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """The open file, for records that are kept in it beside the trials."""
        return self._db

    def evidence(self, trial: str, attempt: int) -> EvidencePlace:
        """Where one attempt's evidence goes; `settle` stores what stayed small."""
        place = EvidencePlace(self._stem(trial, attempt))
        for kind in EVIDENCE:
            # What lies there is of an attempt that was killed, and is made again under its number.
            with suppress(OSError):
                self.evidence_file(trial, attempt, kind).unlink()
        self._places.setdefault(trial, []).append((attempt, place))
        return place

    def _stem(self, trial: str, attempt: int) -> str:
        return f"{self.directory}/trials/{trial_file_name(trial)}.{attempt}"

    # writing

    def add_templates(self, orders: Iterable[TrialOrder]) -> None:
        """Store what all repetitions of one case under one profile share, numbered from 0, before the first trial."""
        rows = [(number, dumps(to_plain(order))) for number, order in enumerate(orders)]
        with self._errors(), self._db:
            self._db.executemany("INSERT INTO orders VALUES (?, ?)", rows)

    async def settle(self, order: TrialOrder, template: int, report: TrialReport, *, also: Also | None = None) -> None:
        """Store a report durably, instead of an earlier one of the same trial. Those who wait at the same time share
        one commit.

        Args:
            order: what was run.
            template: number of the template it was made from.
            report: what came of it.
            also: writes more in the same transaction; told what is stored of the trial.

        Raises:
            StoreError: it, or something before it, could not be written; nothing of it is there.
        """
        places = self._places.pop(report.trial, ())
        traces = [(report.trial, attempt, place.events.text, place.raw.text) for attempt, place in places]
        await self._in_turn(_Pending(row_of(order, template, report), traces, also))

    async def write(self, also: Also) -> None:
        """Write something else durably, in one commit with whatever else waits. Raises StoreError."""
        await self._in_turn(_Pending(None, (), also))

    async def _in_turn(self, mine: _Pending) -> None:
        self._waiting.append(mine)
        if not self._busy:
            self._busy = True
            try:
                while self._waiting:
                    batch, self._waiting = self._waiting, []
                    with anyio.CancelScope(shield=True):
                        await self._commit(batch)
            finally:
                self._busy = False
        await mine.done.wait()
        if mine.error is not None:
            raise mine.error

    async def _commit(self, batch: Sequence[_Pending]) -> None:
        if self._refusal is None:
            try:
                await anyio.to_thread.run_sync(self._write, batch)
            except sqlite3.Error as error:
                self._refusal = f"can't be written: {error}"
        for pending in batch:
            if self._refusal is not None:
                pending.error = StoreError(self._refusal, where=str(self._path))
            pending.done.set()

    def _write(self, batch: Sequence[_Pending]) -> None:
        with self._db:
            rows = [pending.row for pending in batch if pending.row is not None]
            self._db.executemany(f"INSERT OR REPLACE INTO trials VALUES (NULL{', ?' * 17})", rows)
            traces = [trace for pending in batch for trace in pending.traces]
            self._db.executemany("INSERT OR REPLACE INTO traces VALUES (?, ?, ?, ?)", traces)
            for pending in batch:
                if pending.also is not None:
                    pending.also(self._db, pending.row, pending.traces)

    def add_grading(self, trial: str, graded_at: str, grade: Grade) -> None:
        """Store another grade of a trial beside the first."""
        row = (trial, graded_at, grade.identity, grade.passed, grade.score, dumps(to_plain(grade)))
        with self._errors(), self._db:
            self._db.execute("INSERT INTO gradings VALUES (NULL, ?, ?, ?, ?, ?, ?)", row)

    def finish(self, summary: RunSummary) -> None:
        """Store what the run came to."""
        with self._errors(), self._db:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('summary', ?)", (dumps(to_plain(summary)),))

    # reading

    @property
    def info(self) -> RunInfo:
        """What was known at its beginning."""
        with self._errors():
            return from_plain(json.loads(self._meta("run") or "null"), RunInfo)

    @property
    def summary(self) -> RunSummary | None:
        """What it came to, or None if it never came to its end."""
        with self._errors():
            text = self._meta("summary")
            return from_plain(json.loads(text), RunSummary) if text else None

    def rows(self) -> Iterator[TrialRow]:
        """All trials in the order in which they ended, without their evidence."""
        with self._errors():
            for row in self._db.execute(
                "SELECT trial, case_id, profile, candidate, repetition, outcome, scored, passed, score, attempts,"
                " duration_s, tokens, usd, cost_state FROM trials ORDER BY seq"
            ):
                yield TrialRow(*row)

    def reports(self) -> Iterator[TrialReport]:
        """All reports in the order in which they ended."""
        with self._errors():
            for (text,) in self._db.execute("SELECT report FROM trials ORDER BY seq"):
                yield from_plain(json.loads(text), TrialReport)

    def report(self, trial: str) -> TrialReport:
        """The report of one trial. Raises StoreError if there is none."""
        with self._errors():
            found = self._db.execute("SELECT report FROM trials WHERE trial = ?", (trial,)).fetchone()
            if found is None:
                raise StoreError(f"there is no trial `{trial}` in it", where=str(self.directory))
            return from_plain(json.loads(found[0]), TrialReport)

    def order(self, trial: str) -> TrialOrder:
        """The order of one trial. Raises StoreError if there is none."""
        with self._errors():
            found = self._db.execute(
                "SELECT body, trial, repetition, seed FROM trials JOIN orders ON orders.id = template WHERE trial = ?",
                (trial,),
            ).fetchone()
            if found is None:
                raise StoreError(f"there is no trial `{trial}` in it", where=str(self.directory))
            template = from_plain(json.loads(found[0]), TrialOrder)
            return evolve(template, trial=found[1], repetition=found[2], seed=found[3])

    def trace(self, trial: str, attempt: int) -> StoredTrace:
        """What happened in one attempt."""
        return StoredTrace(self._source("events", trial, attempt))

    def raw(self, trial: str, attempt: int) -> Iterator[str]:
        """The raw protocol of one attempt, one JSON object a line."""
        return self.lines("raw", trial, attempt)

    def lines(self, kind: Kind, trial: str, attempt: int) -> Iterator[str]:
        """One attempt's evidence as it is stored, line by line with their ends."""
        return lines_of(self._source(kind, trial, attempt))

    def evidence_file(self, trial: str, attempt: int, kind: Kind) -> Path:
        """Where one attempt's evidence is, if it has outgrown the record."""
        return Path(f"{self._stem(trial, attempt)}.{kind}.jsonl")

    def _source(self, kind: Kind, trial: str, attempt: int) -> Path | str:
        with self._errors():
            query = f"SELECT {kind} FROM traces WHERE trial = ? AND attempt = ?"
            found = self._db.execute(query, (trial, attempt)).fetchone()
        if found is not None and found[0] is not None:
            text: str = found[0]
            return text
        return self.evidence_file(trial, attempt, kind)

    def gradings(self, trial: str) -> tuple[tuple[str, Grade], ...]:
        """Later grades of one trial with their times, oldest first."""
        with self._errors():
            found = self._db.execute("SELECT graded_at, grade FROM gradings WHERE trial = ? ORDER BY id", (trial,))
            return tuple((graded_at, from_plain(json.loads(text), Grade)) for graded_at, text in found)

    def _meta(self, key: str) -> str | None:
        found = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, RecordError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> StoreError:
        return StoreError(f"can't be read or written: {error}", where=str(self._path))


def _connect(path: Path, write: bool) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    if write:
        db = sqlite3.connect(f"{uri}?mode=rw", uri=True, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        return db
    try:
        db = sqlite3.connect(f"{uri}?mode=ro", uri=True, check_same_thread=False)
        db.execute("SELECT 1 FROM meta")
    except sqlite3.OperationalError:
        # A run that was killed is still in WAL mode, which needs a writable directory even for reading.
        db = sqlite3.connect(f"{uri}?immutable=1", uri=True, check_same_thread=False)
    return db


class _Pending:
    """A row that waits for its commit."""

    def __init__(self, row: Row | None, traces: Sequence[Row], also: Also | None) -> None:
        self.row = row
        self.traces = traces
        self.also = also
        self.done = anyio.Event()
        self.error: StoreError | None = None
