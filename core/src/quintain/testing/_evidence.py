"""Evidence made up for tests of assertions: the real implementation over a store of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from quintain.contracts.assertion import AssertionSpec, Evidence
from quintain.model.case import Assertion, Case
from quintain.model.events import Event, Traced, Used
from quintain.model.outcome import Outcome, OutcomeKind
from quintain.model.plain import Json
from quintain.model.tree import Change, ChangeSet, Entry, Tree
from quintain.model.trial import Attempt, Counts, SpendBreakdown
from quintain.model.usage import Spend
from quintain.plugins import Plugins
from quintain.trial.evidence import StoredEvidence
from quintain.trial.grade import Check, prepare
from quintain.trial.spend import SpendMeter
from quintain.trial.trace import final_answer
from quintain.workspace.blobs import BlobStore
from quintain.workspace.evidence import Files


def make_evidence(
    *,
    files: Mapping[str, bytes] | None = None,
    baseline: Mapping[str, bytes] | None = None,
    hidden: Mapping[str, bytes] | None = None,
    events: Sequence[Event] = (),
    answer: str | None = None,
    outcome: OutcomeKind = OutcomeKind.COMPLETED,
    spend: Spend | None = None,
    duration_s: float = 1.0,
    counts: Counts | None = None,
    prompt: str = "Do it.",
    store: Path | None = None,
) -> Evidence:
    """Evidence of a trial that never was.

    Args:
        files: contents of the workspace as the agent left it, by path.
        baseline: as the agent found it; empty if not given.
        hidden: laid over a grading copy.
        events: what happened, in order.
        answer: the agent's final answer; what the events say if not given.
        outcome: how the trial ended.
        spend: what the agent spent; what its `Used` events say if not given.
        duration_s: how long it took.
        counts: of its events; only protocol errors and the like are looked at.
        prompt: what the agent was told.
        store: directory for contents; a temporary one if not given.
    """
    blobs = BlobStore(store or Path(tempfile.mkdtemp(prefix="q-evidence-")))
    before, after = _tree(baseline or {}, blobs), _tree(files or {}, blobs)
    changes = _changes(before, after)
    trace = [Traced(seq, seq / 100, event) for seq, event in enumerate(events, 1)]
    attempt = Attempt(
        number=1,
        outcome=Outcome(outcome),
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_s=duration_s,
        answer=answer if answer is not None else final_answer(trace),
        spend=SpendBreakdown(agent=spend if spend is not None else _spent(events)),
        counts=counts or Counts(events=len(trace)),
    )
    return StoredEvidence(
        case=Case("made-up", prompt),
        attempt=attempt,
        trace=trace,
        files=Files(before, changes, blobs),
        baseline=Files(before, ChangeSet(), blobs),
        changes=changes,
        hidden=_tree(hidden, blobs) if hidden is not None else None,
        blobs=blobs,
        checks=(),
        host=dict(os.environ),
    )


def with_nested(
    evidence: Evidence, spec: AssertionSpec[Any], config: Mapping[str, Json], plugins: Plugins
) -> tuple[Check, Evidence]:
    """An assertion made ready, and evidence that can evaluate the assertions inside it.

    Args:
        evidence: from `make_evidence`.
        spec: the assertion.
        config: as a file says it.
        plugins: where the types of the assertions inside come from.
    """
    (check,) = prepare([Assertion(spec.name, config)], plugins.with_(spec))
    assert isinstance(evidence, StoredEvidence)
    return check, evolve(evidence, checks=(check,))


def _tree(files: Mapping[str, bytes], blobs: BlobStore) -> Tree:
    entries: dict[str, Entry] = {}
    for path, data in files.items():
        for depth in range(1, path.count("/") + 1):
            entries["/".join(path.split("/")[:depth])] = Entry("directory", 0o755)
        entries[path] = Entry("file", 0o644, len(data), blobs.put_bytes(data))
    return Tree(dict(sorted(entries.items())))


def _changes(before: Tree, after: Tree) -> ChangeSet:
    found = []
    for path in sorted(before.entries.keys() | after.entries.keys()):
        one, other = before.entries.get(path), after.entries.get(path)
        if one is None:
            found.append(Change(path, "added", after=other))
        elif other is None:
            found.append(Change(path, "deleted", before=one))
        elif one != other:
            found.append(Change(path, "modified", before=one, after=other))
    return ChangeSet(tuple(found))


def _spent(events: Sequence[Event]) -> Spend:
    meter = SpendMeter()
    for event in events:
        if isinstance(event, Used):
            meter.add(event.usage)
    return meter.spend(complete=True)
