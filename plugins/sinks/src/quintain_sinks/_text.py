"""What a run's results are called in reports for machines."""

from __future__ import annotations

from quintain import Status, TrialReport


def state(report: TrialReport) -> str:
    """`passed`, `failed`, `ungraded`, or `missing` if nothing is known."""
    if report.passed is None:
        return "ungraded" if report.outcome.scored else "missing"
    return "passed" if report.passed else "failed"


def reasons(report: TrialReport) -> list[str]:
    """Why it did not pass, each in one sentence; what is not required is left out."""
    found = []
    if report.outcome.kind != "completed":
        found.append(f"{report.outcome.describe()}: {report.outcome.reason}")
    for result in report.grade.results if report.grade else ():
        if result.required and result.status is not Status.PASS:
            found.append(f"{result.id} ({result.type}) {result.status.value}: {result.reason}")
    return found
