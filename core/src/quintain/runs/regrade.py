"""Grading stored evidence again, with the case as it was or as it is now; no agent runs, and the first grade stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime

from attrs import evolve, frozen

from quintain.model.case import Case
from quintain.model.grade import Grade
from quintain.model.outcome import Outcome
from quintain.model.tree import ChangeSet
from quintain.plugins import Plugins
from quintain.runs.store import RunStore
from quintain.trial.bench import Bench
from quintain.trial.fixtures import Fixtures, load_record
from quintain.trial.prepare import prepare_order
from quintain.trial.trial import grade_evidence, settled
from quintain.workspace.blobs import BlobStore


@frozen
class Regraded:
    """One trial's grade before and now; `now` is None if its outcome is not scored, so there is nothing to grade."""

    trial: str
    before: Grade | None
    now: Grade | None
    outcome: Outcome


async def regrade(
    run: RunStore,
    blobs: BlobStore,
    plugins: Plugins,
    *,
    host: Mapping[str, str],
    cases: Mapping[str, Case] | None = None,
    trials: Sequence[str] | None = None,
) -> AsyncIterator[Regraded]:
    """Grade trials of a run again and store the new grades beside the old.

    Args:
        run: open for writing.
        blobs: the store of file contents.
        plugins: where assertions come from.
        host: the host's environment variables.
        cases: cases as they are now, by id; their assertions, hidden fixtures and limits are used. Others are graded
            as they were.
        trials: names of the trials; all if not given.
    """
    bench = Bench(plugins=plugins, blobs=blobs, evidence=run.evidence, host=host)
    for name in trials if trials is not None else [row.trial for row in run.rows()]:
        report, order = run.report(name), run.order(name)
        attempt = report.last
        if not attempt.outcome.scored:
            yield Regraded(name, report.grade, None, report.outcome)
            continue
        fixtures = Fixtures.stored(order.fixtures, order.hidden, blobs)
        case = (cases or {}).get(order.case.id)
        if case is not None:
            hidden = Fixtures.capture(evolve(case, fixtures=None), blobs)
            fixtures = evolve(
                fixtures, hidden=hidden.hidden, hidden_digest=hidden.hidden_digest, canaries=hidden.canaries
            )
            order = evolve(order, case=case, hidden=fixtures.hidden_digest, limits=case.limits.over(order.limits))
        prepared = prepare_order(order, plugins)
        changes = load_record(attempt.changes, ChangeSet, blobs) if attempt.changes else ChangeSet()
        trace = run.trace(name, attempt.number)
        now = await grade_evidence(order, prepared, fixtures, bench, attempt, trace, changes)
        run.add_grading(name, datetime.now(UTC).isoformat(timespec="milliseconds"), now)
        yield Regraded(name, report.grade, now, settled(attempt.outcome, now))
