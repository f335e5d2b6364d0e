"""Levels are kept: coverage of intervals and errors of tests, counted over all samples or over simulated campaigns.

The quick form takes a few seconds; `pytest -m simulation tests/statistics` runs the long one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from random import Random

import pytest
from quintain.model.interval import Interval, Side
from quintain.statistics import (
    bca_bootstrap,
    betting,
    betting_paired,
    betting_sequence,
    cases_for_effect,
    clopper_pearson,
    cluster_means,
    clustered,
    hoeffding,
    jeffreys,
    krippendorff_alpha,
    log_ratio,
    mcnemar,
    normal_mixture_radius,
    paired_interval,
    rogan_gladen,
    sequential_decision,
    sign_flip,
    stitched_radius,
    t_interval,
    wilson,
)

Draw = Callable[[Random], float]

BOUNDED: dict[str, tuple[float, Draw]] = {
    "0.02": (0.02, lambda random: float(random.random() < 0.02)),
    "0.5": (0.5, lambda random: float(random.random() < 0.5)),
    "0.98": (0.98, lambda random: float(random.random() < 0.98)),
    "thirds": (0.7, lambda random: sum(random.random() < 0.7 for _ in range(3)) / 3),
    "skewed": (0.2, lambda random: random.betavariate(0.5, 2.0)),
}

PAIRED: dict[str, tuple[float, Draw]] = {
    "no difference but in 1 of 20": (0.0, lambda random: random.choice((-1.0, 1.0)) if random.random() < 0.05 else 0.0),
    "many small gains, few great losses": (0.0, lambda random: 0.1 if random.random() < 10 / 11 else -1.0),
    "few great gains, many small losses": (0.0, lambda random: 1.0 if random.random() < 1 / 11 else -0.1),
    "noise": (0.0, lambda random: max(-1.0, min(1.0, random.gauss(0.0, 0.3)))),
    "verdicts": (0.0, lambda random: float(random.choice((-1, 1)))),
}

Procedure = Callable[[Sequence[float]], Interval]


def holds(interval: Interval, truth: float) -> bool:
    low = -math.inf if interval.low is None else interval.low
    high = math.inf if interval.high is None else interval.high
    return low - 1e-12 <= truth <= high + 1e-12


def coverage(procedure: Procedure, draw: Draw, truth: float, n: int, times: int) -> Interval:
    random = Random(f"{n} {truth}")
    found = sum(holds(procedure([draw(random) for _ in range(n)]), truth) for _ in range(times))
    return wilson(found, times)


def guaranteed(covered: Interval) -> bool:
    """That of 95 % isn't refuted, with one point of slack for the simulation."""
    assert covered.low is not None
    return covered.low >= 0.94


# --- intervals that claim a guarantee


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [5, 10, 20, 50])
def test_clopper_pearson_covers_every_proportion_exactly(n: int, side: Side) -> None:
    found = [clopper_pearson(successes, n, side=side) for successes in range(n + 1)]
    for p in (0.001, 0.02, 0.1, 0.35, 0.5, 0.77, 0.98, 0.999):
        covered = sum(
            math.comb(n, successes) * p**successes * (1 - p) ** (n - successes)
            for successes in range(n + 1)
            if holds(found[successes], p)
        )
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize("procedure", [wilson, jeffreys])
def test_wilson_and_jeffreys_cover_on_average_over_proportions(procedure: Callable[[int, int], Interval]) -> None:
    for n in (5, 20, 50):
        found = [procedure(successes, n) for successes in range(n + 1)]
        grid = [(i + 0.5) / 400 for i in range(400)]
        covered = sum(
            math.comb(n, successes) * p**successes * (1 - p) ** (n - successes)
            for p, successes in product(grid, range(n + 1))
            if holds(found[successes], p)
        )
        assert covered / 400 == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("procedure", [betting, hoeffding])
def test_intervals_of_bounded_means_cover(procedure: Procedure, name: str) -> None:
    truth, draw = BOUNDED[name]
    assert guaranteed(coverage(procedure, draw, truth, 5, 250))
    assert guaranteed(coverage(procedure, draw, truth, 20, 150))


@pytest.mark.parametrize("name", PAIRED)
def test_the_betting_interval_of_differences_covers(name: str) -> None:
    truth, draw = PAIRED[name]
    assert guaranteed(coverage(betting_paired, draw, truth, 20, 150))


def at_all_looks(values: Sequence[float]) -> Interval:
    looks = betting_sequence(values)
    lows = [look.low for look in looks if look.low is not None]
    highs = [look.high for look in looks if look.high is not None]
    return Interval(None, max(lows), min(highs), "all looks", 0.95, len(looks))


@pytest.mark.parametrize("procedure", [betting, hoeffding, at_all_looks])
def test_intervals_cover_exactly_over_all_verdicts_of_ten_cases(procedure: Procedure) -> None:
    verdicts = list(product((0.0, 1.0), repeat=10))
    found = [procedure(values) for values in verdicts]
    for p in (0.02, 0.3, 0.5, 0.9):
        chances = [p ** sum(values) * (1.0 - p) ** (10 - sum(values)) for values in verdicts]
        assert sum(chance for chance, each in zip(chances, found, strict=True) if holds(each, p)) >= 0.95


@pytest.mark.parametrize("radius", [normal_mixture_radius, stitched_radius])
def test_radii_hold_at_all_times_at_once(radius: Callable[[int], float]) -> None:
    random, times, radii = Random(9), 400, [radius(n) for n in range(1, 301)]
    found = 0
    for _ in range(times):
        total, inside = 0.0, True
        for n, allowed in enumerate(radii, 1):
            total += random.random() < 0.5
            inside = inside and abs(total / n - 0.5) <= allowed
        found += inside
    assert guaranteed(wilson(found, times))


@pytest.mark.parametrize("n", [7, 9])
def test_the_inverted_sign_flip_test_covers_symmetric_differences(n: int) -> None:
    for draw in (lambda random: random.gauss(0.3, 1.0), lambda random: 0.3 + random.choice((-1, 1)) * random.random()):
        covered = coverage(paired_interval, draw, 0.3, n, 600)
        assert covered.estimate == pytest.approx(0.95, abs=0.02)


def test_student_covers_normal_values() -> None:
    for n in (5, 30):
        covered = coverage(t_interval, lambda random: random.gauss(2.0, 3.0), 2.0, n, 2000)
        assert covered.estimate == pytest.approx(0.95, abs=0.012)


def of_clusters(random: Random) -> tuple[list[float], list[int]]:
    values, clusters = [], []
    for cluster in range(10):
        shared = random.gauss(0.0, 1.0)
        for _ in range(random.choice((1, 2, 4, 9))):
            values.append(shared + random.gauss(0.0, 0.5))
            clusters.append(cluster)
    return values, clusters


def test_cr2_covers_where_cases_of_a_cluster_depend_and_cr0_and_cases_alone_do_not() -> None:
    random, times = Random(10), 800
    samples = [of_clusters(random) for _ in range(times)]
    rates = {
        "CR2": sum(holds(clustered(*sample), 0.0) for sample in samples) / times,
        "CR0": sum(holds(clustered(*sample, kind="CR0"), 0.0) for sample in samples) / times,
        "cases": sum(holds(t_interval(values), 0.0) for values, _ in samples) / times,
        "means": sum(holds(t_interval(cluster_means(*sample)), 0.0) for sample in samples) / times,
    }
    assert rates["means"] == pytest.approx(0.95, abs=0.02)
    assert rates["CR2"] >= 0.93
    assert rates["CR0"] < rates["CR2"]
    assert rates["cases"] < 0.8


# --- tests


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("sizes", [[1.0] * 9, [0.1, 0.2, 0.3, 0.7, 1.1, 0.5, 0.5, 2.0], [1, 2, 4, 8, 16, 32]], ids=str)
def test_the_sign_flip_test_keeps_every_level_exactly(sizes: list[float], side: Side) -> None:
    ps = []
    for signs in product((1.0, -1.0), repeat=len(sizes)):
        p = sign_flip([sign * size for sign, size in zip(signs, sizes, strict=True)], side).p
        assert p is not None
        ps.append(p)
    for alpha in (0.01, 0.05, 0.1, 0.25, 0.5):
        assert sum(p <= alpha for p in ps) <= alpha * len(ps)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_mcnemar_keeps_every_level_exactly(side: Side) -> None:
    for n in (1, 5, 12, 31):
        ps = [(mcnemar(b, n - b, side).p or 0.0, math.comb(n, b) / 2**n) for b in range(n + 1)]
        for alpha in (0.01, 0.05, 0.1, 0.25, 0.5):
            assert sum(weight for p, weight in ps if p <= alpha) <= alpha + 1e-12


def test_random_flips_keep_their_level() -> None:
    random, times = Random(11), 400
    found = 0
    for time in range(times):
        p = sign_flip([random.gauss(0.0, 1.0) for _ in range(25)], seed=time, draws=199).p
        found += p is not None and p <= 0.05
    assert found / times <= 0.07


def errors_under_peeking(draw: Draw, n: int, times: int) -> float:
    """The upper bound of how often a difference is found that isn't there, looking after every case."""
    random = Random(12)
    found = sum(sequential_decision([draw(random) for _ in range(n)]).finding != "unknown" for _ in range(times))
    high = wilson(found, times).high
    assert high is not None
    return high


@pytest.mark.parametrize("name", PAIRED)
def test_to_look_after_every_case_does_not_inflate_the_error(name: str) -> None:
    assert errors_under_peeking(PAIRED[name][1], 50, 300) <= 0.055


def test_a_test_that_is_repeated_after_every_case_would_inflate_it() -> None:
    # what the procedure above is for: a plain test, looked at eight times, finds what isn't there
    random, times, found = Random(13), 200, 0
    for _ in range(times):
        values = [random.gauss(0.0, 0.3) for _ in range(80)]
        found += any(not holds(t_interval(values[:n]), 0.0) for n in range(10, 81, 10))
    assert found / times > 0.1


def test_evidence_finds_an_effect_that_is_there() -> None:
    random, found = Random(14), 0
    for _ in range(40):
        values = [float(random.choices((1, 0, -1), (0.3, 0.65, 0.05))[0]) for _ in range(120)]
        found += sequential_decision(values).finding == "better"
    assert found >= 36


# --- graders


def test_the_corrected_pass_rate_covers_the_true_one() -> None:
    random, times, found = Random(15), 500, 0
    for _ in range(times):
        seen = sum(random.random() < (0.9 if random.random() < 0.6 else 0.15) for _ in range(100))
        true_positive = sum(random.random() < 0.9 for _ in range(60))
        true_negative = sum(random.random() < 0.85 for _ in range(60))
        found += holds(
            rogan_gladen(
                seen, 100, true_positive=true_positive, positives=60, true_negative=true_negative, negatives=60
            ),
            0.6,
        )
    assert found / times >= 0.93


# --- the long form


@pytest.mark.simulation
@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("procedure", [betting, hoeffding])
def test_long_intervals_of_bounded_means_cover(procedure: Procedure, name: str, n: int) -> None:
    truth, draw = BOUNDED[name]
    assert guaranteed(coverage(procedure, draw, truth, n, 1000))


@pytest.mark.simulation
@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
@pytest.mark.parametrize("name", PAIRED)
def test_long_the_betting_interval_of_differences_covers(name: str, n: int) -> None:
    truth, draw = PAIRED[name]
    assert guaranteed(coverage(betting_paired, draw, truth, n, 1000))


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["0.02", "0.5", "0.98"])
def test_long_betting_on_means_of_clusters_covers(name: str) -> None:
    truth, draw = BOUNDED[name]

    def procedure(rates: Sequence[float]) -> Interval:
        # three cases of a cluster that always agree
        values = [rate for rate in rates for _ in range(3)]
        return betting(cluster_means(values, [i // 3 for i in range(len(values))]))

    assert guaranteed(coverage(procedure, draw, truth, 20, 2000))


@pytest.mark.simulation
@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_long_the_bootstrap_and_student_are_near_their_level_for_skewed_values(n: int) -> None:
    truth = math.exp(0.5)
    floor = {10: 0.78, 20: 0.82, 50: 0.86, 200: 0.9}[n]  # 95 % is what is hoped for, not what is had
    for procedure in (t_interval, lambda values: bca_bootstrap(values, seed=1, resamples=999)):
        covered = coverage(procedure, lambda random: random.lognormvariate(0.0, 1.0), truth, n, 800)
        assert covered.estimate is not None
        assert covered.estimate >= floor


@pytest.mark.simulation
def test_long_ratios_cover() -> None:
    random, times = Random(16), 3000
    found = 0
    for _ in range(times):
        base = [random.lognormvariate(0.0, 1.0) for _ in range(15)]
        found += holds(log_ratio([x * 1.5 * random.lognormvariate(0.0, 0.3) for x in base], base), 1.5)
    assert found / times == pytest.approx(0.95, abs=0.012)


@pytest.mark.simulation
@pytest.mark.parametrize("n", [15, 25, 40])
def test_long_paired_intervals_cover_symmetric_differences(n: int) -> None:
    covered = coverage(paired_interval, lambda random: random.gauss(0.3, 1.0), 0.3, n, 1500)
    assert covered.estimate == pytest.approx(0.95, abs=0.015)


@pytest.mark.simulation
@pytest.mark.parametrize("name", PAIRED)
def test_long_to_look_after_every_case_does_not_inflate_the_error(name: str) -> None:
    assert errors_under_peeking(PAIRED[name][1], 200, 3000) <= 0.055


@pytest.mark.simulation
@pytest.mark.parametrize("name", BOUNDED)
def test_long_a_betting_sequence_covers_at_all_times_at_once(name: str) -> None:
    truth, draw = BOUNDED[name]
    random, times = Random(17), 800
    found = sum(
        all(holds(look, truth) for look in betting_sequence([draw(random) for _ in range(100)])) for _ in range(times)
    )
    assert guaranteed(wilson(found, times))


@pytest.mark.simulation
def test_long_the_planned_number_of_cases_finds_the_planned_effect() -> None:
    n = cases_for_effect(0.1, 3, 0.04, 0.09)
    random, times = Random(18), 2000
    found = 0
    for _ in range(times):
        values = [random.gauss(0.1, 0.2) + sum(random.gauss(0.0, 0.3) for _ in range(3)) / 3 for _ in range(n)]
        found += not holds(t_interval(values), 0.0)
    assert found / times == pytest.approx(0.8, abs=0.04)


@pytest.mark.simulation
def test_long_the_interval_of_agreement_covers() -> None:
    random, times = Random(19), 300

    def ratings(n: int) -> list[list[float]]:
        truths = [float(random.random() < 0.5) for _ in range(n)]
        return [[truth if random.random() < 0.9 else 1.0 - truth for _ in range(3)] for truth in truths]

    truth = krippendorff_alpha(ratings(60_000), resamples=9).estimate
    assert truth is not None
    found = sum(holds(krippendorff_alpha(ratings(60), resamples=499), truth) for _ in range(times))
    assert found / times >= 0.9
