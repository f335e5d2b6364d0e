"""Campaigns whose truth is known: how often decisions are wrong, and how often they find what is there."""

from __future__ import annotations

from random import Random

import pytest
from campaign.figures import campaign_of, decided, figures_of_values
from quintain.campaign.effects import watched
from quintain.campaign.experiment import finalist_of
from quintain.model.campaign import BASELINE, Objective, Stopping
from quintain.model.decision import Decision, TrialFigures, Verdict
from quintain.statistics import clopper_pearson, detectable_effect

QUICK = pytest.param(1, id="quick")
LONG = pytest.param(20, id="long", marks=pytest.mark.simulation)


def not_above(limit: float, found: int, runs: int) -> bool:
    """The count doesn't speak against a probability of at most the limit; wrong once in a thousand times."""
    low = clopper_pearson(found, runs, 0.999, "greater").low
    return low is not None and low <= limit


def not_below(limit: float, found: int, runs: int) -> bool:
    """Likewise, of at least the limit."""
    high = clopper_pearson(found, runs, 0.999, "less").high
    return high is not None and high >= limit


def trials(
    random: Random, name: str, rates: list[float], repetitions: int = 1, split: str = "validation"
) -> list[TrialFigures]:
    values: list[list[float | None]] = [[float(random.random() < rate) for _ in range(repetitions)] for rate in rates]
    return figures_of_values(name, values, split=split)


def hardness(random: Random, cases: int) -> list[float]:
    """Pass rates of cases, of which some are hard and some easy."""
    return [random.choice((0.05, 0.3, 0.5, 0.7, 0.95)) for _ in range(cases)]


@pytest.mark.parametrize("times", [QUICK, LONG])
@pytest.mark.parametrize(("cases", "repetitions", "candidates"), [(12, 1, 1), (20, 1, 4), (15, 3, 3)])
def test_candidates_that_are_no_better_are_promoted_no_more_often_than_alpha(
    times: int, cases: int, repetitions: int, candidates: int
) -> None:
    random, runs = Random(f"{cases} {repetitions} {candidates}"), 100 * times
    campaign = campaign_of(cases, repetitions=repetitions)
    wrong = 0
    for _ in range(runs):
        rates = hardness(random, cases)
        names = (BASELINE, *(f"c{number}" for number in range(candidates)))
        decision = decided(campaign, *(trials(random, name, rates, repetitions) for name in names))
        wrong += decision.verdict is Verdict.PROMOTE
    assert not_above(campaign.alpha, wrong, runs)


@pytest.mark.parametrize("times", [QUICK, LONG])
def test_a_second_objective_is_no_second_chance(times: int) -> None:
    random, runs = Random(5), 100 * times
    campaign = campaign_of(20, objectives=(Objective("pass_rate", tolerance=0.9), Objective("pass_rate")))
    wrong = 0
    for _ in range(runs):
        rates = hardness(random, 20)
        decision = decided(campaign, trials(random, BASELINE, rates), trials(random, "same", rates))
        wrong += decision.verdict is Verdict.PROMOTE
    assert not_above(campaign.alpha, wrong, runs)


@pytest.mark.parametrize("times", [QUICK, pytest.param(10, id="long", marks=pytest.mark.simulation)])
def test_an_effect_that_the_plan_calls_detectable_is_found_with_the_planned_power(times: int) -> None:
    random, runs, cases, repetitions = Random(7), 50 * times, 60, 3
    campaign = campaign_of(cases, repetitions=repetitions)
    effect = detectable_effect(cases, repetitions, 0.0, 0.5, campaign.alpha, 0.8)
    found = 0
    for _ in range(runs):
        base = trials(random, BASELINE, [0.5] * cases, repetitions)
        better = trials(random, "better", [0.5 + effect] * cases, repetitions)
        found += decided(campaign, base, better).verdict is Verdict.PROMOTE
    # The exact test is a little more careful than the normal distribution that planned it.
    assert not_below(0.75, found, runs)


@pytest.mark.parametrize("times", [QUICK, pytest.param(10, id="long", marks=pytest.mark.simulation)])
def test_the_best_of_many_equal_candidates_looks_better_on_validation_and_not_on_test(times: int) -> None:
    random, runs, cases = Random(11), 50 * times, 20
    campaign = campaign_of({"validation": cases, "test": cases})
    gains: list[tuple[float, float]] = []
    wrong = 0
    for _ in range(runs):
        seen, unseen = hardness(random, cases), hardness(random, cases)
        names = (BASELINE, *(f"c{number}" for number in range(8)))
        searched = [trials(random, name, seen) for name in names]
        chosen = finalist_of(decided(campaign, *searched))
        if chosen is None:
            continue
        tested = [trials(random, name, unseen, split="test") for name in (BASELINE, chosen)]
        decision = decided(campaign, *searched, *tested)
        wrong += decision.verdict is Verdict.PROMOTE
        gains.append((gain_on_validation(decision, chosen), decision.confirmed[0].difference.estimate or 0.0))
    validation, test = (sum(gain) / len(gains) for gain in zip(*gains, strict=True))
    assert len(gains) > runs / 2
    assert validation > 0.08
    assert abs(test) < 0.06
    assert not_above(campaign.alpha, wrong, runs)


def gain_on_validation(decision: Decision, candidate: str) -> float:
    effect = next(one for one in decision.standings if one.candidate == candidate).effects[0]
    return effect.difference.estimate or 0.0


@pytest.mark.parametrize("times", [QUICK, LONG])
@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_watching_after_every_case_promotes_no_more_often_than_alpha(times: int, tolerance: float) -> None:
    random, runs = Random(f"{tolerance}"), 100 * times
    campaign = campaign_of(
        60, objectives=(Objective("pass_rate", tolerance=tolerance),), stopping=Stopping(anytime=True)
    )
    wrong = 0
    for _ in range(runs):
        # The candidate is better by just the tolerance, which is no difference.
        base = [random.random() < 0.5 for _ in range(60)]
        mine = [random.random() < 0.5 + tolerance for _ in range(60)]
        differences = [float(one) - float(other) for one, other in zip(mine, base, strict=True)]
        wrong += watched(campaign, differences, 1).finding == "better"
    assert not_above(campaign.alpha, wrong, runs)
