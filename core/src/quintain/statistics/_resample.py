"""Random resampling that is fast enough to be used for every metric of every candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import add
from random import Random

_MOST_AS_BYTES = 256


def resampled(
    sample: Sequence[float],
    resamples: int,
    seed: int,
    statistic: Callable[[Sequence[float]], float] | None = None,
) -> list[float]:
    """The statistic of samples drawn with replacement from the sample; None is the mean."""
    random, n = Random(seed), len(sample)
    if statistic is not None:
        return [statistic(random.choices(sample, k=n)) for _ in range(resamples)]
    if n > _MOST_AS_BYTES:
        return [sum(random.choices(sample, k=n)) / n for _ in range(resamples)]
    return [total / n for total in _sums(sample, resamples, random)]


def _sums(sample: Sequence[float], resamples: int, random: Random) -> Iterator[float]:
    """Sums of n draws each. An index is a byte, and two of them look up the sum of two values at once: 5 times faster."""
    n = len(sample)
    padded = [*sample, *([0.0] * (_MOST_AS_BYTES - n))]
    pairs = [add(first, second) for first in padded for second in padded]
    two_of, one_of = pairs.__getitem__, padded.__getitem__
    pool, place = b"", 0
    even = n - n % 2
    unwanted = bytes(range(n, _MOST_AS_BYTES))
    for _ in range(resamples):
        while len(pool) - place < n:
            pool = pool[place:] + random.randbytes(65536).translate(None, unwanted)
            place = 0
        total = sum(map(two_of, memoryview(pool)[place : place + even].cast("H")))
        yield total + one_of(pool[place + even]) if n % 2 else total
        place += n
