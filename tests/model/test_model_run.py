"""What a run comes to: rates with their bounds, and exit codes that a script can trust."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain.model.grade import Grade
from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage
from quintain.model.run import RunInfo, RunSummary, Tally
from quintain.model.trial import Attempt, SpendBreakdown, TrialReport
from quintain.model.usage import NO_SPEND, Cost, Spend, Tokens


def summary(tally: Tally, status: str = "finished") -> RunSummary:
    return RunSummary(
        RunInfo("r", "2026-01-02T03:04:05Z", "0", tally.planned), status, tally, (), SpendBreakdown(), 1.0
    )


def test_missing_trials_are_in_no_rate_and_in_both_bounds() -> None:
    tally = Tally(planned=100, passed=80, failed=10, unscored={"infrastructure": 6, "grader_failed": 4})
    assert tally.graded == 90
    assert tally.missing == 10
    assert tally.rate == pytest.approx(80 / 90)
    assert tally.bounds == (0.80, 0.90)
    assert tally.coverage == 0.90


def test_an_empty_group_has_no_rate() -> None:
    tally = Tally()
    assert tally.rate is None
    assert tally.bounds is None
    assert tally.coverage is None
    assert tally.missing == 0


def test_a_group_of_which_nothing_is_known_could_be_anything() -> None:
    tally = Tally(planned=4, unscored={"cancelled": 1}, not_started=3)
    assert tally.rate is None
    assert tally.bounds == (0.0, 1.0)
    assert tally.coverage == 0.0


def test_a_trial_that_nothing_decides_is_missing_too() -> None:
    assert Tally(planned=2, passed=1, ungraded=1).bounds == (0.5, 1.0)


@given(*[st.integers(0, 50)] * 5)
def test_the_rate_lies_within_its_bounds(passed: int, failed: int, ungraded: int, unscored: int, waiting: int) -> None:
    planned = passed + failed + ungraded + unscored + waiting
    tally = Tally(planned, passed, failed, ungraded, {"infrastructure": unscored}, waiting)
    assert tally.missing == ungraded + unscored + waiting
    if tally.bounds is None:
        assert planned == 0
        return
    low, high = tally.bounds
    assert 0 <= low <= high <= 1
    if tally.rate is not None:
        assert low <= tally.rate + 1e-12
        assert tally.rate <= high + 1e-12
    if not tally.missing:
        assert low == high


@pytest.mark.parametrize(
    ("tally", "status", "code"),
    [
        (Tally(planned=2, passed=2), "finished", 0),
        (Tally(planned=2, passed=1, failed=1), "finished", 1),
        (Tally(planned=2, unscored={"infrastructure": 2}), "finished", 3),
        (Tally(planned=2, passed=1, unscored={"infrastructure": 1}), "finished", 3),
        (Tally(planned=2, failed=1, unscored={"infrastructure": 1}), "finished", 1),
        (Tally(planned=2, passed=1, ungraded=1), "finished", 3),
        (Tally(planned=2, ungraded=2), "finished", 3),
        (Tally(planned=2, passed=1, not_started=1), "stopped", 3),
        (Tally(planned=2, failed=1, not_started=1), "stopped", 1),
        (Tally(planned=0), "finished", 3),
        (Tally(planned=2, passed=2), "interrupted", 130),
        (Tally(planned=2, failed=2), "interrupted", 130),
    ],
)
def test_the_exit_code_is_zero_only_if_everything_passed(tally: Tally, status: str, code: int) -> None:
    assert summary(tally, status).exit_code == code


@given(*[st.integers(0, 5)] * 5)
def test_no_run_with_anything_missing_exits_with_zero(
    passed: int, failed: int, ungraded: int, unscored: int, waiting: int
) -> None:
    planned = passed + failed + ungraded + unscored + waiting
    tally = Tally(planned, passed, failed, ungraded, {"infrastructure": unscored}, waiting)
    assert (summary(tally).exit_code == 0) == (passed == planned > 0)


# reports

COMPLETED = Outcome(OutcomeKind.COMPLETED)


def report(outcome: Outcome, grade: Grade | None, *attempts: Attempt) -> TrialReport:
    attempts = attempts or (Attempt(1, outcome, "2026-01-02T03:04:05Z", 1.0),)
    return TrialReport("a@p#1", "a", "p", "baseline", 1, outcome, grade, attempts)


@pytest.mark.parametrize(
    ("outcome", "grade", "passed"),
    [
        (COMPLETED, Grade(True, 1.0), True),
        (COMPLETED, Grade(False, 0.0), False),
        (COMPLETED, Grade(None, None), None),
        (COMPLETED, None, None),
        (Outcome(OutcomeKind.TIMED_OUT), Grade(True, 1.0), False),
        (Outcome(OutcomeKind.AGENT_FAILED), Grade(True, 1.0), False),
        (Outcome(OutcomeKind.INFRASTRUCTURE, "", Stage.OPEN, Failure.NETWORK), Grade(True, 1.0), None),
        (Outcome(OutcomeKind.GRADER_FAILED), Grade(None, None), None),
        (Outcome(OutcomeKind.INVALID), Grade(True, 1.0), None),
        (Outcome(OutcomeKind.CANCELLED), None, None),
    ],
)
def test_a_trial_passed_failed_or_is_unknown(outcome: Outcome, grade: Grade | None, passed: bool | None) -> None:
    assert report(outcome, grade).passed is passed


def test_the_spend_of_a_trial_is_that_of_all_its_attempts_and_judges() -> None:
    def attempt(number: int) -> Attempt:
        spend = SpendBreakdown(agent=Spend(Tokens(input=100, output=10), Cost.known(0.1), 4))
        return Attempt(number, COMPLETED, "2026-01-02T03:04:05Z", 2.0, spend=spend)

    grade = Grade(True, 1.0, spend=Spend(Tokens(input=5), Cost(), 1))
    whole = report(COMPLETED, grade, attempt(1), attempt(2), attempt(3))
    assert whole.spend.agent.tokens == Tokens(input=300, output=30)
    assert whole.spend.agent.cost.usd == pytest.approx(0.3)
    assert whole.spend.answerer == NO_SPEND
    assert whole.spend.total.cost.describe() == "unknown (at least $0.3000)"
    assert whole.duration_s == 6.0
    assert whole.last.number == 3
