"""What procedures say of no case, one case, cases that are all the same, and numbers that are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from quintain.errors import QuintainError, SampleError, TooFewCases, UsageError
from quintain.model.interval import Interval
from quintain.statistics import (
    bca_bootstrap,
    best_reachable_lower_bound,
    best_reachable_upper_bound,
    betting,
    betting_paired,
    betting_sequence,
    cases_for_effect,
    clopper_pearson,
    cluster_means,
    clustered,
    cohen_kappa,
    detectable_effect,
    e_process,
    e_value_half,
    hoeffding,
    holm,
    jeffreys,
    krippendorff_alpha,
    log_ratio,
    mcnemar,
    normal_mixture_radius,
    observe,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    rogan_gladen,
    sensitivity_specificity,
    sequential_decision,
    sign_flip,
    simultaneous_level,
    smallest_p,
    start,
    stitched_radius,
    student_quantile,
    t_interval,
    wilson,
)

Procedure = Callable[[Sequence[float]], Interval]

BOUNDED: dict[str, Procedure] = {"hoeffding": hoeffding, "betting": betting, "betting_paired": betting_paired}
UNBOUNDED: dict[str, Procedure] = {
    "t_interval": t_interval,
    "log_ratio": lambda values: log_ratio(values, [1.0] * len(values)),
    "clustered": lambda values: clustered(values, range(len(values))),
    "paired_interval": paired_interval,
}
BOOTSTRAP: dict[str, Procedure] = {"bca_bootstrap": lambda values: bca_bootstrap(values, seed=0)}
EVERY = {**BOUNDED, **UNBOUNDED, **BOOTSTRAP}


def named(procedures: dict[str, Procedure]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("procedure", procedures.values(), ids=list(procedures))


@named({**BOUNDED, **UNBOUNDED})
def test_of_no_case_nothing_is_known(procedure: Procedure) -> None:
    found = procedure([])
    assert (found.estimate, found.low, found.high, found.n) == (None, None, None, 0)
    assert "there is no value, so nothing is known" in found.assumptions


@pytest.mark.parametrize("procedure", [wilson, clopper_pearson, jeffreys])
def test_of_no_trial_no_proportion_is_known(procedure: Callable[[int, int], Interval]) -> None:
    found = procedure(0, 0)
    assert (found.estimate, found.low, found.high, found.n) == (None, None, None, 0)


def test_a_sequence_of_no_case_is_empty() -> None:
    assert betting_sequence([]) == ()
    assert e_process([]) == ()


@named(BOUNDED)
def test_one_bounded_case_has_bounds(procedure: Procedure) -> None:
    found = procedure([0.5])
    assert found.estimate == 0.5
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.5 <= found.high


@named(UNBOUNDED)
def test_one_unbounded_case_has_no_bounds(procedure: Procedure) -> None:
    found = procedure([0.5])
    assert found.estimate == pytest.approx(0.5)
    assert (found.low, found.high, found.n) == (None, None, 1)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
@named(BOUNDED)
def test_cases_that_are_all_the_same_still_have_bounds_where_values_are_bounded(
    procedure: Procedure, value: float
) -> None:
    found = procedure([value] * 40)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= value <= found.high
    assert found.high - found.low > 0.05


@pytest.mark.parametrize("n", [12, 25, 40])
@pytest.mark.parametrize("value", [1.0, 0.3])
@named({**UNBOUNDED, **BOOTSTRAP})
def test_cases_that_are_all_the_same_have_no_bounds_otherwise(procedure: Procedure, value: float, n: int) -> None:
    found = procedure([value] * n)
    assert found.estimate == pytest.approx(value)
    assert (found.low, found.high) == (None, None)
    assert any("spread is not known" in words for words in found.assumptions)


def test_rounding_is_no_spread() -> None:
    found = t_interval([0.1 + 0.2, 0.3, 0.3])
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
@named(EVERY)
def test_what_is_no_number_is_refused_with_its_position(procedure: Procedure, bad: float) -> None:
    with pytest.raises(SampleError, match="position 2") as caught:
        procedure([0.1, 0.5, bad, *[0.3] * 9])
    assert caught.value.position == 2
    assert isinstance(caught.value, QuintainError)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_tests_and_evidence_refuse_it_too(bad: float) -> None:
    calls: list[Callable[[], object]] = [
        lambda: sign_flip([0.5, bad]),
        lambda: e_process([0.5, bad]),
        lambda: sequential_decision([0.5, bad]),
        lambda: betting_sequence([0.5, bad]),
        lambda: holm([0.5, bad]),
        lambda: krippendorff_alpha([[1.0, 1.0], [1.0, bad]]),
        lambda: cluster_means([0.5, bad], ["a", "b"]),
    ]
    for call in calls:
        with pytest.raises(SampleError, match="position 1") as caught:
            call()
        assert caught.value.position == 1


def test_values_out_of_bounds_are_refused_with_their_position() -> None:
    for call in (lambda: betting([0.5, 1.1]), lambda: hoeffding([0.5, -0.1]), lambda: betting_paired([0.5, -1.1])):
        with pytest.raises(SampleError, match="position 1") as caught:
            call()
        assert caught.value.position == 1


def test_a_ratio_needs_positive_values() -> None:
    with pytest.raises(SampleError, match="value of b at position 1 is 0"):
        log_ratio([1.0, 2.0], [1.0, 0.0])
    with pytest.raises(UsageError, match="can't be paired"):
        log_ratio([1.0, 2.0], [1.0])


def test_the_bootstrap_refuses_fewer_than_ten_cases_and_says_so() -> None:
    with pytest.raises(TooFewCases, match="needs 10 or more"):
        bca_bootstrap([float(value) for value in range(9)], seed=0)


def test_the_bootstrap_refuses_a_statistic_that_resampling_can_only_lower() -> None:
    with pytest.raises(SampleError, match="one side"):
        bca_bootstrap([float(value) for value in range(30)], seed=0, statistic=lambda values: -len(set(values)))


def test_few_pairs_cannot_reach_a_level_and_the_interval_says_so() -> None:
    found = paired_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.low, found.high) == (None, None)
    assert "so few cases can't reach this level" in found.assumptions
    assert paired_interval([1.0, 2.0, 3.0, 4.0, 5.0], side="greater").low == 1.0
    assert paired_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).low == 1.0


@pytest.mark.parametrize(
    ("n", "method"),
    [(20, "sign-flip inverted exact"), (21, "sign-flip inverted Monte Carlo"), (30, "paired t")],
)
def test_a_paired_interval_says_which_way_it_took(n: int, method: str) -> None:
    assert paired_interval([float(value % 7) for value in range(n)]).method == method


def test_ties_say_nothing() -> None:
    tied = sign_flip([0.0] * 12)
    assert (tied.p, tied.n, tied.note) == (1.0, 0, "no pair differs")
    assert sign_flip([]).p == 1.0
    assert sign_flip([0.5, 0.25, 0.0, 0.0]).p == sign_flip([0.5, 0.25]).p
    assert mcnemar(0, 0).p == 1.0
    assert mcnemar(4, 4).p == 1.0
    assert mcnemar(4, 4, mid_p=True).p == 1.0


def test_several_comparisons_share_the_level() -> None:
    values = [0.1 * (value % 9) - 0.2 for value in range(40)]
    for procedure in (paired_interval, betting_paired):
        one, five = procedure(values), procedure(values, comparisons=5)
        alone = procedure(values, 0.99)
        assert (five.low, five.high) == (pytest.approx(alone.low), pytest.approx(alone.high))
        assert (five.level, five.comparisons, one.comparisons) == (0.95, 5, 1)
        assert "5 intervals share the error equally" in five.assumptions


def test_one_cluster_says_nothing_about_spread() -> None:
    found = clustered([0.0, 1.0, 1.0], ["a", "a", "a"])
    assert (found.estimate, found.low, found.high) == (pytest.approx(2 / 3), None, None)
    assert (found.n, found.cases) == (1, 3)


def test_a_case_without_a_cluster_is_its_own() -> None:
    assert cluster_means([0.0, 1.0, 0.5, 1.0], ["a", None, "a", None]) == (0.25, 1.0, 1.0)
    with pytest.raises(UsageError, match="don't fit"):
        cluster_means([0.0], [])


@pytest.mark.parametrize("procedure", [cohen_kappa])
def test_one_label_alone_is_no_agreement(procedure: Callable[..., Interval]) -> None:
    assert procedure([], []).estimate is None
    assert procedure(["a", "a"], ["a", "a"]).estimate is None
    perfect = procedure(["a", "b"], ["a", "b"])
    assert (perfect.estimate, perfect.low, perfect.high) == (1.0, None, None)
    with pytest.raises(UsageError, match="can't be compared"):
        procedure(["a"], [])


def test_agreement_of_graders_who_missed_cases() -> None:
    assert krippendorff_alpha([]).estimate is None
    assert krippendorff_alpha([[1.0, None], [None, 2.0]]).estimate is None
    assert krippendorff_alpha([[1.0, 1.0]] * 12).estimate is None
    few = krippendorff_alpha([[1.0, 1.0], [2.0, 2.0], [1.0, 2.0]])
    assert few.estimate is not None
    assert (few.low, few.high) == (None, None)
    perfect = krippendorff_alpha([[1.0, 1.0], [2.0, 2.0]] * 6, scale="interval")
    assert (perfect.estimate, perfect.low) == (1.0, None)
    many = krippendorff_alpha([[1.0, 1.0, None], [2.0, 2.0, 2.0], [1.0, 2.0, 1.0]] * 9)
    assert many.low is not None
    assert many.high is not None
    assert many.low < few.estimate < many.high


def test_the_pass_rate_behind_an_imperfect_grader() -> None:
    labels = {"true_positive": 45, "positives": 50, "true_negative": 40, "negatives": 50}
    found = rogan_gladen(60, 100, **labels)
    assert found.estimate == pytest.approx((0.6 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.4 < 0.74 < found.high
    assert rogan_gladen(0, 100, **labels).estimate == 0.0
    assert rogan_gladen(100, 100, **labels).estimate == 1.0
    assert rogan_gladen(0, 0, **labels).estimate is None
    with pytest.raises(SampleError, match="no better than chance"):
        rogan_gladen(60, 100, true_positive=25, positives=50, true_negative=25, negatives=50)
    with pytest.raises(SampleError, match="not measured"):
        rogan_gladen(60, 100, true_positive=0, positives=0, true_negative=25, negatives=50)


def test_sensitivity_and_specificity_are_proportions() -> None:
    assert sensitivity_specificity(8, 2, 0, 10) == (clopper_pearson(8, 10), clopper_pearson(0, 10))
    assert sensitivity_specificity(0, 0, 3, 1)[0].estimate is None


def test_bounds_that_no_case_can_reach() -> None:
    assert best_reachable_lower_bound("betting", 0) is None
    assert best_reachable_lower_bound("betting paired", 40) == pytest.approx(
        -(best_reachable_upper_bound("betting paired", 40) or 0.0), abs=1e-9
    )
    best = best_reachable_lower_bound("betting", 20)
    assert best is not None
    assert (best_reachable_lower_bound("hoeffding", 20) or 1.0) < best < 0.8315665


UNHEARD_OF: Any = "unheard of"

REFUSED: dict[str, Callable[[], object]] = {
    "more passed than tried": lambda: wilson(3, 2),
    "level 1": lambda: wilson(1, 2, 1.0),
    "level 0": lambda: t_interval([1.0, 2.0], 0.0),
    "level not a number": lambda: hoeffding([0.5], math.nan),
    "a one-sided bound beyond the estimate": lambda: wilson(1, 2, 0.4, "less"),
    "unknown side": lambda: sign_flip([1.0], UNHEARD_OF),
    "unknown kind": lambda: clustered([1.0], ["a"], kind=UNHEARD_OF),
    "unknown scale": lambda: krippendorff_alpha([], scale=UNHEARD_OF),
    "unknown method": lambda: best_reachable_lower_bound("guess", 5),
    "no such bound below": lambda: best_reachable_lower_bound("wilson", 5, side="less"),
    "no such bound above": lambda: best_reachable_upper_bound("wilson", 5, side="greater"),
    "bounds the wrong way": lambda: betting([0.5], low=1.0, high=0.0),
    "no comparisons": lambda: paired_interval([1.0], comparisons=0),
    "negative counts": lambda: mcnemar(-1, 2),
    "negative successes": lambda: e_value_half(-1, 2),
    "negative pairs": lambda: smallest_p(-1),
    "no intervals": lambda: simultaneous_level(0.95, 0),
    "no cases": lambda: detectable_effect(0, 1, 1.0, 1.0),
    "no repetitions": lambda: detectable_effect(5, 0, 1.0, 1.0),
    "negative variance": lambda: detectable_effect(5, 1, -1.0, 1.0),
    "certain power": lambda: detectable_effect(5, 1, 1.0, 1.0, power=1.0),
    "no effect": lambda: cases_for_effect(0.0, 1, 1.0, 1.0),
    "more attempts than made": lambda: pass_at_k(3, 1, 4),
    "no attempts": lambda: pass_hat_k(3, 1, 0),
    "radius of nothing": lambda: normal_mixture_radius(0),
    "stitched radius of nothing": lambda: stitched_radius(0),
    "0 not within": lambda: start(0.0, 1.0),
    "alpha 0": lambda: sequential_decision([], 0.0),
    "no degrees of freedom": lambda: student_quantile(0.9, 0.0),
    "certain quantile": lambda: student_quantile(1.0, 5.0),
    "few resamples": lambda: bca_bootstrap([*range(12)], seed=0, resamples=9),
    "no draws": lambda: sign_flip([math.sqrt(i) for i in range(1, 40)], draws=0),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=list(REFUSED))
def test_arguments_that_make_no_sense_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        call()


def test_evidence_is_folded_without_changing_what_was() -> None:
    before = start()
    after = observe(observe(before, 1.0), -1.0)
    assert (before.n, before.better, before.worse) == (0, 1.0, 1.0)
    assert (after.n, after.better) == (2, pytest.approx(after.worse))
    assert after == e_process([1.0, -1.0])[-1]
    assert after.better < 1.0


def test_a_finding_stands_once_it_is_made() -> None:
    better = sequential_decision([1.0] * 12 + [-1.0] * 12)
    assert (better.finding, better.seen) == ("better", 24)
    assert better.n < 12
    assert better.better >= better.threshold == pytest.approx(40.0)
    assert sequential_decision([-1.0] * 12).finding == "worse"
    assert sequential_decision([-1.0] * 12, side="greater").finding == "unknown"
    assert sequential_decision([1.0] * 12, side="less").finding == "unknown"
    assert sequential_decision([0.0] * 50).finding == "unknown"
    assert (sequential_decision([]).finding, sequential_decision([]).better) == ("unknown", 1.0)
    assert sequential_decision([1.0] * 12, 0.05, 10).threshold == pytest.approx(400.0)
    assert sequential_decision([1.0] * 12, side="greater").threshold == pytest.approx(20.0)


def test_evidence_may_grow_without_end() -> None:
    last = e_process([1.0] * 5000)[-1]
    assert last.better > 1e300
    assert last.worse < 1e-4
    assert e_value_half(5000, 0) > 1e300
