"""Random resampling that is fast enough to be used for every metric of every candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    """Sums of n draws each. Bytes are indices: those that are too large are struck out, the others look up values."""
    n = len(sample)
    unwanted = bytes(range(n, _MOST_AS_BYTES))
    value_of = list(sample).__getitem__
    pool, place = b"", 0
    for _ in range(resamples):
        while len(pool) - place < n:
            pool, place = pool[place:] + random.randbytes(65536).translate(None, unwanted), 0
        yield sum(map(value_of, pool[place : place + n]))
        place += n
