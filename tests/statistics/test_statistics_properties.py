"""What holds for all samples."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.model.interval import Interval
from quintain.statistics import (
    bca_bootstrap,
    beta_cdf,
    beta_quantile,
    betting,
    betting_paired,
    betting_sequence,
    clopper_pearson,
    cluster_means,
    clustered,
    cohen_kappa,
    e_process,
    e_value_half,
    hoeffding,
    holm,
    jeffreys,
    krippendorff_alpha,
    log_ratio,
    mcnemar,
    normal_mixture_radius,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    sequential_decision,
    sign_flip,
    stitched_radius,
    student_cdf,
    student_quantile,
    t_interval,
    wilson,
)
from quintain.statistics._search import crossing

UNIT = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
ANY = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=16)
SIGNED = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=30)
LEVEL = st.floats(0.5, 0.999)
PS = st.lists(st.floats(0.0, 1.0), max_size=12)

Procedure = Callable[[Sequence[float], float], Interval]

NESTED: dict[str, Procedure] = {
    "hoeffding": hoeffding,
    "t": t_interval,
    "paired": paired_interval,
    "clustered": lambda values, level: clustered(values, [i // 2 for i in range(len(values))], level),
}
COUNTED = (wilson, clopper_pearson, jeffreys)


def ends(interval: Interval) -> tuple[float, float]:
    return (
        -math.inf if interval.low is None else interval.low,
        math.inf if interval.high is None else interval.high,
    )


@given(values=UNIT, levels=st.tuples(LEVEL, LEVEL))
@pytest.mark.parametrize("name", NESTED)
def test_a_higher_level_never_gives_a_narrower_interval(
    name: str, values: list[float], levels: tuple[float, float]
) -> None:
    inner, outer = (ends(NESTED[name](values, level)) for level in sorted(levels))
    slack = 2e-6  # the inverted test is searched for to a millionth of the range
    assert outer[0] <= inner[0] + slack
    assert inner[1] <= outer[1] + slack


@given(n=st.integers(1, 60), share=st.floats(0.0, 1.0), levels=st.tuples(LEVEL, LEVEL))
@pytest.mark.parametrize("procedure", COUNTED)
def test_intervals_of_proportions_are_nested_and_mirrored(
    procedure: Callable[[int, int, float], Interval], n: int, share: float, levels: tuple[float, float]
) -> None:
    successes = round(share * n)
    inner, outer = (procedure(successes, n, level) for level in sorted(levels))
    mirrored = procedure(n - successes, n, max(levels))
    for found in (inner, outer, mirrored):
        low, high = ends(found)
        assert 0.0 <= low < high <= 1.0
        assert low <= successes / n <= high or procedure is jeffreys or found is mirrored
    assert ends(outer)[0] <= ends(inner)[0] + 1e-12
    assert ends(inner)[1] <= ends(outer)[1] + 1e-12
    assert ends(mirrored) == (
        pytest.approx(1.0 - ends(outer)[1], abs=1e-9),
        pytest.approx(1.0 - ends(outer)[0], abs=1e-9),
    )


@given(n=st.integers(1, 60), level=LEVEL)
@pytest.mark.parametrize("procedure", COUNTED)
def test_one_more_success_raises_both_bounds(
    procedure: Callable[[int, int, float], Interval], n: int, level: float
) -> None:
    found = [ends(procedure(successes, n, level)) for successes in range(n + 1)]
    assert found == sorted(found)
    assert [high for _, high in found] == sorted(high for _, high in found)


@given(values=UNIT, level=LEVEL)
@pytest.mark.parametrize("procedure", [hoeffding, betting])
def test_intervals_of_bounded_means_stay_within_bounds_around_the_mean(
    procedure: Procedure, values: list[float], level: float
) -> None:
    found = procedure(values, level)
    low, high = ends(found)
    assert found.estimate is not None
    assert 0.0 <= low <= found.estimate <= high <= 1.0
    assert min(values) <= found.estimate <= max(values)
    mirrored = ends(procedure([1.0 - value for value in values], level))
    assert mirrored == (pytest.approx(1.0 - high, abs=1e-6), pytest.approx(1.0 - low, abs=1e-6))


@given(values=UNIT, low=st.floats(-50.0, 50.0), width=st.floats(0.01, 100.0))
def test_the_unit_of_bounded_values_does_not_matter(values: list[float], low: float, width: float) -> None:
    plain = ends(betting(values))
    scaled = betting([min(low + width, low + value * width) for value in values], low=low, high=low + width)
    assert ends(scaled) == (
        pytest.approx(low + plain[0] * width, abs=1e-5 * width + 1e-9),
        pytest.approx(low + plain[1] * width, abs=1e-5 * width + 1e-9),
    )


@given(values=SIGNED)
def test_paired_differences_are_mirrored(values: list[float]) -> None:
    low, high = ends(betting_paired(values))
    assert -1.0 <= low <= high <= 1.0
    assert ends(betting_paired([-value for value in values])) == (
        pytest.approx(-high, abs=1e-6),
        pytest.approx(-low, abs=1e-6),
    )


@given(values=UNIT)
def test_each_interval_of_a_sequence_lies_in_the_one_before(values: list[float]) -> None:
    found = betting_sequence(values)
    assert len(found) == len(values)
    assert [interval.n for interval in found] == list(range(1, len(values) + 1))
    for before, after in itertools.pairwise(found):
        # a bound gives way to the mean of the sample only, which must not fall outside of the interval
        assert ends(after)[0] >= min(ends(before)[0], after.estimate or 0.0) - 1e-8
        assert ends(after)[1] <= max(ends(before)[1], after.estimate or 0.0) + 1e-8


@given(values=ANY, shift=st.floats(-1e3, 1e3), scale=st.floats(0.01, 100.0))
@pytest.mark.parametrize("procedure", [t_interval, paired_interval])
def test_intervals_move_and_stretch_with_their_values(
    procedure: Callable[[Sequence[float]], Interval], values: list[float], shift: float, scale: float
) -> None:
    plain, moved = procedure(values), procedure([shift + scale * value for value in values])
    if plain.low is None or plain.high is None or moved.low is None or moved.high is None:
        # spread may drown in the rounding of a shift
        assert max(values) - min(values) < 1e-3 or plain.low is moved.low is None
        return
    near = 1e-5 * scale * (plain.high - plain.low) + 1e-9 * (abs(shift) + scale * max(map(abs, values)))
    assert moved.low == pytest.approx(shift + scale * plain.low, abs=near)
    assert moved.high == pytest.approx(shift + scale * plain.high, abs=near)
    assert plain.low <= (plain.estimate or 0.0) <= plain.high


@given(values=st.lists(st.integers(-20, 20).map(lambda x: x / 4), min_size=1, max_size=40), seed=st.integers(0, 99))
def test_the_sign_flip_test_knows_neither_order_nor_unit_nor_ties(values: list[float], seed: int) -> None:
    p = sign_flip(values).p
    assert p is not None
    assert 0.0 < p <= 1.0
    shuffled = random.Random(seed).sample(values, len(values))
    assert sign_flip(shuffled).p == p
    assert sign_flip([2.0 * value for value in values]).p == p
    assert sign_flip([*values, 0.0, 0.0]).p == p
    assert sign_flip([-value for value in values]).p == p
    greater, less = sign_flip(values, "greater").p, sign_flip(values, "less").p
    assert greater is not None
    assert less is not None
    assert greater + less >= 1.0
    assert p == pytest.approx(min(1.0, 2.0 * min(greater, less)))


@given(values=st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=9))
def test_the_sign_flip_test_is_a_count_of_all_flips(values: list[float]) -> None:
    moved = [value for value in values if value]
    near = 1e-9 * sum(map(abs, moved))
    sums = [0.0]
    for value in moved:
        sums = [total + sign * value for total in sums for sign in (1.0, -1.0)]
    expected = sum(abs(total) >= abs(math.fsum(moved)) - near for total in sums) / len(sums)
    assert sign_flip(values).p == pytest.approx(expected, abs=1e-12)


@given(values=st.lists(st.integers(-5, 9).map(lambda x: x / 3), min_size=6, max_size=12))
def test_zero_is_outside_of_the_inverted_interval_exactly_if_the_test_rejects_it(values: list[float]) -> None:
    found, p = paired_interval(values), sign_flip(values).p
    assert p is not None
    if len(set(values)) > 1:
        low, high = ends(found)
        assert (low > 1e-12 or high < -1e-12) == (p <= 0.05)


@given(b=st.integers(0, 40), c=st.integers(0, 40))
def test_mcnemar_is_the_sign_flip_test_of_verdicts(b: int, c: int) -> None:
    verdicts = [1.0] * b + [-1.0] * c
    assert mcnemar(b, c).p == pytest.approx(sign_flip(verdicts).p, abs=1e-12)
    assert mcnemar(b, c, "greater").p == pytest.approx(sign_flip(verdicts, "greater").p, abs=1e-12)
    mid, exact = mcnemar(b, c, mid_p=True).p, mcnemar(b, c).p
    assert mid is not None
    assert exact is not None
    assert mid <= exact


@given(ps=PS, seed=st.integers(0, 99))
def test_adjusted_p_values_are_never_smaller_and_keep_their_order(ps: list[float], seed: int) -> None:
    adjusted = holm(ps)
    assert all(p <= more <= min(1.0, p * len(ps)) + 1e-15 for p, more in zip(ps, adjusted, strict=True))
    assert [more for _, more in sorted(zip(ps, adjusted, strict=True))] == sorted(adjusted)
    order = random.Random(seed).sample(range(len(ps)), len(ps))
    assert holm([ps[i] for i in order]) == tuple(adjusted[i] for i in order)


@given(values=SIGNED, seed=st.integers(0, 99))
def test_evidence_does_not_depend_on_the_order_and_is_mirrored(values: list[float], seed: int) -> None:
    last = e_process(values)[-1]
    assert last.better > 0.0
    assert last.worse > 0.0
    other = e_process(random.Random(seed).sample(values, len(values)))[-1]
    assert (other.better, other.worse) == (pytest.approx(last.better), pytest.approx(last.worse))
    mirrored = e_process([-value for value in values])[-1]
    assert (mirrored.better, mirrored.worse) == (pytest.approx(last.worse), pytest.approx(last.better))


@given(values=SIGNED, above=st.floats(1.0, 9.0), below=st.floats(1.0, 9.0))
def test_evidence_is_mirrored_with_its_bounds(values: list[float], above: float, below: float) -> None:
    last = e_process(values, -below, above)[-1]
    mirrored = e_process([-value for value in values], -above, below)[-1]
    assert (mirrored.better, mirrored.worse) == (pytest.approx(last.worse), pytest.approx(last.better))
    # what the one side bets on depends on the other side's bound only
    assert e_process(values, -below, 9.0)[-1].better == last.better
    assert e_process(values, -9.0, above)[-1].worse == last.worse


@given(values=SIGNED)
def test_a_decision_is_the_first_time_that_evidence_reaches_its_threshold(values: list[float]) -> None:
    found = sequential_decision(values, 0.2)
    steps = e_process(values)
    reached = [step for step in steps if max(step.better, step.worse) >= found.threshold]
    at = reached[0] if reached else steps[-1]
    assert (found.n, found.better, found.worse) == (at.n, at.better, at.worse)
    expected = "unknown" if not reached else "better" if at.better >= found.threshold else "worse"
    assert found.finding == expected


@given(n=st.integers(0, 60))
def test_the_e_value_of_verdicts_is_one_on_average(n: int) -> None:
    average = sum(math.comb(n, s) / 2**n * e_value_half(s, n - s) for s in range(n + 1))
    assert average == pytest.approx(1.0, rel=1e-9)


@given(n=st.integers(1, 9), data=st.data())
def test_betting_evidence_is_at_most_one_on_average_where_the_mean_is_zero(n: int, data: st.DataObject) -> None:
    up = data.draw(st.floats(0.05, 1.0))
    down = data.draw(st.floats(0.05, 1.0))
    chance = down / (up + down)
    total = 0.0
    for ups in range(n + 1):
        weight = math.comb(n, ups) * chance**ups * (1.0 - chance) ** (n - ups)
        total += weight * e_process([up] * ups + [-down] * (n - ups))[-1].better
    assert total == pytest.approx(1.0, rel=1e-9)


@given(n=st.integers(1, 10_000), levels=st.tuples(LEVEL, LEVEL))
@pytest.mark.parametrize("radius", [normal_mixture_radius, stitched_radius])
def test_radii_grow_with_the_level_and_scale_with_sigma(
    radius: Callable[..., float], n: int, levels: tuple[float, float]
) -> None:
    low, high = sorted(levels)
    assert 0.0 < radius(n, low) <= radius(n, high)
    assert radius(4 * n + 8) < radius(n)


@given(root=st.floats(0.01, 0.99), power=st.floats(0.2, 9.0), step=st.booleans())
def test_a_search_ends_just_before_a_crossing_and_is_quick(root: float, power: float, step: bool) -> None:
    asked = 0

    def falling(x: float) -> float:
        nonlocal asked
        asked += 1
        if step:
            return 1.0 if x <= root else -3.0
        return root**power - x**power

    found, value = crossing(falling, 0.0, 1.0, 1e-6)
    assert value >= 0.0
    assert root - 2e-6 <= found <= root + 1e-12
    assert asked <= 60


@given(probability=st.floats(1e-6, 1.0 - 1e-6), a=st.floats(0.5, 200.0), b=st.floats(0.5, 200.0))
def test_the_beta_quantile_undoes_its_distribution(probability: float, a: float, b: float) -> None:
    x = beta_quantile(probability, a, b)
    assert 0.0 <= x <= 1.0
    if 1e-9 < x < 1.0 - 1e-9:
        assert beta_cdf(x, a, b) == pytest.approx(probability, abs=1e-7)
        assert beta_cdf(x, a, b) + beta_cdf(1.0 - x, b, a) == pytest.approx(1.0, abs=1e-7)


@given(probability=st.floats(1e-6, 1.0 - 1e-6), df=st.floats(0.5, 1e6))
def test_the_student_quantile_undoes_its_distribution(probability: float, df: float) -> None:
    t = student_quantile(probability, df)
    assert student_cdf(t, df) == pytest.approx(probability, abs=1e-9)
    assert student_quantile(1.0 - probability, df) == pytest.approx(-t, rel=1e-6, abs=1e-9)


@given(values=UNIT, sizes=st.integers(1, 4))
def test_equal_clusters_have_the_mean_of_their_means(values: list[float], sizes: int) -> None:
    clusters = [i for i, _ in enumerate(values) for _ in range(sizes)]
    repeated = [value for value in values for _ in range(sizes)]
    assert cluster_means(repeated, clusters) == pytest.approx(tuple(values))
    found, plain = clustered(repeated, clusters), t_interval(values)
    # to count a case several times makes nothing surer
    assert found.n == plain.n
    if plain.high is not None and found.high is not None:
        assert ends(found) == (pytest.approx(ends(plain)[0], abs=1e-6), pytest.approx(ends(plain)[1], abs=1e-6))


@given(
    values=st.lists(st.floats(0.1, 10.0), min_size=3, max_size=12),
    others=st.lists(st.floats(0.1, 10.0), min_size=12, max_size=12),
)
def test_a_ratio_the_other_way_is_its_inverse(values: list[float], others: list[float]) -> None:
    there, back = log_ratio(values, others[: len(values)]), log_ratio(others[: len(values)], values)
    assert there.estimate == pytest.approx(1.0 / (back.estimate or math.inf))
    if there.low is not None and back.high is not None:
        assert there.low == pytest.approx(1.0 / back.high)
        assert 0.0 <= there.low <= (there.estimate or 0.0)


@settings(max_examples=15)
@given(values=st.lists(st.floats(0.0, 1e4), min_size=10, max_size=20), levels=st.tuples(LEVEL, LEVEL))
def test_bootstrap_intervals_are_nested_and_within_the_values(values: list[float], levels: tuple[float, float]) -> None:
    inner, outer = (bca_bootstrap(values, level, seed=3, resamples=499) for level in sorted(levels))
    near = 1e-9 * max(values)
    assert ends(outer)[0] <= ends(inner)[0] + near
    assert ends(inner)[0] <= ends(inner)[1]
    assert ends(inner)[1] <= ends(outer)[1] + near
    if outer.low is not None and outer.high is not None:
        assert min(values) - near <= outer.low <= outer.high <= max(values) + near


@given(n=st.integers(1, 30), data=st.data())
def test_to_pass_all_is_no_likelier_than_to_pass_once(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert 0.0 <= pass_hat_k(n, c, k) <= c / n + 1e-12
    assert c / n - 1e-12 <= pass_at_k(n, c, k) <= 1.0
    assert pass_at_k(n, c, k) == pytest.approx(1.0 - pass_hat_k(n, n - c, k), abs=1e-12)


LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40)


@given(pairs=LABELS)
def test_agreement_is_mutual_and_at_most_one(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    found, mirrored = cohen_kappa(first, second), cohen_kappa(second, first)
    assert found.estimate == mirrored.estimate or found.estimate == pytest.approx(mirrored.estimate)
    if found.estimate is not None:
        assert -1.0 <= found.estimate <= 1.0
        assert ends(found)[0] <= found.estimate <= ends(found)[1]


@given(pairs=LABELS)
def test_krippendorff_alpha_knows_neither_graders_nor_names(pairs: list[tuple[str, str]]) -> None:
    ratings = [[float(ord(label)) for label in pair] for pair in pairs]
    renamed = [[-7.0 * rating for rating in reversed(unit)] for unit in ratings]
    for scale in ("nominal", "interval"):
        found, other = (krippendorff_alpha(some, scale=scale, resamples=9).estimate for some in (ratings, renamed))
        assert found == other or found == pytest.approx(other)
