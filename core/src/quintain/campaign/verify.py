"""Recomputes a campaign from its evidence: every digest, every figure, and the decision."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from quintain.campaign.experiment import decision_of
from quintain.campaign.ledger import Entry, Ledger, file_digest, text_digest
from quintain.campaign.metrics import figures_of
from quintain.campaign.seal import unsealed
from quintain.campaign.settled import Settled, settled_from
from quintain.campaign.state import State, read_state
from quintain.errors import QuintainError, RecordError, StoreError
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
        look = _Look(ledger, blobs)
        problems = [*look.problems()]
        if look.ended:
            problems += unsealed(directory)
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


class _Look:
    """One look at a campaign, which counts what it has seen."""

    def __init__(self, ledger: Ledger, blobs: BlobStore) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self.ended = False
        self.entries = 0
        self.trials = 0
        self.seen: set[str] = set()
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
        self.ended = state.status != "running"
        yield from self._conditions(entries)
        orders = dict(self._orders(entries))
        yield from self._stored_orders(orders)
        yield from self._stored_trials(state, entries)
        yield from self._decided(state, entries)

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
            elif text_digest(stored[number]) != orders[number]:
                yield f"order {number} was changed"
            else:
                order = from_plain(json.loads(stored[number]), TrialOrder)
                for tree in (order.fixtures, order.hidden):
                    yield from self._tree(tree, f"the fixtures of {order.case.id}")

    def _stored_trials(self, state: State, entries: list[Entry]) -> Iterator[str]:
        latest: dict[str, Settled] = {}
        traces: dict[str, str] = {}
        for entry in entries:
            if entry.kind == "settled":
                latest[entry.name] = settled = settled_from(entry.name, entry.body)
                traces.update({f"{entry.name} {kind}": digest for kind, digest in settled.traces.items()})
        columns = "trial, case_id, profile, candidate, repetition, template, seed, outcome, scored, passed, score,"
        columns += " attempts, duration_s, tokens, usd, cost_state, report"
        found = set()
        for row in self._rows(f"SELECT {columns} FROM trials"):
            trial = row[0]
            found.add(trial)
            self.trials += 1
            if trial not in latest:
                yield f"trial {trial} was added"
                continue
            yield from self._trial(row, latest[trial], traces)
        for trial in latest.keys() - found:
            yield f"trial {trial} is gone"
        yield from self._traces(traces)
        extra = next(iter(self._rows("SELECT count(*) FROM gradings")))[0]
        if extra:
            yield f"{extra} gradings were added; the decision knows nothing of them"

    def _trial(self, row: Row, settled: Settled, traces: dict[str, str]) -> Iterator[str]:
        trial, text = str(row[0]), str(row[-1])
        if text_digest(text) != settled.report:
            yield f"the report of {trial} was changed"
            return
        report = from_plain(json.loads(text), TrialReport)
        order = self._ledger.store.order(trial)
        # Python's True equals 1, which is how SQLite keeps it.
        if row_of(order, row[5], report) != row:
            yield f"the row of {trial} says something else than its report"
        figures = figures_of(report, settled.figures.split, settled.figures.cluster)
        if to_plain(figures) != to_plain(settled.figures):
            yield f"the figures of {trial} are not those of its report"
        for attempt in report.attempts:
            yield from self._changes(attempt.changes, f"what {trial} changed")

    def _changes(self, digest: str | None, what: str) -> Iterator[str]:
        if digest is None or digest in self.seen:
            return
        self.seen.add(digest)
        try:
            changes = load_record(digest, ChangeSet, self._blobs)
        except QuintainError as error:
            yield f"{what}: {error}"
            return
        for change in changes.changes:
            yield from self._file(change.after, f"{what}: {change.path}")

    def _tree(self, digest: str | None, what: str) -> Iterator[str]:
        if digest is None or digest in self.seen:
            return
        self.seen.add(digest)
        try:
            tree = load_record(digest, Tree, self._blobs)
        except QuintainError as error:
            yield f"{what}: {error}"
            return
        for path, entry in tree.entries.items():
            yield from self._file(entry, f"{what}: {path}")

    def _file(self, entry: TreeEntry | None, what: str) -> Iterator[str]:
        if entry is None or entry.digest is None or entry.omitted or entry.digest in self.seen:
            return
        self.seen.add(entry.digest)
        try:
            self._blobs.read(entry.digest)
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
                now = text_digest(text) if text is not None else file_digest(path)
                if wanted is None:
                    yield f"the {kind} of {trial}, attempt {attempt}, were added"
                elif now != wanted:
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
        try:
            campaign = from_plain(state.campaign["campaign"], Campaign)
        except RecordError as error:
            yield f"the campaign in the ledger can't be understood: {error}"
            return
        self.decision = decision_of(campaign, then, last.body["planned"])
        if to_plain(self.decision) != last.body["decision"]:
            yield "the decision does not follow from the evidence"

    def _rows(self, query: str) -> Iterator[Row]:
        try:
            yield from self._ledger.store.connection.execute(query)
        except sqlite3.Error as error:
            raise StoreError(f"can't be read: {error}", where=str(self._ledger.directory)) from error
