"""Recomputes a campaign from its evidence: every digest, every figure, and the decision."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from attrs import evolve, frozen

from quintain.campaign.ledger import Entry, Ledger, file_digest, text_digest
from quintain.campaign.metrics import figures_of
from quintain.campaign.outcome import decision_of
from quintain.campaign.owner import owner_of
from quintain.campaign.ready import seed_of
from quintain.campaign.seal import is_sealed, unsealed
from quintain.campaign.settled import Settled, settled_from
from quintain.campaign.state import State, read_state
from quintain.candidates import captured_of
from quintain.errors import QuintainError, StoreError
from quintain.identity.lock import read_lock
from quintain.model.campaign import Campaign
from quintain.model.codec import from_plain, to_plain
from quintain.model.decision import Decision
from quintain.model.tree import ChangeSet, Tree
from quintain.model.tree import Entry as TreeEntry
from quintain.model.trial import TrialOrder, TrialReport
from quintain.runs.store import EVIDENCE
from quintain.runs.tables import Row, row_of
from quintain.trial.fixtures import load_record
from quintain.workspace.blobs import BlobStore


@frozen
class Verification:
    """What a look at everything came to.

    Attributes:
        directory: of the campaign.
        problems: what is not what was written, one sentence each that names the record.
        entries: entries of the ledger that were looked at.
        trials: trials that were looked at.
        blobs: stored files that were read.
        head: digest of the last entry; a copy of it kept elsewhere proves that nothing was rewritten as a whole.
        ended: its last session came to an end, so its files have a seal.
        decision: recomputed, if it could be.
    """

    directory: Path
    problems: tuple[str, ...]
    entries: int
    trials: int
    blobs: int
    head: str
    ended: bool
    decision: Decision | None = None

    @property
    def sound(self) -> bool:
        """Nothing was found."""
        return not self.problems


def verify(directory: Path, blobs: BlobStore) -> Verification:
    """Recompute a campaign.

    Args:
        directory: of the campaign.
        blobs: the store of file contents.

    Raises:
        StoreError: it can't be opened at all.
    """
    ledger = Ledger(directory)
    try:
        # One view of the record all along: somebody may be writing it.
        ledger.store.connection.execute("BEGIN")
        look = _Look(ledger, blobs, running=owner_of(directory) is not None)
        problems = [*look.problems(), *look.sealed()]
        return Verification(
            directory,
            tuple(dict.fromkeys(problems)),
            look.entries,
            look.trials,
            len(look.seen),
            ledger.head,
            look.ended,
            look.decision,
        )
    finally:
        ledger.close()


_TABLES = {"meta", "orders", "trials", "traces", "gradings", "entries"}

T = TypeVar("T")

_Files: TypeAlias = Iterable[tuple[str, TreeEntry | None]]
"""Paths with what was kept of them."""

_NONSENSE = (QuintainError, sqlite3.Error, ValueError, TypeError, KeyError, AttributeError, LookupError, OSError)
"""What reading a record may raise in which somebody wrote anything whatever."""


def _same(text: object, digest: str) -> bool:
    """SQLite keeps values of any type in any column."""
    return isinstance(text, str) and text_digest(text) == digest


def _is_of(order: TrialOrder, report: TrialReport) -> bool:
    mine = report.candidate, report.case, report.profile
    return (order.candidate, order.case.id, order.profile) == mine


class _Look:
    """One look at a campaign, which counts what it has seen."""

    def __init__(self, ledger: Ledger, blobs: BlobStore, *, running: bool) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._running = running
        self.ended = False
        self.entries = 0
        self.trials = 0
        self.seen: set[str] = set()
        self._orders_read: dict[int, TrialOrder] = {}
        self._parsed: Campaign | None = None
        self.decision: Decision | None = None

    def problems(self) -> Iterator[str]:
        broken = self._ledger.broken()
        if broken is not None:
            yield f"entry {broken} of the ledger is not what was written"
        try:
            state = read_state(self._ledger)
            entries = list(self._ledger.entries())
        except StoreError as error:
            yield str(error)
            return
        self.entries = len(entries)
        self.ended = state.status != "running" and not self._running
        for what, look in (
            ("the tables", self._tables()),
            ("the conditions", self._conditions(entries)),
            ("the subject", self._subject(state)),
            ("the orders", self._stored_orders(dict(self._orders(entries)))),
            ("the trials", self._stored_trials(state, entries)),
            ("the decision", self._decided(state, entries)),
        ):
            try:
                yield from look
            except _NONSENSE as error:
                yield f"{what} can't be understood: {error}"

    def sealed(self) -> Iterator[str]:
        """What is not as the seal says; a campaign whose last session did not come to an end has none."""
        if self._running:
            return
        if self.ended or is_sealed(self._ledger.directory):
            yield from unsealed(self._ledger.directory)
            if not self.ended:
                yield "it has a seal, but the ledger says nothing of its end"

    def _tables(self) -> Iterator[str]:
        """Nothing lies in the record that nobody looks at."""
        found = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}
        for name in sorted(found ^ _TABLES):
            yield f"the table {name} {'was added' if name in found else 'is gone'}"
        for (key,) in self._rows("SELECT key FROM meta ORDER BY key"):
            if key not in ("schema", "run", "ledger"):
                yield f"{key} was added to what is said of the whole"

    def _conditions(self, entries: list[Entry]) -> Iterator[str]:
        """The lock file says what the ledger says."""
        for entry in entries:
            if entry.kind != "campaign":
                continue
            try:
                root = read_lock(self._ledger.directory / "identity.lock").root
            except QuintainError as error:
                yield f"identity.lock: {error}"
                continue
            if root != entry.body["identity"]:
                yield f"identity.lock is not the one under which the campaign began ({entry.body['identity']})"
            if not _same(self._ledger.info_text, entry.body["run"]):
                yield "what is said of the whole campaign was changed"

    def _subject(self, state: State) -> Iterator[str]:
        """What was under test is still there."""
        digest = (state.campaign or {}).get("captured")
        if digest is not None:
            captured = captured_of(digest, self._blobs)
            yield from self._files(captured.tree.entries.items(), "the subject")
        for id, candidate in state.candidates.items():
            for path, content in candidate.components.items():
                yield from self._content(content, f"the candidate {id}: {path}")

    def _orders(self, entries: list[Entry]) -> Iterator[tuple[str, str]]:
        for entry in entries:
            if entry.kind == "candidate":
                yield from entry.body["orders"].items()

    def _stored_orders(self, orders: dict[str, str]) -> Iterator[str]:
        stored = {str(number): body for number, body in self._rows("SELECT id, body FROM orders")}
        for number in sorted(orders.keys() | stored.keys(), key=int):
            if number not in stored:
                yield f"order {number} is gone"
            elif number not in orders:
                yield f"order {number} was added"
            elif not _same(stored[number], orders[number]):
                yield f"order {number} was changed"
            else:
                order = self._orders_read[int(number)] = from_plain(json.loads(stored[number]), TrialOrder)
                for tree in (order.fixtures, order.hidden, order.subject):
                    yield from self._tree(tree, f"the fixtures of {order.case.id}")

    def _stored_trials(self, state: State, entries: list[Entry]) -> Iterator[str]:
        latest: dict[str, Settled] = {}
        traces: dict[str, str] = {}
        for entry in entries:
            if entry.kind == "settled":
                # That of a trial which was taken up again is written anew, after all others.
                latest.pop(entry.name, None)
                latest[entry.name] = settled = settled_from(entry.name, entry.body)
                traces.update({f"{entry.name} {kind}": digest for kind, digest in settled.traces.items()})
        columns = "trial, case_id, profile, candidate, repetition, template, seed, outcome, scored, passed, score,"
        columns += " attempts, duration_s, tokens, usd, cost_state, report"
        found = set()
        order = [trial for (trial,) in self._rows("SELECT trial FROM trials ORDER BY seq")]
        stored = set(order)
        if order != [trial for trial in latest if trial in stored]:
            yield "the trials are not in the order in which they were settled"
        for row in self._rows(f"SELECT {columns} FROM trials"):
            trial = row[0]
            found.add(trial)
            self.trials += 1
            if trial not in latest:
                yield f"trial {trial} was added"
                continue
            yield from self._trial(self._campaign(state), row, latest[trial])
        for trial in latest.keys() - found:
            yield f"trial {trial} is gone"
        yield from self._traces(traces)
        extra = next(iter(self._rows("SELECT count(*) FROM gradings")))[0]
        if extra:
            yield f"{extra} gradings were added; the decision knows nothing of them"

    def _trial(self, campaign: Campaign, row: Row, settled: Settled) -> Iterator[str]:
        trial, text = str(row[0]), row[-1]
        if not _same(text, settled.report):
            yield f"the report of {trial} was changed"
            return
        report = from_plain(json.loads(text), TrialReport)
        order = self._orders_read.get(row[5])
        if order is None or not _is_of(order, report):
            yield f"the row of {trial} names the order of another trial"
            return
        # Python's True equals 1, which is how SQLite keeps it.
        if row_of(evolve(order, seed=seed_of(campaign, report.candidate, report.repetition)), row[5], report) != row:
            yield f"the row of {trial} says something else than its report"
        figures = figures_of(report, settled.figures.split, settled.figures.cluster)
        if to_plain(figures) != to_plain(settled.figures):
            yield f"the figures of {trial} are not those of its report"
        for attempt in report.attempts:
            yield from self._changes(attempt.changes, f"what {trial} changed")

    def _changes(self, digest: str | None, what: str) -> Iterator[str]:
        yield from self._record(digest, ChangeSet, lambda kept: ((one.path, one.after) for one in kept.changes), what)

    def _tree(self, digest: str | None, what: str) -> Iterator[str]:
        yield from self._record(digest, Tree, lambda kept: kept.entries.items(), what)

    def _record(self, digest: str | None, cls: type[T], files: Callable[[T], _Files], what: str) -> Iterator[str]:
        """A stored list of files is there, and so are they."""
        if digest is None or digest in self.seen:
            return
        self.seen.add(digest)
        try:
            kept = load_record(digest, cls, self._blobs)
        except QuintainError as error:
            yield f"{what}: {error}"
            return
        yield from self._files(files(kept), what)

    def _files(self, files: _Files, what: str) -> Iterator[str]:
        for path, entry in files:
            yield from self._file(entry, f"{what}: {path}")

    def _file(self, entry: TreeEntry | None, what: str) -> Iterator[str]:
        if entry is not None and entry.digest is not None and not entry.omitted:
            yield from self._content(entry.digest, what)

    def _content(self, digest: str, what: str) -> Iterator[str]:
        if digest in self.seen:
            return
        self.seen.add(digest)
        try:
            self._blobs.read(digest)
        except QuintainError as error:
            yield f"{what}: {error}"

    def _traces(self, expected: dict[str, str]) -> Iterator[str]:
        """Every piece of evidence, in the record or beside it, is what it was."""
        rest = dict(expected)
        for trial, attempt, *texts in self._rows("SELECT trial, attempt, events, raw FROM traces"):
            for kind, text in zip(EVIDENCE, texts, strict=True):
                name = f"{trial} {attempt}.{kind}"
                wanted = rest.pop(name, None)
                path = self._ledger.store.evidence_file(trial, attempt, kind)
                if text is None and not path.exists():
                    if wanted is not None:
                        yield f"the {kind} of {trial}, attempt {attempt}, are gone"
                    continue
                if wanted is None:
                    yield f"the {kind} of {trial}, attempt {attempt}, were added"
                elif not (_same(text, wanted) if text is not None else file_digest(path) == wanted):
                    yield f"the {kind} of {trial}, attempt {attempt}, were changed"
        for name in rest:
            yield f"the evidence {name} is gone"

    def _decided(self, state: State, entries: list[Entry]) -> Iterator[str]:
        """The last decision follows from the trials that the ledger knew then."""
        last = next((entry for entry in reversed(entries) if entry.kind == "decision"), None)
        if last is None or state.campaign is None:
            return
        then = State()
        for entry in entries[: last.seq - 1]:
            then.take(entry)
        self.decision = decision_of(self._campaign(state), then, last.body["planned"])
        if to_plain(self.decision) != last.body["decision"]:
            yield "the decision does not follow from the evidence"

    def _campaign(self, state: State) -> Campaign:
        if self._parsed is None:
            self._parsed = from_plain((state.campaign or {})["campaign"], Campaign)
        return self._parsed

    def _rows(self, query: str) -> Iterator[Row]:
        try:
            yield from self._ledger.store.connection.execute(query)
        except sqlite3.Error as error:
            raise StoreError(f"can't be read: {error}", where=str(self._ledger.directory)) from error
