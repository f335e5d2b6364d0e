"""What is counted of one trial."""

from __future__ import annotations

import pytest
from quintain.campaign.metrics import METRICS, figures_of
from quintain.model.grade import Grade
from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage
from quintain.model.trial import Attempt, Counts, SpendBreakdown, TrialReport
from quintain.model.usage import NO_SPEND, Cost, Spend, Tokens

PAID = Spend(Tokens(input=10, cache_read=5, output=3), Cost.known(0.25), calls=1)


def report_of(
    *outcomes: Outcome, grade: Grade | None = None, spend: Spend = PAID, judge: Spend | None = None
) -> TrialReport:
    attempts = tuple(
        Attempt(number, outcome, "2026-01-01T00:00:00Z", 2.0, spend=SpendBreakdown(spend), counts=Counts(tool_calls=4))
        for number, outcome in enumerate(outcomes, 1)
    )
    return TrialReport("t", "case", "p", "short", 1, outcomes[-1], grade, attempts)


def passing(spend: Spend = NO_SPEND) -> Grade:
    return Grade(passed=True, score=0.75, spend=spend)


COMPLETED = Outcome(OutcomeKind.COMPLETED)
CRASHED = Outcome(OutcomeKind.INFRASTRUCTURE, stage=Stage.OPEN, failure=Failure.CRASH)


def test_a_scored_trial_has_every_metric_that_trials_have() -> None:
    figures = figures_of(report_of(COMPLETED, grade=passing()), "validation", "family")
    assert set(figures.metrics) == {name for name, metric in METRICS.items() if metric.of == "trial"}
    assert figures.scored
    assert figures.metrics["pass_rate"] == 1.0
    assert figures.metrics["score"] == 0.75
    assert figures.metrics["tokens"] == 18
    assert (figures.split, figures.cluster, figures.candidate) == ("validation", "family", "short")


def test_what_the_agent_failed_at_is_a_failed_trial_and_no_missing_one() -> None:
    figures = figures_of(report_of(Outcome(OutcomeKind.TIMED_OUT), grade=passing()), "validation", None)
    assert figures.scored
    assert figures.metrics["pass_rate"] == 0.0


def test_a_trial_that_infrastructure_ended_has_no_metric_but_its_spend_counts() -> None:
    figures = figures_of(report_of(CRASHED, CRASHED), "validation", None)
    assert not figures.scored
    assert figures.metrics == {}
    assert figures.spend.cost.usd == pytest.approx(0.5)
    assert figures.outcome == "infrastructure (open, crash)"


def test_a_trial_whose_grader_failed_still_says_what_the_agent_used() -> None:
    figures = figures_of(report_of(Outcome(OutcomeKind.GRADER_FAILED)), "validation", None)
    assert not figures.scored
    assert "pass_rate" not in figures.metrics
    assert figures.metrics["cost_usd"] == 0.25


def test_an_unknown_cost_and_unknown_tokens_are_absent_and_not_zero() -> None:
    figures = figures_of(report_of(COMPLETED, grade=passing(), spend=Spend(None, Cost(), 1, False)), "validation", None)
    assert "cost_usd" not in figures.metrics
    assert not [name for name in figures.metrics if name.startswith("tokens")]


def test_a_lower_bound_of_a_cost_is_not_taken_for_the_cost() -> None:
    spend = Spend(Tokens(input=1), Cost.at_least(0.1), 1, complete=False)
    figures = figures_of(report_of(COMPLETED, grade=passing(), spend=spend), "validation", None)
    assert "cost_usd" not in figures.metrics
    assert "tokens" not in figures.metrics


def test_judges_are_no_cost_of_the_candidate_but_of_the_trial() -> None:
    figures = figures_of(report_of(COMPLETED, grade=passing(spend=PAID)), "validation", None)
    assert figures.metrics["cost_usd"] == 0.25
    assert figures.spend.cost.usd == pytest.approx(0.5)


def test_attempts_that_infrastructure_ended_are_part_of_what_a_trial_cost() -> None:
    figures = figures_of(report_of(CRASHED, COMPLETED, grade=passing()), "validation", None)
    assert figures.metrics["cost_usd"] == pytest.approx(0.5)
    assert figures.metrics["attempts"] == 2
    assert figures.metrics["duration_s"] == 2.0


def test_every_metric_says_what_becomes_of_what_is_missing() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.missing
        assert metric.describe
