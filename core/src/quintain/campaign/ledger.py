"""The ledger: what a campaign did, in order, so that nobody can change any of it unseen.

It lies in the `run.db` of the campaign's directory, beside the trials themselves, so that a trial and what the ledger
says of it are written in one transaction. An entry's digest covers the entry and the digest before it: a change of any
entry, or of anything whose digest is in an entry, shows. State is made by reading the entries from the first; there is
no second record of it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from attrs import frozen

from quintain.errors import StoreError
from quintain.identity.canonical import digest_bytes
from quintain.model.codec import dumps
from quintain.model.plain import Json
from quintain.model.run import RunInfo
from quintain.model.trial import TrialOrder, TrialReport
from quintain.runs.store import RunStore
from quintain.runs.tables import Row

FORMAT = 1
"""Version of the entries."""

GENESIS = digest_bytes(b"quintain ledger 1")
"""What stands before the first entry."""

_TABLE = """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL
)
"""


@frozen
class Entry:
    """One line of the ledger.

    Attributes:
        seq: its number, from 1.
        kind: what happened, such as "reserved" or "settled".
        name: what it happened to: a trial, a candidate, a split, or empty.
        body: the rest, as plain data.
        digest: of this entry and all before it.
    """

    seq: int
    kind: str
    name: str
    body: Json
    digest: str


New: TypeAlias = tuple[str, str, Json]
"""Kind, name and body of an entry that is to be written."""


def chained(before: str, kind: str, name: str, body: str) -> str:
    """Digest of an entry after the digest of the one before it."""
    text = "\n".join((before, kind, name.replace("\n", " "), body))
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def text_digest(text: str) -> str:
    """Digest of a stored text."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


class Ledger:
    """A campaign's record, open for reading, and for writing by the one process that owns the directory."""

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        self.directory = directory
        self.store = RunStore(directory, write=write)
        self._began = time.monotonic()
        self._db = self.store.connection
        try:
            self._last(self._db)
            version = int(self._db.execute("SELECT value FROM meta WHERE key = 'ledger'").fetchone()[0])
        except (sqlite3.Error, TypeError, ValueError) as error:
            self.store.close()
            if "no such table" in str(error):
                raise StoreError("this is a run, not a campaign", where=str(directory)) from error
            raise StoreError(f"the ledger can't be read: {error}", where=str(directory)) from error
        if version != FORMAT:
            self.store.close()
            raise StoreError(
                f"its ledger was written in format {version}; this version reads format {FORMAT}",
                where=str(directory),
                hint="use the version of quintain that wrote it",
            )

    @staticmethod
    def create(directory: Path, info: RunInfo) -> None:
        """Make the ledger of a new campaign in an empty directory.

        Raises:
            StoreError: it can't be written.
        """
        RunStore.create(directory, info).close()
        try:
            with closing(sqlite3.connect(directory / "run.db")) as db, db:
                db.execute(_TABLE)
                db.execute("INSERT INTO meta VALUES ('ledger', ?)", (str(FORMAT),))
        except sqlite3.Error as error:
            raise StoreError(f"can't be written: {error}", where=str(directory)) from error

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    @property
    def info_text(self) -> str:
        """What was said of the whole at its beginning, as it is stored."""
        with self._errors():
            found = self._db.execute("SELECT value FROM meta WHERE key = 'run'").fetchone()
            return str(found[0]) if found else ""

    @property
    def head(self) -> str:
        """Digest of the last entry, which stands for all of them."""
        with self._errors():
            return self._last(self._db)

    # writing

    async def add(self, *entries: New) -> None:
        """Write entries durably. Raises StoreError; none of them is there then."""
        await self.store.write(lambda db, row, traces: self._append(db, entries))

    async def admit(self, orders: Sequence[tuple[int, str]], entry: New) -> None:
        """Store the orders of a candidate with the entry that lets it in, in one transaction.

        Args:
            orders: number and text of each.
            entry: what is said of it.

        Raises:
            StoreError: it could not be written; nothing of it is there.
        """

        def also(db: sqlite3.Connection, row: Row | None, traces: Sequence[Row]) -> None:
            db.executemany("INSERT INTO orders VALUES (?, ?)", orders)
            self._append(db, [entry])

        await self.store.write(also)

    async def settle(
        self,
        order: TrialOrder,
        template: int,
        report: TrialReport,
        body: Callable[[Row, Sequence[Row]], Json],
        *then: New,
    ) -> None:
        """Store a trial, and say so, in one transaction.

        Args:
            order: what was run.
            template: number of the template it was made from.
            report: what came of it.
            body: of the entry, from what is stored of the trial: its row and its traces.
            then: entries that follow.

        Raises:
            StoreError: it could not be written; nothing of it is there.
        """

        def also(db: sqlite3.Connection, row: Row | None, traces: Sequence[Row]) -> None:
            assert row is not None, "a report has a row"
            self._append(db, (("settled", report.trial, body(row, traces)), *then))

        await self.store.settle(order, template, report, also=also)

    def _append(self, db: sqlite3.Connection, entries: Sequence[New]) -> None:
        """Add entries to the transaction that is going on, in the thread that writes."""
        rows, head = [], self._last(db)
        at_s = round(time.monotonic() - self._began, 3)
        for kind, name, body in entries:
            text = dumps({**body, "t": at_s})
            head = chained(head, kind, name, text)
            rows.append((kind, name, text, head))
        db.executemany("INSERT INTO entries VALUES (NULL, ?, ?, ?, ?)", rows)

    # reading

    def entries(self, *kinds: str) -> Iterator[Entry]:
        """Entries in order, all or those of some kinds; their digests are not checked here."""
        wanted = f" WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        with self._errors():
            query = f"SELECT seq, kind, name, body, digest FROM entries{wanted} ORDER BY seq"
            for seq, kind, name, body, digest in self._db.execute(query, kinds):
                yield Entry(seq, kind, name, json.loads(body), digest)

    def broken(self) -> int | None:
        """Number of the first entry that is not what was written, or None."""
        before, expected = GENESIS, 1
        with self._errors():
            for seq, kind, name, body, digest in self._db.execute("SELECT * FROM entries ORDER BY seq"):
                if not all(isinstance(text, str) for text in (kind, name, body)):
                    return expected
                before = chained(before, kind, name, body)
                if seq != expected or digest != before:
                    return expected
                expected += 1
        return None

    def _last(self, db: sqlite3.Connection) -> str:
        found = db.execute("SELECT digest FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
        digest: str = found[0] if found else GENESIS
        return digest

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise StoreError(f"the ledger can't be read: {error}", where=str(self.directory)) from error


def file_digest(path: Path) -> str:
    """Digest of a file beside the ledger."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
