"""What is computed exactly is as scipy and numpy compute it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy
import pytest
from quintain.model.interval import Side
from quintain.statistics import (
    Kind,
    bca_bootstrap,
    beta_cdf,
    beta_quantile,
    clopper_pearson,
    clustered,
    log_ratio,
    mcnemar,
    paired_interval,
    sign_flip,
    student_cdf,
    student_quantile,
    t_interval,
    wilson,
)
from scipy import stats

PROBABILITIES = (1e-6, 0.001, 0.0125, 0.025, 0.05, 0.2, 0.49, 0.5, 0.8, 0.975, 0.9995)


@pytest.mark.parametrize("a", [0.5, 1.0, 3.0, 40.5, 900.0])
@pytest.mark.parametrize("b", [0.5, 1.0, 7.0, 333.0])
def test_the_beta_distribution(a: float, b: float) -> None:
    for probability in PROBABILITIES:
        x = beta_quantile(probability, a, b)
        assert x == pytest.approx(stats.beta.ppf(probability, a, b), abs=1e-10, rel=1e-9)
        assert beta_cdf(x, a, b) == pytest.approx(probability, abs=1e-8)  # near 1 the x itself is rounded
        assert beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-11)
    assert (beta_cdf(0.0, a, b), beta_cdf(1.0, a, b)) == (0.0, 1.0)
    assert (beta_quantile(0.0, a, b), beta_quantile(1.0, a, b)) == (0.0, 1.0)


@pytest.mark.parametrize("df", [1.0, 2.0, 2.772, 9.0, 29.5, 199.0, 1e5])
def test_the_student_distribution(df: float) -> None:
    for probability in PROBABILITIES:
        t = student_quantile(probability, df)
        assert t == pytest.approx(stats.t.ppf(probability, df), rel=1e-9, abs=1e-10)
        assert student_cdf(t, df) == pytest.approx(probability, rel=1e-8)


@pytest.mark.parametrize("n", [1, 2, 7, 30, 200])
def test_intervals_of_every_proportion(n: int) -> None:
    for successes in range(0, n + 1, max(1, n // 17)):
        for level in (0.8, 0.95, 0.999):
            for ours, theirs in ((wilson, "wilson"), (clopper_pearson, "exact")):
                found = ours(successes, n, level)
                expected = stats.binomtest(successes, n).proportion_ci(level, theirs)
                assert (found.low, found.high) == (
                    pytest.approx(expected.low, abs=1e-9),
                    pytest.approx(expected.high, abs=1e-9),
                )


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_mcnemar_is_the_binomial_test(side: Side) -> None:
    for b, c in itertools.product(range(9), repeat=2):
        if b + c:
            expected = stats.binomtest(b, b + c, alternative=side).pvalue
            assert mcnemar(b, c, side).p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 3, 30, 200])
def test_the_t_interval(n: int, level: float) -> None:
    values = numpy.random.default_rng(n).normal(3.0, 2.0, n)
    found = t_interval(list(values), level)
    low, high = stats.t.interval(level, n - 1, values.mean(), stats.sem(values))
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_the_interval_of_a_ratio_is_that_of_its_logarithm() -> None:
    a, b = [2.0, 3.0, 8.0, 1.5], [1.0, 2.0, 2.0, 1.0]
    logs = numpy.log(numpy.array(a) / numpy.array(b))
    low, high = numpy.exp(stats.t.interval(0.95, 3, logs.mean(), stats.sem(logs)))
    found = log_ratio(a, b)
    assert found.estimate == pytest.approx(math.exp(logs.mean()), abs=1e-12)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def permutation_p(differences: list[float], side: Side) -> float:
    result = stats.permutation_test(
        (numpy.array(differences),),
        lambda x, axis: numpy.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=numpy.inf,
        alternative=side,
    )
    return float(result.pvalue)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    "differences",
    [
        [0.1, 0.2, -0.3, 0.5, 0.25, 0.7, 0.11, -0.05],
        [1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0],
        [1 / 3, 2 / 3, -1 / 3, 1.0, 1 / 3, 1 / 3],
        [math.pi, -math.e, 1.7, 0.3, 4.1, 2.2, 3.3, 0.7, -0.2, 5.0, 1.1],
    ],
    ids=["tenths", "verdicts", "thirds", "any"],
)
def test_the_sign_flip_test_counts_every_flip(differences: list[float], side: Side) -> None:
    found = sign_flip(differences, side)
    assert found.method == "sign-flip exact"
    assert found.p == pytest.approx(permutation_p(differences, side), abs=1e-12)


def test_counting_whole_steps_is_the_same_as_putting_halves_together() -> None:
    generator = random.Random(3)
    steps = [generator.randint(-9, 9) / 7 for _ in range(18)]
    nudged = [step * math.sqrt(2.0) for step in steps]
    assert sign_flip(steps).p == pytest.approx(sign_flip(nudged).p, abs=1e-15)


def test_random_flips_come_near_the_exact_count() -> None:
    generator = random.Random(3)
    steps = [generator.randint(-7, 9) / 7 for _ in range(60)]
    exact, drawn = sign_flip(steps), sign_flip([step * math.sqrt(2.0) for step in steps], draws=40_000)
    assert (exact.method, drawn.method) == ("sign-flip exact", "sign-flip Monte Carlo")
    assert exact.p is not None
    assert drawn.p == pytest.approx(exact.p, abs=5 * math.sqrt(exact.p / 40_000))


def test_random_flips_can_never_give_a_p_of_zero() -> None:
    assert sign_flip([math.sqrt(2.0)] * 40 + [1.0], draws=99).p == 1 / 100


@pytest.mark.parametrize("n", [8, 12, 13, 15])
def test_the_interval_is_where_the_sign_flip_test_does_not_reject(n: int) -> None:
    generator = random.Random(n)
    values = [generator.gauss(0.4, 1.0) for _ in range(n)]
    found = paired_interval(values)
    assert found.low is not None
    assert found.high is not None
    near = 1e-5 * (found.high - found.low)
    for inside, outside in ((found.low + near, found.low - near), (found.high - near, found.high + near)):
        kept, rejected = (sign_flip([value - center for value in values]).p for center in (inside, outside))
        assert kept is not None
        assert rejected is not None
        assert rejected <= 0.05 < kept


def test_random_subsets_come_near_all_of_them() -> None:
    generator = random.Random(4)
    values = [generator.gauss(0.4, 1.0) for _ in range(21)]
    found, student = paired_interval(values, seed=7), t_interval(values)
    assert found.method == "sign-flip inverted Monte Carlo"
    assert found.seed == 7
    assert (found.low, found.high) == (
        pytest.approx(student.low, abs=0.06),
        pytest.approx(student.high, abs=0.06),
    )


@pytest.mark.parametrize("n", [10, 33, 200, 300])
def test_the_bootstrap(n: int) -> None:
    values = numpy.random.default_rng(n).lognormal(0.0, 1.0, n)
    found = bca_bootstrap(list(values), seed=1)
    theirs = stats.bootstrap((values,), numpy.mean, method="BCa", rng=numpy.random.default_rng(2)).confidence_interval
    near = 0.06 * (theirs.high - theirs.low)
    assert (found.low, found.high) == (pytest.approx(theirs.low, abs=near), pytest.approx(theirs.high, abs=near))


def test_the_bootstrap_of_another_statistic() -> None:
    values = list(numpy.random.default_rng(5).normal(0.0, 1.0, 25))
    found = bca_bootstrap(values, seed=1, statistic=lambda some: sum(some) / len(some))
    usual = bca_bootstrap(values, seed=1)
    assert (found.low, found.high) == (pytest.approx(usual.low, abs=0.03), pytest.approx(usual.high, abs=0.03))


def test_the_bootstrap_corrects_a_bias() -> None:
    values = numpy.random.default_rng(6).gamma(2.0, 1.0, 25)
    spread = list(values)

    def population_variance(some: Sequence[float]) -> float:
        center = sum(some) / len(some)
        return sum(value * value for value in some) / len(some) - center * center

    found = bca_bootstrap(spread, seed=1, statistic=population_variance, resamples=40_000)
    theirs = stats.bootstrap(
        (values,), numpy.var, method="BCa", n_resamples=40_000, rng=numpy.random.default_rng(2)
    ).confidence_interval
    near = 0.03 * (theirs.high - theirs.low)
    assert (found.low, found.high) == (pytest.approx(theirs.low, abs=near), pytest.approx(theirs.high, abs=near))


def bell_mccaffrey(values: numpy.ndarray, clusters: list[int]) -> tuple[float, float]:
    """Standard error and degrees of freedom by whole matrices, as the paper writes them."""
    n = len(values)
    hat, residuals, identity = numpy.full((n, n), 1.0 / n), values - values.mean(), numpy.eye(n)
    columns, total = [], 0.0
    for cluster in sorted(set(clusters)):
        inside = [i for i, name in enumerate(clusters) if name == cluster]
        block = identity[numpy.ix_(inside, inside)] - hat[numpy.ix_(inside, inside)]
        eigenvalues, vectors = numpy.linalg.eigh(block)
        root = vectors @ numpy.diag(eigenvalues**-0.5) @ vectors.T
        weights = root @ numpy.ones(len(inside)) / n
        total += float(weights @ residuals[inside]) ** 2
        columns.append((identity - hat)[:, inside] @ weights)
    gram = numpy.array(columns) @ numpy.array(columns).T
    return math.sqrt(total), float(numpy.trace(gram) ** 2 / (gram**2).sum())


@pytest.mark.parametrize("sizes", [(4, 2, 4, 3), (1, 1, 1, 1, 1), (10, 1, 1, 2), (5, 5, 5)], ids=str)
def test_cr2_is_what_matrices_give(sizes: tuple[int, ...]) -> None:
    clusters = [name for name, size in enumerate(sizes) for _ in range(size)]
    values = numpy.random.default_rng(1).normal(0.0, 1.0, len(clusters))
    error, df = bell_mccaffrey(values, clusters)
    found = clustered(list(values), clusters)
    assert found.high is not None
    assert found.high - values.mean() == pytest.approx(stats.t.ppf(0.975, df) * error, abs=1e-9)


def test_clusters_of_one_case_are_cases() -> None:
    values = [0.1, 0.5, 0.2, 0.9]
    plain = t_interval(values)
    kinds: tuple[Kind, ...] = ("CR1", "CR2")
    for kind in kinds:
        found = clustered(values, [None] * 4, kind=kind)
        assert (found.low, found.high) == (pytest.approx(plain.low, abs=1e-12), pytest.approx(plain.high, abs=1e-12))
