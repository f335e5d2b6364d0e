"""The procedures agree with values that other programs, and the papers, printed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quintain.model.interval import Interval, Side
from quintain.statistics import (
    Kind,
    bca_bootstrap,
    best_reachable_lower_bound,
    best_reachable_upper_bound,
    betting,
    betting_paired,
    betting_sequence,
    cases_for_effect,
    clopper_pearson,
    clustered,
    cohen_kappa,
    detectable_effect,
    e_value_half,
    hoeffding,
    holm,
    jeffreys,
    krippendorff_alpha,
    mcnemar,
    normal_mixture_radius,
    pass_at_k,
    pass_hat_k,
    sign_flip,
    simultaneous_level,
    smallest_p,
    stitched_radius,
    student_quantile,
    t_interval,
    tightest_rho,
    wilson,
)

PRINTED = {
    (8, 10): ((0.4901624715, 0.9433178485), (0.4439045377, 0.9747892737), (0.4972255036, 0.9559405864)),
    (0, 10): ((0.0, 0.2775327999), (0.0, 0.3084971078), (4.78904e-05, 0.2171962675)),
    (10, 10): ((0.7224672001, 1.0), (0.6915028922, 1.0), (0.7828037325, 0.9999521096)),
    (45, 100): ((0.3561453798, 0.54755397), (0.3503202292, 0.5527198112), (0.3550769419, 0.547771008)),
    (137, 164): ((0.7710631896, 0.884317196), (0.7695795843, 0.8886134049), (0.7729861187, 0.8860352738)),
    (0, 30): ((0.0, 0.1135133932), (0.0, 0.1157033082), (1.62319e-05, 0.0796781738)),
}

DIFFERENCES = [5, 10, -2, 6, 11, 4, 7, -5, 8, 15]


def about(*values: float, within: float = 5e-8) -> tuple[object, ...]:
    """Each as printed with seven digits or so."""
    return tuple(pytest.approx(value, abs=within) for value in values)


def bounds(interval: Interval) -> tuple[float | None, float | None]:
    return interval.low, interval.high


@pytest.mark.parametrize("counts", PRINTED, ids=str)
def test_intervals_of_proportions(counts: tuple[int, int]) -> None:
    for procedure, printed in zip((wilson, clopper_pearson, jeffreys), PRINTED[counts], strict=True):
        found = procedure(*counts)
        assert found.estimate == counts[0] / counts[1]
        assert bounds(found) == about(*printed, within=1e-10)


@pytest.mark.parametrize(
    ("b", "c", "exact", "mid"),
    [
        (10, 2, 0.03857421875, 0.0224609375),
        (15, 5, 0.04138946533203125, 0.026603698730468753),
        (1, 7, 0.0703125, 0.0390625),
        (0, 5, 0.0625, 0.03125),
    ],
)
def test_mcnemar(b: int, c: int, exact: float, mid: float) -> None:
    assert mcnemar(b, c).p == pytest.approx(exact, abs=1e-15)
    assert mcnemar(b, c, mid_p=True).p == pytest.approx(mid, abs=1e-15)
    assert mcnemar(1, 8).p == pytest.approx(0.0391, abs=5e-5)


def test_holm_and_bonferroni() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == about(0.03, 0.06, 0.06, 0.02, within=1e-15)
    assert simultaneous_level(0.95, 5) == pytest.approx(0.99)


def test_the_sign_flip_test_and_the_bootstrap_of_ten_differences() -> None:
    assert sign_flip(DIFFERENCES).p == 0.01953125
    assert bounds(bca_bootstrap(DIFFERENCES, seed=0)) == about(2.1, 9.0, within=0.15)


@pytest.mark.parametrize(("kind", "error"), [("CR0", 0.1792812), ("CR1", 0.2070160)])
def test_clusters(kind: Kind, error: float) -> None:
    values = [1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0]
    found = clustered(values, list("aaaabbccccddd"), kind=kind)
    assert (found.n, found.cases) == (4, 13)
    assert found.estimate == pytest.approx(0.4615385, abs=5e-8)
    assert found.high is not None
    assert (found.high - 6 / 13) / student_quantile(0.975, 3) == pytest.approx(error, abs=5e-8)


def test_plans() -> None:
    assert cases_for_effect(0.03, 10, 1 / 9, 1 / 3) == 1260
    assert cases_for_effect(0.03, 10**9, 1 / 9, 1 / 3) == 969
    assert cases_for_effect(0.03, 1, 1 / 9, 1 / 3) == 3876
    assert detectable_effect(198, 1, 1 / 9, 1 / 3) == pytest.approx(0.1327333278739942, abs=1e-12)
    assert detectable_effect(198, 10, 1 / 9, 1 / 3) == pytest.approx(0.0756696392667773, abs=1e-12)
    assert detectable_effect(1, 1, 1.0, 0.0) ** 2 == pytest.approx(7.848879734349088, abs=1e-12)


@pytest.mark.parametrize(
    ("method", "printed"),
    [
        ("hoeffding", {10: 0.571, 20: 0.696, 50: 0.808, 100: 0.864, 185: 0.900}),
        ("wilson", {10: 0.722, 20: 0.839, 50: 0.929, 100: 0.963}),
        ("clopper-pearson", {10: 0.6915029}),
    ],
)
def test_best_reachable_bounds(method: str, printed: dict[int, float]) -> None:
    for n, value in printed.items():
        assert best_reachable_lower_bound(method, n) == pytest.approx(value, abs=5e-4)
        assert best_reachable_upper_bound(method, n) == pytest.approx(1.0 - value, abs=5e-4)


def test_the_least_p_of_five_pairs() -> None:
    assert (smallest_p(5), smallest_p(5, "greater"), smallest_p(0)) == (0.0625, 0.03125, 1.0)
    assert sign_flip([1.0] * 5).p == smallest_p(5)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([1, 1, 1, 0] * 25, 0.598, 0.892), ([1, 0] * 50, 0.331, 0.686), ([1] * 30, 0.852, 1.0)],
    ids=["three of four", "every other", "all"],
)
def test_the_hedged_betting_sequence_on_a_grid(values: list[int], low: float, high: float) -> None:
    *_, last = betting_sequence(values)
    assert bounds(last) == about(low, high, within=1.1e-3)


def test_the_betting_interval_is_near_that_of_its_authors_program() -> None:
    # theirs bets in the order given and looks at every time, ours averages over orders and looks once
    assert bounds(betting([1, 1, 1, 0] * 25)) == about(0.617, 0.852, within=0.01)


@pytest.mark.parametrize("n", [5, 10, 20])
def test_the_betting_interval_where_all_pass_is_known_in_closed_form(n: int) -> None:
    # three quarters of the capital are bet each time, until it is 40 times the stake; 20 times for one side
    cases: tuple[tuple[Side, float], ...] = (("two-sided", 40.0), ("greater", 20.0))
    for side, goal in cases:
        found = betting([1] * n, side=side)
        assert found.low == pytest.approx(0.75 / (goal ** (1 / n) - 0.25), abs=1e-8)
    assert betting_paired([1] * n).low == pytest.approx(1.5 / (40.0 ** (1 / n) - 0.25) - 1.0, abs=1e-8)


@pytest.mark.parametrize(
    ("n", "mixture", "fixed"),
    [
        (10, 0.5035354635436489, 0.4294694083467376),
        (100, 0.15507694484138063, 0.13581015157406195),
        (1000, 0.053765660872402386, 0.04294694083467376),
        (10000, 0.01858859653267077, 0.013581015157406196),
    ],
)
def test_radii(n: int, mixture: float, fixed: float) -> None:
    assert normal_mixture_radius(n) == pytest.approx(mixture, abs=1e-12)
    found = hoeffding([0.5] * n)
    assert found.high is not None
    assert found.high - 0.5 == pytest.approx(fixed, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "bound", "rounded"),
    [(100, 19.3191631972, 0.2030441), (1000, 63.7661433968, 0.0667615), (10000, 207.2062177247, 0.0216444)],
)
def test_stitched_radii(n: int, bound: float, rounded: float) -> None:
    assert stitched_radius(n) * n == pytest.approx(bound, abs=1e-9)
    # the paper's short form rounds its constants up; as printed it holds 97.5 %
    assert stitched_radius(n, 0.975) == pytest.approx(rounded, rel=0.006)
    assert stitched_radius(n, 0.975) < rounded


@pytest.mark.parametrize(("n", "bound"), [(100, 15.1760449519), (1000, 51.2561434158), (10000, 178.0820520459)])
def test_the_mixture_that_is_tightest_at_100(n: int, bound: float) -> None:
    assert normal_mixture_radius(n, rho=tightest_rho(100)) * n == pytest.approx(bound, abs=1e-8)


@pytest.mark.parametrize(
    ("successes", "failures", "printed"),
    [(10, 2, 4.100585937499997), (15, 5, 2.4044609069824268), (5, 0, 7.875), (20, 20, 0.12537068761957915)],
)
def test_e_values_against_a_half(successes: int, failures: int, printed: float) -> None:
    assert e_value_half(successes, failures) == pytest.approx(printed, rel=1e-12)
    assert e_value_half(failures, successes) == pytest.approx(printed, rel=1e-12)


def test_cohen_kappa_with_its_error() -> None:
    found = cohen_kappa([1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15)
    assert found.estimate == pytest.approx(0.4, abs=1e-12)
    assert found.high is not None
    assert ((found.high - 0.4) / 1.959963984540054) ** 2 == pytest.approx(0.016127999999999997, abs=1e-12)


def test_krippendorff_alpha_of_his_own_example() -> None:
    # Krippendorff (2011), example C: four observers, twelve units
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    ratings = list(zip(*([None if x == "." else float(x) for x in row.split()] for row in rows), strict=True))
    assert krippendorff_alpha(ratings).estimate == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(ratings, scale="interval").estimate == pytest.approx(0.849, abs=5e-4)


def test_chances_of_several_attempts() -> None:
    assert [pass_at_k(10, 3, k) for k in (1, 5, 10)] == [*about(0.3, 0.9166666666666666, 1.0, within=1e-15)]
    assert pass_hat_k(10, 7, 3) == pytest.approx(0.2916666666666667, abs=1e-15)
    assert (pass_at_k(5, 2, 2), pass_hat_k(5, 2, 2)) == about(0.7, 0.1, within=1e-15)


@pytest.mark.parametrize(("side", "same"), [("greater", 0), ("less", 1)])
@pytest.mark.parametrize(
    "interval",
    [
        lambda level, side: wilson(8, 10, level, side),
        lambda level, side: clopper_pearson(8, 10, level, side),
        lambda level, side: jeffreys(8, 10, level, side),
        lambda level, side: t_interval(DIFFERENCES, level, side),
        lambda level, side: hoeffding([0.2, 0.9, 0.5], level, side=side),
        lambda level, side: betting([0.2, 0.9, 0.5] * 9, level, side=side),
        lambda level, side: bca_bootstrap(DIFFERENCES, level, seed=0, side=side),
    ],
    ids=["wilson", "clopper-pearson", "jeffreys", "t", "hoeffding", "betting", "bca"],
)
def test_a_one_sided_bound_is_that_of_the_two_sided_interval_with_twice_the_error(
    interval: Callable[[float, Side], Interval], side: Side, same: int
) -> None:
    both, one = bounds(interval(0.90, "two-sided")), bounds(interval(0.95, side))
    assert one[same] == pytest.approx(both[same], abs=1e-9)
    assert one[1 - same] is None
