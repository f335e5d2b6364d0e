"""A trial: one order in, one report out. Attempts until infrastructure holds, then one grading."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from quintain.model.events import Traced
from quintain.model.grade import Grade
from quintain.model.outcome import NOT_RETRIED, Outcome, OutcomeKind
from quintain.model.plain import Finding
from quintain.model.tree import ChangeSet, Tree
from quintain.model.trial import Attempt, TrialOrder, TrialReport
from quintain.trial.attempt import Ran, run_attempt
from quintain.trial.bench import Bench
from quintain.trial.evidence import StoredEvidence
from quintain.trial.fixtures import Fixtures
from quintain.trial.grade import grade
from quintain.trial.prepare import Prepared
from quintain.workspace.evidence import Files
from quintain.workspace.grading import tampering

NO_FILES = Tree()


async def run_trial(
    order: TrialOrder,
    prepared: Prepared,
    fixtures: Fixtures,
    bench: Bench,
    *,
    earlier: Sequence[Attempt] = (),
) -> TrialReport:
    """Run a trial: as many attempts as infrastructure failures ask for, and a grading if the outcome is scored.

    Args:
        order: what to run.
        prepared: its plugins, from `prepare_order`.
        fixtures: its files, from `Fixtures.capture`.
        bench: where to run it.
        earlier: attempts at it that came to no verdict, when it is taken up again.
    """
    attempts: list[Attempt] = list(earlier)
    while True:
        number = len(attempts) + 1
        await bench.attempt_began(order, number)
        ran = await run_attempt(order, prepared, bench, number, fixtures)
        attempts.append(ran.attempt)
        wait_s = _again_after(ran.attempt.outcome, number - len(earlier), order)
        if wait_s is None:
            break
        await bench.switch.sleep(wait_s)
        if bench.switch.because is not None or not await bench.admits(order, ran.attempt):
            break
    return await _report(order, prepared, fixtures, bench, attempts, ran)


def _again_after(outcome: Outcome, number: int, order: TrialOrder) -> float | None:
    """Seconds until the next attempt, or None if there is to be none."""
    failure = outcome.failure
    if outcome.kind is not OutcomeKind.INFRASTRUCTURE or failure is None or failure in NOT_RETRIED:
        return None
    return order.retry.wait_s(failure.value, number) if number < order.retry.attempts else None


async def _report(
    order: TrialOrder,
    prepared: Prepared,
    fixtures: Fixtures,
    bench: Bench,
    attempts: Sequence[Attempt],
    ran: Ran,
) -> TrialReport:
    outcome, graded = ran.attempt.outcome, None
    if outcome.scored:
        graded = await grade_evidence(order, prepared, fixtures, bench, ran.attempt, ran.trace, ran.changes)
        outcome = settled(outcome, graded)
    return TrialReport(
        trial=order.trial,
        case=order.case.id,
        profile=order.profile,
        candidate=order.candidate,
        repetition=order.repetition,
        outcome=outcome,
        grade=graded,
        attempts=tuple(attempts),
    )


def settled(outcome: Outcome, graded: Grade) -> Outcome:
    """The outcome of a trial whose agent finished: it is missing data if a required assertion could not be judged."""
    if outcome.kind is not OutcomeKind.COMPLETED or graded.passed is not None:
        return outcome
    undecided = [result for result in graded.results if result.required and result.score is None]
    if not undecided:
        return outcome
    reasons = "; ".join(f"{result.id}: {result.reason}" for result in undecided)
    return evolve(outcome, kind=OutcomeKind.GRADER_FAILED, reason=reasons)


async def grade_evidence(
    order: TrialOrder,
    prepared: Prepared,
    fixtures: Fixtures,
    bench: Bench,
    attempt: Attempt,
    trace: Sequence[Traced],
    changes: ChangeSet,
) -> Grade:
    """Grade an attempt; the one path for a trial that just ended and for one from the store."""
    baseline = fixtures.visible or NO_FILES
    evidence = StoredEvidence(
        case=order.case,
        attempt=attempt,
        trace=trace,
        files=Files(baseline, changes, bench.blobs),
        baseline=Files(baseline, ChangeSet(), bench.blobs),
        changes=changes,
        hidden=fixtures.hidden,
        blobs=bench.blobs,
        checks=prepared.checks,
        host=bench.host,
        limit_s=order.limits.assertion_s,
        areas=bench.areas,
        keepers=bench.keepers,
    )
    findings = [
        Finding("tampering", f"the agent {found.kind} {found.path}: {found.why}", (found.path,))
        for found in tampering(baseline, changes, fixtures.hidden, order.case.protected)
    ]
    return await grade(
        prepared.checks,
        evidence,
        limit_s=order.limits.assertion_s,
        grader=prepared.grader,
        findings=findings,
    )
