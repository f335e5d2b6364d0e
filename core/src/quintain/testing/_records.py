"""Records made up for tests: a report, an order, a run."""

from __future__ import annotations

from collections.abc import Sequence

from quintain.model.case import Case
from quintain.model.events import Ready
from quintain.model.grade import AssertionResult, Grade, Status
from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage
from quintain.model.plain import Plug
from quintain.model.run import CaseSummary, RunInfo, RunSummary, Tally
from quintain.model.trial import Attempt, SpendBreakdown, StageTime, TrialOrder, TrialReport
from quintain.model.usage import Cost, Spend, Tokens

HOSTILE = (
    '</script><img src=x onerror="alert(1)">" onmouseover="x \x1b]0;owned\x07\x1b[2J\x1b]8;;http://e/\x07 '
    '=HYPERLINK("http://e","x") ]]> \x00\x0b | `x` [a](javascript:1) ::error::x %0A \ud83d \u2028 \r\n ünï'
)
"""Text that breaks out of HTML, XML, Markdown, CSV, terminals and log commands where it isn't escaped."""


def made_order(case: str = "a", *, repetition: int = 1) -> TrialOrder:
    """An order of the case under the profile `default`."""
    return TrialOrder(
        trial=f"{case}@default#{repetition}",
        case=Case(case, "Do it."),
        profile="default",
        driver=Plug("made-up"),
        answerer=Plug("deny"),
        repetition=repetition,
    )


def made_report(
    case: str = "a",
    *,
    repetition: int = 1,
    passed: bool = True,
    infrastructure: bool = False,
    text: str = "as it should be",
) -> TrialReport:
    """A report: passed, failed or missing.

    Args:
        case: id of the case.
        repetition: of the case.
        passed: whether its one assertion passed.
        infrastructure: the trial is missing data instead.
        text: the agent's answer, and the reason of the assertion or of the failure.
    """
    outcome = Outcome(OutcomeKind.COMPLETED)
    grade: Grade | None = None
    if infrastructure:
        outcome = Outcome(OutcomeKind.INFRASTRUCTURE, text, Stage.CONVERSE, Failure.RATE_LIMIT)
    else:
        status = Status.PASS if passed else Status.FAIL
        result = AssertionResult("check", "file_exists", status, 1.0 if passed else 0.0, text)
        grade = Grade(passed, result.score, (result,), identity="sha256:0")
    attempt = Attempt(
        number=1,
        outcome=outcome,
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_s=1.5,
        stages=(StageTime("converse", 1.25),),
        agent=Ready("made-up", "1.0", "m1"),
        answer=text,
        spend=SpendBreakdown(agent=Spend(Tokens(input=100, output=20), Cost.known(0.01), 1)),
    )
    return TrialReport(
        trial=f"{case}@default#{repetition}",
        case=case,
        profile="default",
        candidate="baseline",
        repetition=repetition,
        outcome=outcome,
        grade=grade,
        attempts=(attempt,),
    )


def made_run(trials: int = 1, *, cases: Sequence[str] = ("a",)) -> RunInfo:
    """What is known when a run begins."""
    return RunInfo(
        id="2026-01-02T03-04-05-abcd",
        started_at="2026-01-02T03:04:05.000+00:00",
        version="0.0",
        trials=trials,
        cases=tuple(cases),
        profiles=("default",),
        command="quintain run",
        platform="Linux x86_64, Python 3.11.0",
    )


def made_summary(reports: Sequence[TrialReport], *, planned: int | None = None, status: str = "finished") -> RunSummary:
    """What a run of the reports came to."""
    trials = planned if planned is not None else len(reports)
    unscored: dict[str, int] = {}
    for report in reports:
        if not report.outcome.scored:
            unscored[report.outcome.kind.value] = unscored.get(report.outcome.kind.value, 0) + 1
    tally = Tally(
        planned=trials,
        passed=sum(report.passed is True for report in reports),
        failed=sum(report.passed is False for report in reports),
        unscored=unscored,
        not_started=trials - len(reports),
    )
    return RunSummary(
        run=made_run(trials, cases=[report.case for report in reports]),
        status=status,
        tally=tally,
        cases=tuple(CaseSummary(report.case, report.profile, _one(report)) for report in reports),
        spend=SpendBreakdown(),
        duration_s=2.0,
        reason=None if status == "finished" else "interrupted by a signal",
    )


def _one(report: TrialReport) -> Tally:
    if not report.outcome.scored:
        return Tally(1, unscored={report.outcome.kind.value: 1})
    return Tally(1, passed=int(report.passed is True), failed=int(report.passed is False))
