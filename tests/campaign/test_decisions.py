"""The decision of a campaign: what is promoted, what is not, and why."""

from __future__ import annotations

import math
from typing import Any

import pytest
from attrs import evolve
from campaign.figures import campaign_of, candidates_of, decided, figures_of_values, with_metric
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.campaign.select import decide
from quintain.model.campaign import BASELINE, Constraint, Objective, Stopping
from quintain.model.codec import dumps, to_plain
from quintain.model.decision import Decision, Standing, TrialFigures, Verdict
from quintain.model.usage import Cost, Spend


def standing(decision: Decision, candidate: str) -> Standing:
    return next(one for one in decision.standings if one.candidate == candidate)


def ones(count: int) -> list[list[float | None]]:
    return [[1.0]] * count


def zeros(count: int) -> list[list[float | None]]:
    return [[0.0]] * count


def test_a_candidate_that_is_shown_to_be_better_is_promoted_with_numbers() -> None:
    campaign = campaign_of(30)
    base = figures_of_values(BASELINE, ones(15) + zeros(15))
    short = figures_of_values("short", ones(27) + zeros(3))
    decision = decided(campaign, base, short)
    assert decision.verdict is Verdict.PROMOTE
    assert decision.candidate == "short"
    for part in ("`short` is better", "0.9 against 0.5", "30 cases", "+0.4", "adjusted p = 0.00049"):
        assert part in decision.why
    effect = standing(decision, "short").effects[0]
    assert effect.test.method == "mcnemar exact"
    assert len(effect.improved) == 12
    assert effect.regressed == ()


def test_a_candidate_that_is_shown_to_be_worse_leaves_the_baseline() -> None:
    decision = decided(
        campaign_of(20), figures_of_values(BASELINE, ones(20)), figures_of_values("short", ones(10) + zeros(10))
    )
    assert decision.verdict is Verdict.KEEP_BASELINE
    assert decision.candidate is None
    assert "worse than the baseline" in decision.why


def test_a_difference_that_may_be_chance_decides_nothing() -> None:
    decision = decided(
        campaign_of(20),
        figures_of_values(BASELINE, ones(10) + zeros(10)),
        figures_of_values("short", ones(12) + zeros(8)),
    )
    assert decision.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert "not shown to be better" in decision.why


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("cases", [1, 2, 10])
@pytest.mark.parametrize("repetitions", [1, 3])
def test_all_pass_all_fail_and_ties_everywhere_are_not_enough_evidence(
    value: float, cases: int, repetitions: int
) -> None:
    values = [[value] * repetitions] * cases
    decision = decided(
        campaign_of(cases, repetitions=repetitions),
        figures_of_values(BASELINE, values),
        figures_of_values("short", values),
    )
    assert decision.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    effect = standing(decision, "short").effects[0]
    assert effect.difference.estimate == 0.0
    assert effect.test.p == 1.0
    assert effect.candidate.low is not None
    assert effect.candidate.high is not None
    assert effect.candidate.high - effect.candidate.low > 0.05
    assert "NaN" not in dumps(to_plain(decision))


def test_all_of_a_thousand_that_fail_are_known_better_than_all_of_ten() -> None:
    def interval(cases: int) -> list[float | None]:
        decision = decided(
            campaign_of(cases), figures_of_values(BASELINE, zeros(cases)), figures_of_values("short", zeros(cases))
        )
        found = standing(decision, "short").effects[0].candidate
        return [found.low, found.high]

    assert interval(10) == pytest.approx([0.0, 0.3085], abs=1e-4)
    assert interval(1000) == pytest.approx([0.0, 0.0037], abs=1e-4)


def test_one_case_that_differs_says_nothing_and_p_is_neither_0_nor_nan() -> None:
    decision = decided(campaign_of(1), figures_of_values(BASELINE, zeros(1)), figures_of_values("short", ones(1)))
    effect = standing(decision, "short").effects[0]
    assert decision.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert effect.test.p == 1.0
    assert effect.finding == "unknown"
    assert any("can't show a difference" in limit for limit in decision.limits)


def test_a_case_that_ran_more_often_weighs_no_more() -> None:
    campaign = campaign_of(2, repetitions=9)
    a = figures_of_values("short", [[1.0] * 9, [0.0]])
    b = figures_of_values(BASELINE, [[1.0], [0.0] * 9])
    decision = decided(campaign, b, a)
    effect = standing(decision, "short").effects[0]
    assert effect.candidate.estimate == effect.baseline.estimate == 0.5
    assert effect.difference.estimate == 0.0
    assert any("different number of values" in limit for limit in decision.limits)


def test_no_difference_within_a_tolerance_keeps_the_baseline_only_if_that_is_shown() -> None:
    objective = Objective("score", tolerance=0.2)
    values: list[list[float | None]] = [[0.5]]

    def verdict(cases: int) -> Verdict:
        campaign = campaign_of(cases, objectives=(objective,))
        base = figures_of_values(BASELINE, values * cases, metric="score")
        return decided(campaign, base, figures_of_values("short", values * cases, metric="score")).verdict

    assert verdict(5) is Verdict.NOT_ENOUGH_EVIDENCE
    assert verdict(200) is Verdict.KEEP_BASELINE


def test_an_equivalent_first_objective_lets_the_second_decide() -> None:
    campaign = campaign_of(200, objectives=(Objective("score", tolerance=0.2), Objective("cost_usd")))
    base = figures_of_values(BASELINE, [[0.5]] * 200, metric="score")
    short = figures_of_values("short", [[0.5]] * 200, metric="score")
    costs = [0.1 + (number % 7) / 100 for number in range(200)]
    cheaper = [cost - 0.03 for cost in costs]
    decision = decided(campaign, with_metric(base, "cost_usd", costs), with_metric(short, "cost_usd", cheaper))
    assert decision.verdict is Verdict.PROMOTE
    assert "cost_usd" in decision.why


def test_a_small_gain_that_is_certain_does_not_beat_the_tolerance() -> None:
    campaign = campaign_of(100, objectives=(Objective("cost_usd", tolerance=0.05),))
    costs = [0.1 + (number % 7) / 100 for number in range(100)]
    base = with_metric(figures_of_values(BASELINE, ones(100)), "cost_usd", costs)
    short = with_metric(
        figures_of_values("short", ones(100)),
        "cost_usd",
        [cost - 0.01 - number % 3 / 1000 for number, cost in enumerate(costs)],
    )
    effect = standing(decided(campaign, base, short), "short").effects[0]
    assert effect.difference.high is not None
    assert effect.difference.high < 0
    assert effect.finding == "equivalent"


def test_a_worse_first_objective_can_not_be_bought_back() -> None:
    campaign = campaign_of(30, objectives=(Objective("pass_rate"), Objective("cost_usd")))
    base = with_metric(figures_of_values(BASELINE, ones(30)), "cost_usd", [1.0 + n / 100 for n in range(30)])
    short = with_metric(figures_of_values("short", ones(15) + zeros(15)), "cost_usd", [0.01] * 30)
    decision = decided(campaign, base, short)
    assert decision.verdict is Verdict.KEEP_BASELINE
    assert standing(decision, "short").effects[1].finding == "better"
    assert standing(decision, "short").frontier


def gated(**constraint: Any) -> Decision:
    campaign = campaign_of(30, constraints=(Constraint("pass_rate", **constraint),))
    base = figures_of_values(BASELINE, ones(10) + zeros(20))
    return decided(campaign, base, figures_of_values("short", ones(27) + zeros(3)))


def test_a_constraint_that_is_missed_is_named_with_its_number() -> None:
    decision = gated(min=0.95)
    assert decision.verdict is Verdict.FAILED_CONSTRAINT
    assert "pass_rate is 0.9, asked for >= 0.95" in decision.why
    gate = standing(decision, "short").gates[0]
    assert gate.met is False
    assert gate.violation == pytest.approx(0.05 / 0.95)


def test_a_constraint_with_confidence_is_met_missed_or_can_not_be_told() -> None:
    met, open_one, missed = (
        gated(min=0.6, confidence=0.95),
        gated(min=0.85, confidence=0.95),
        gated(min=0.99, confidence=0.95),
    )
    assert met.verdict is Verdict.PROMOTE
    assert standing(met, "short").eligible is True
    assert open_one.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert standing(open_one, "short").eligible is None
    assert "isn't shown to meet every constraint" in open_one.why
    assert missed.verdict is Verdict.FAILED_CONSTRAINT
    value = standing(met, "short").gates[0].value
    assert value is not None
    assert (value.side, value.level, value.high) == ("greater", 0.95, None)


def test_a_constraint_on_the_difference_is_paired_and_does_not_bind_the_baseline() -> None:
    decision = gated(min_difference=0.5)
    assert standing(decision, "short").gates[0].met is True
    assert standing(decision, BASELINE).gates == ()


def test_a_cost_that_is_unknown_for_some_trials_is_no_low_cost() -> None:
    campaign = campaign_of(12, constraints=(Constraint("cost_usd", max=1.0),))
    base = with_metric(figures_of_values(BASELINE, ones(12)), "cost_usd", [0.5] * 12)
    cheap = with_metric(figures_of_values("short", ones(12)), "cost_usd", [0.1] * 12)
    unknown = [evolve(one, metrics={"pass_rate": 1.0}, spend=Spend(None, Cost(), 1, False)) for one in cheap[:3]]
    decision = decided(campaign, base, [*unknown, *cheap[3:]])
    assert standing(decision, "short").eligible is None
    assert "unknown for 3 of 12 trials" in standing(decision, "short").gates[0].reason
    assert any("cost of some trials of `short` is unknown" in limit for limit in decision.limits)


def test_dear_trials_without_a_cost_do_not_make_a_candidate_cheaper() -> None:
    # The known costs of the candidate are those of its cheap cases; unpaired it would look three times as cheap.
    campaign = campaign_of(20, objectives=(Objective("cost_usd"),))
    costs = [0.1] * 10 + [1.0] * 10
    base = with_metric(figures_of_values(BASELINE, ones(20)), "cost_usd", costs)
    short = with_metric(figures_of_values("short", ones(20)), "cost_usd", costs)
    short = short[:10] + [evolve(one, metrics={"pass_rate": 1.0}) for one in short[10:]]
    effect = standing(decided(campaign, base, short), "short").effects[0]
    assert effect.difference.estimate == 0.0
    assert effect.finding == "unknown"
    assert len(effect.unpaired) == 10


def test_missing_trials_are_bounded_and_too_many_leave_the_campaign_incomplete() -> None:
    campaign = campaign_of(100, coverage=0.95)
    values = [[1.0]] * 80 + [[0.0]] * 10 + [[None]] * 10
    base = figures_of_values(BASELINE, ones(50) + zeros(50))
    decision = decided(campaign, base, figures_of_values("short", values))
    short = standing(decision, "short")
    assert decision.verdict is Verdict.INCOMPLETE
    assert "90 of 100 trials of `short`" in decision.why
    assert (short.worst_case, short.best_case) == (0.8, 0.9)
    assert (short.planned, short.scored, short.missing) == (100, 90, 10)
    assert short.missing_trials[0] == "short:validation/090@p0#1 (infrastructure (open, crash))"
    assert any("more missing trials than the baseline" in limit for limit in decision.limits)
    assert decided(evolve(campaign, coverage=0.9), base, figures_of_values("short", values)).verdict is Verdict.PROMOTE


def test_trials_that_never_began_are_missing_too() -> None:
    base, short = figures_of_values(BASELINE, zeros(20)), figures_of_values("short", ones(20))
    decision = decided(campaign_of(20), base, short, planned={BASELINE: 20, "short": 40})
    assert decision.verdict is Verdict.INCOMPLETE
    assert standing(decision, "short").best_case == 1.0


def test_nothing_at_all_is_incomplete_or_unknown_and_no_crash() -> None:
    campaign = campaign_of(5)
    arguments: dict[str, Any] = {"candidates": candidates_of("short"), "figures": []}
    assert decide(campaign, **arguments, planned={BASELINE: 5, "short": 5}).verdict is Verdict.INCOMPLETE
    assert decide(campaign, **arguments, planned={}).verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert decide(campaign, candidates=candidates_of(), figures=[], planned={}).verdict is Verdict.KEEP_BASELINE


def test_many_candidates_raise_what_is_asked_of_each() -> None:
    campaign = campaign_of(20)
    base = figures_of_values(BASELINE, zeros(20))
    good = figures_of_values("short", ones(6) + zeros(14))
    others = [figures_of_values(f"other{number}", zeros(20)) for number in range(5)]
    assert decided(campaign, base, good).verdict is Verdict.PROMOTE
    decision = decided(campaign, base, good, *others)
    assert decision.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert standing(decision, "short").effects[0].test.adjusted == pytest.approx(6 * 0.03125)


def test_cases_of_one_cluster_are_one_case() -> None:
    campaign = campaign_of(20)
    clusters = [f"family{number // 10}" for number in range(20)]
    base = figures_of_values(BASELINE, zeros(20), clusters=clusters)
    decision = decided(campaign, base, figures_of_values("short", ones(20), clusters=clusters))
    effect = standing(decision, "short").effects[0]
    assert decision.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert (effect.difference.n, effect.difference.cases) == (2, 20)


def test_the_test_split_decides_and_validation_only_nominates() -> None:
    campaign = campaign_of({"validation": 20, "test": 20})
    base = figures_of_values(BASELINE, zeros(20))
    short = figures_of_values("short", ones(20))
    before = decided(campaign, base, short)
    assert before.verdict is Verdict.INCOMPLETE
    assert "test split" in before.why
    base_test = figures_of_values(BASELINE, zeros(20), split="test")
    lucky = figures_of_values("short", ones(3) + zeros(17), split="test")
    better = figures_of_values("short", ones(9) + zeros(11), split="test")
    assert decided(campaign, base, short, base_test, lucky).verdict is Verdict.NOT_ENOUGH_EVIDENCE
    decision = decided(campaign, base, short, base_test, better)
    assert decision.verdict is Verdict.PROMOTE
    assert decision.confirmed[0].difference.estimate == pytest.approx(0.45)
    assert "on test 0.45 against 0" in decision.why


def test_a_candidate_that_validation_did_not_prove_can_be_proved_by_the_test_split_alone() -> None:
    campaign = campaign_of({"validation": 5, "test": 20})
    decision = decided(
        campaign,
        figures_of_values(BASELINE, zeros(5)),
        figures_of_values("short", ones(3) + zeros(2)),
        figures_of_values(BASELINE, zeros(20), split="test"),
        figures_of_values("short", ones(10) + zeros(10), split="test"),
    )
    assert decision.verdict is Verdict.PROMOTE


def test_a_constraint_on_the_test_split_binds_the_finalist() -> None:
    campaign = campaign_of(
        {"validation": 20, "test": 20}, constraints=(Constraint("pass_rate", min=0.8, split="test"),)
    )
    decision = decided(
        campaign,
        figures_of_values(BASELINE, zeros(20)),
        figures_of_values("short", ones(20)),
        figures_of_values(BASELINE, zeros(20), split="test"),
        figures_of_values("short", ones(14) + zeros(6), split="test"),
    )
    assert decision.verdict is Verdict.FAILED_CONSTRAINT


def test_candidates_that_nothing_tells_apart_share_a_rank_and_the_incumbent_comes_first() -> None:
    values = ones(3)
    decision = decided(
        campaign_of(3),
        figures_of_values("b", values),
        figures_of_values("a", values),
        figures_of_values(BASELINE, values),
    )
    assert [(one.candidate, one.rank) for one in decision.standings] == [(BASELINE, 1), ("a", 2), ("b", 2)]


def test_smaller_candidates_come_before_larger_ones_that_do_the_same() -> None:
    values = ones(3)
    sizes = {BASELINE: 50, "large": 90, "small": 10}
    candidates = tuple(evolve(one, bytes=sizes[one.id]) for one in candidates_of("large", "small"))
    decision = decided(campaign_of(3), *(figures_of_values(name, values) for name in sizes), candidates=candidates)
    assert [one.candidate for one in decision.standings] == ["small", BASELINE, "large"]


def test_who_misses_a_constraint_by_less_ranks_before_who_misses_it_by_more() -> None:
    campaign = campaign_of(10, constraints=(Constraint("pass_rate", min=0.9),))
    decision = decided(
        campaign,
        figures_of_values("far", ones(5) + zeros(5)),
        figures_of_values("near", ones(8) + zeros(2)),
        figures_of_values(BASELINE, zeros(10)),
    )
    assert [one.candidate for one in decision.standings] == ["near", "far", BASELINE]


def test_size_is_compared_as_it_is() -> None:
    campaign = campaign_of(200, objectives=(Objective("score", tolerance=0.2), Objective("subject_bytes")))
    values: list[list[float | None]] = [[0.5]] * 200
    candidates = (candidates_of()[0], evolve(candidates_of("short")[1], bytes=10))
    decision = decided(
        campaign,
        figures_of_values(BASELINE, values, metric="score"),
        figures_of_values("short", values, metric="score"),
        candidates=candidates,
    )
    assert decision.verdict is Verdict.PROMOTE
    assert "subject_bytes on validation 10 against 100" in decision.why


def regressed(short: list[float | None], cases: int = 3) -> Standing:
    campaign = campaign_of(cases, repetitions=len(short), constraints=(Constraint("case_regressions", max=0),))
    base = figures_of_values(BASELINE, [[1.0] * len(short)] * cases)
    worse = figures_of_values("short", [short, *[[1.0] * len(short)] * (cases - 1)])
    return standing(decided(campaign, base, worse), "short")


def test_a_case_that_fell_by_chance_is_no_shown_regression() -> None:
    assert regressed([1.0, 1.0, 1.0]).eligible is True
    assert regressed([1.0, 1.0, 0.0]).eligible is None
    assert regressed([0.0] * 10).eligible is False


def test_a_candidate_that_was_given_up_is_not_promoted_and_not_missed() -> None:
    base = figures_of_values(BASELINE, zeros(20))
    decision = decided(
        campaign_of(20),
        base,
        figures_of_values("short", ones(20)[:8]),
        planned={BASELINE: 20, "short": 20},
        stopped={"short": "not among the best 3 after the search"},
    )
    assert decision.verdict is Verdict.KEEP_BASELINE
    assert "given up: not among the best 3" in decision.why


def test_a_campaign_that_may_stop_early_decides_by_the_test_that_was_watched() -> None:
    campaign = campaign_of(60, stopping=Stopping(anytime=True))
    base, short = figures_of_values(BASELINE, zeros(60)), figures_of_values("short", ones(60))
    decision = decided(campaign, base, short)
    effect = standing(decision, "short").effects[0]
    assert decision.verdict is Verdict.PROMOTE
    assert effect.test.method == "betting e-process"
    assert effect.test.n < 30


def test_a_pool_of_profiles_pairs_each_with_itself() -> None:
    # The candidate is missing the hard profile; that does not make it better.
    campaign = campaign_of(20, profiles=2)
    easy = [figures_of_values(name, ones(20), profile="p0") for name in (BASELINE, "short")]
    hard = figures_of_values(BASELINE, zeros(20), profile="p1")
    effect = standing(decided(campaign, *easy, hard), "short").effects[0]
    assert effect.difference.estimate == 0.0
    assert len(effect.unpaired) == 20


VALUES = st.lists(st.lists(st.sampled_from([0.0, 0.25, 1.0, None]), min_size=0, max_size=3), min_size=0, max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    base=VALUES,
    values=st.lists(VALUES, min_size=0, max_size=3),
    metric=st.sampled_from(["score", "cost_usd", "pass_rate"]),
    tolerance=st.sampled_from([0.0, 0.1]),
    confidence=st.sampled_from([None, 0.9]),
    anytime=st.booleans(),
    order=st.randoms(use_true_random=False),
)
def test_any_figures_give_one_finite_decision_whatever_their_order(
    base: list[Any],
    values: list[Any],
    metric: str,
    tolerance: float,
    confidence: float | None,
    anytime: bool,
    order: Any,
) -> None:
    campaign = campaign_of(
        12,
        objectives=(Objective(metric, tolerance=tolerance), Objective("pass_rate")),
        constraints=(
            Constraint(metric, min=0.2, max=0.9, confidence=confidence),
            Constraint("case_regressions", max=1),
        ),
        stopping=Stopping(anytime=anytime),
    )
    names = [f"c{number}" for number in range(len(values))]
    figures: list[TrialFigures] = figures_of_values(BASELINE, base, metric=metric)
    for name, mine in zip(names, values, strict=True):
        figures += figures_of_values(name, mine, metric=metric)
    arguments: dict[str, Any] = {"candidates": candidates_of(*names), "planned": {BASELINE: 12}}
    decision = decide(campaign, figures=figures, **arguments)
    text = dumps(to_plain(decision))
    assert not {"NaN", "Infinity"} & set(text.replace("-", " ").replace(",", " ").split())
    assert len(decision.standings) == len(names) + 1
    assert (decision.candidate is not None) == (decision.verdict is Verdict.PROMOTE)
    order.shuffle(figures)
    assert dumps(to_plain(decide(campaign, figures=figures, **arguments))) == text
    assert all(math.isfinite(one.gates[0].violation) for one in decision.standings if one.gates)
