"""The sign-flip test of paired differences, and the interval of all means that it does not reject."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from operator import getitem
from random import Random

from attrs import evolve

from quintain.errors import UsageError
from quintain.model.interval import Interval, Side, TestResult
from quintain.statistics._means import t_interval
from quintain.statistics._sample import NO_SPREAD, NOTHING, ONE_VALUE, alpha_of, finite, has_spread, mean, unknown
from quintain.statistics._search import crossing

MOST_ENUMERATED = 20
FEWEST_FOR_T = 30
_LARGEST_PART = 120
_MOST_BITS = 4_000_000


def sign_flip(differences: Sequence[float], side: Side = "two-sided", seed: int = 0, draws: int = 9999) -> TestResult:
    """The test that differences of pairs are symmetric about 0: how many ways to flip signs give as large a sum.

    Exact for up to 20 pairs that differ, and for any number of them whose differences are whole multiples of 1, 1/2,
    1/3 ... or 1/120, such as pass rates; by random flips beyond that, with the sample itself counted as one of
    them. `method` says which: "sign-flip exact" or "sign-flip Monte Carlo".

    Args:
        differences: candidate minus baseline, one per case. Ties say nothing and are left out; if no pair differs,
            p is 1.
        side: "greater" asks whether the candidate has more.
        seed: of the random flips.
        draws: how many of them.

    Raises:
        SampleError: a difference is no number.

    Source: Fisher (1935), section 21; Phipson and Smyth (2010) for (b + 1) / (m + 1).
    """
    alpha_of(0.95, side)
    moved = [value for value in finite(differences, "difference") if value != 0.0]
    observed = math.fsum(moved)
    n = len(moved)
    if not n:
        return TestResult(1.0, "sign-flip exact", 0, 0.0, side, note="no pair differs")
    signed = -observed if side == "less" else observed
    reach = abs(observed) if side == "two-sided" else signed
    share = _exact_share([abs(value) for value in moved], reach)
    if share is not None:
        p = min(1.0, 2.0 * share) if side == "two-sided" else share
        return TestResult(p, "sign-flip exact", n, observed / len(differences), side)
    if draws < 1:
        raise UsageError("random flips need at least one draw")
    p = _drawn_share(moved, reach, side == "two-sided", seed, draws)
    return TestResult(p, "sign-flip Monte Carlo", n, observed / len(differences), side, seed=seed)


def _exact_share(sizes: Sequence[float], reach: float) -> float | None:
    """The share of flips whose sum is at least `reach`; None if there are too many to count."""
    steps = _whole(sizes)
    if steps is not None:
        unit, whole = steps
        return _counted(whole, round(reach / unit))
    return _enumerated(sizes, reach) if len(sizes) <= MOST_ENUMERATED else None


def _whole(sizes: Sequence[float]) -> tuple[float, list[int]] | None:
    """The sizes as whole multiples of a unit, if there is one that keeps the count short."""
    if max(sizes) > _MOST_BITS:
        return None
    for parts in range(1, _LARGEST_PART + 1):
        if all(abs(size * parts - round(size * parts)) < 1e-9 for size in sizes):
            whole = [round(size * parts) for size in sizes]
            fits = all(whole) and sum(whole) * (len(whole) + 1) <= _MOST_BITS
            return (1.0 / parts, whole) if fits else None
    return None


def _counted(whole: Sequence[int], reach: int) -> float:
    """Flips by their sum, all at once: one long number holds the counts side by side, wide enough not to touch."""
    width = len(whole) + 1
    counts = 1
    for size in whole:
        counts += counts << (size * width)
    # turning the negative ones of a set of pairs positive adds twice its sum to minus the total
    first = max(0, -(-(reach + sum(whole)) // 2))
    return _folded(counts >> (first * width), width) / (1 << len(whole))


def _folded(data: int, width: int) -> int:
    """The sum of all counts; it is at most the number of flips, so it never outgrows its `width` bits."""
    while data.bit_length() > width:
        fields = -(-data.bit_length() // width)
        half = -(-fields // 2) * width
        data = (data & ((1 << half) - 1)) + (data >> half)
    return data


def _enumerated(sizes: Sequence[float], reach: float) -> float:
    """Sums of both halves of the pairs, put together by search: the square root of the work of listing all."""
    near = 1e-9 * math.fsum(sizes)
    middle = len(sizes) // 2
    left, right = sorted(_sums(sizes[:middle])), sorted(_sums(sizes[middle:]))
    found = sum(len(right) - bisect_left(right, reach - near - value) for value in left)
    return found / (1 << len(sizes))


def _sums(sizes: Sequence[float]) -> list[float]:
    """Of all ways to give signs."""
    sums = [0.0]
    for size in sizes:
        sums = [total + size for total in sums] + [total - size for total in sums]
    return sums


def _drawn_share(moved: Sequence[float], reach: float, both: bool, seed: int, draws: int) -> float:
    """Random signs, eight at a time: each byte of a random number looks up a sum that was made beforehand."""
    tables = [_sums(moved[start : start + 8]) for start in range(0, len(moved), 8)]
    full = [table * (256 // len(table)) for table in tables]
    near = 1e-9 * math.fsum(map(abs, moved))
    random, width = Random(seed), len(full)
    pool = random.randbytes(width * draws)
    sums = (sum(map(getitem, full, pool[at : at + width])) for at in range(0, width * draws, width))
    goal = reach - near
    found = sum(abs(total) >= goal for total in sums) if both else sum(total >= goal for total in sums)
    return (found + 1) / (draws + 1)


def paired_interval(
    differences: Sequence[float],
    level: float = 0.95,
    side: Side = "two-sided",
    seed: int = 0,
    comparisons: int = 1,
) -> Interval:
    """The interval of the mean paired difference: by inversion of the sign-flip test below 30 cases, Student's from 30.

    Its method says which: "sign-flip inverted exact" (up to 20 cases), "sign-flip inverted Monte Carlo" (21 to 29) or
    "paired t". A bound that so few cases can't reach is None: two-sided at 95 % that is so with fewer than 6.
    So are both if all differences are the same; scores in [0, 1] have `betting_paired`, which always has an answer.

    Args:
        differences: candidate minus baseline, one per case, ties too.
        level: confidence, 0 to 1; of all `comparisons` together.
        side: "greater" has a lower bound only, "less" an upper bound only.
        seed: of the random subsets.
        comparisons: intervals that hold the level together, by Bonferroni's inequality.

    Raises:
        SampleError: a difference is no number.

    Source: Hartigan (1969): the means of subsets are typical values; Bonferroni by Dunn (1961).
    """
    sample = finite(differences, "difference")
    alpha = alpha_of(level, side, comparisons)
    n = len(sample)
    shared = (f"{comparisons} intervals share the error equally",) if comparisons > 1 else ()
    if n >= FEWEST_FOR_T:
        found = t_interval(sample, 1.0 - (1.0 - level) / comparisons, side)
        words = (*found.assumptions, *shared)
        return evolve(found, method="paired t", level=level, assumptions=words, comparisons=comparisons)
    exact = n <= MOST_ENUMERATED
    method = f"sign-flip inverted {'exact' if exact else 'Monte Carlo'}"
    words = ("cases are independent", "differences are symmetric about their mean", *shared)
    if not has_spread(sample):
        why = NO_SPREAD if n > 1 else ONE_VALUE if n else NOTHING
        return evolve(unknown(method, level, sample, side, why, words), comparisons=comparisons)
    lower = _typical if exact else partial(_drawn_typical, seed=seed)
    low = None if side == "less" else lower(sample, alpha)
    negated = None if side == "greater" else lower([-value for value in sample], alpha)
    if (low is None and side != "less") or (negated is None and side != "greater"):
        words = (*words, "so few cases can't reach this level")
    high = None if negated is None else -negated
    return Interval(mean(sample), low, high, method, level, n, n, side, words, None if exact else seed, comparisons)


def _typical(sample: Sequence[float], alpha: float) -> float | None:
    """The lower bound that leaves out as many means of subsets as alpha allows."""
    rank = math.floor(alpha * (1 << len(sample)) * (1.0 + 1e-12))
    return _ranked(sample, rank) if rank >= 1 else None


def _ranked(sample: Sequence[float], rank: int) -> float:
    """The mean of a subset that is the rank-th smallest of all; up to a millionth of the range below it."""
    if len(sample) <= 12:
        sums = [(0.0, 0)]
        for value in sample:
            sums += [(total + value, size + 1) for total, size in sums]
        return sorted(total / size for total, size in sums if size)[rank - 1]
    middle = len(sample) // 2
    halves = _subsets(sample[:middle]), _subsets(sample[middle:])

    def short(mean_at_most: float) -> float:
        left, right = (sorted(total - size * mean_at_most for total, size in half) for half in halves)
        # the empty subset is counted too, and is not one of the means
        found = sum(bisect_right(right, -value) for value in left) - 1
        return math.log((rank - 0.5) / found) if found > 0 else math.log(2.0 * rank)

    low, high = min(sample), max(sample)
    return crossing(short, low, high, 1e-6 * (high - low))[0]


def _subsets(values: Sequence[float]) -> list[tuple[float, int]]:
    found = [(0.0, 0)]
    for value in values:
        found += [(total + value, size + 1) for total, size in found]
    return found


def _drawn_typical(sample: Sequence[float], alpha: float, seed: int) -> float | None:
    """Likewise with 9999 random subsets; still exact in level, by Hartigan's theorem on random subsets."""
    random, n = Random(seed), len(sample)
    parts = [[total for total, _ in _subsets(sample[at : at + 8])] for at in range(0, n, 8)]
    means: list[float] = []
    while len(means) < 9999:
        chosen = random.getrandbits(n)
        if chosen:
            total = sum(map(getitem, parts, chosen.to_bytes(len(parts), "little")))
            means.append(total / chosen.bit_count())
    rank = math.floor(alpha * 10_000 * (1.0 + 1e-12))
    return sorted(means)[rank - 1] if rank >= 1 else None
