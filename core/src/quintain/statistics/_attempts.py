"""Chances over several attempts at one case, from more attempts than that."""

from __future__ import annotations

import math

from quintain.errors import UsageError


def pass_at_k(n: int, c: int, k: int) -> float:
    """The probability that at least one of k attempts passes, estimated without bias.

    Args:
        n: attempts made.
        c: attempts that passed.
        k: attempts of the question, 1 to n: it can't be estimated for more than were made.

    Raises:
        UsageError: the numbers don't fit.

    Source: Chen and others (2021), equation 1.
    """
    _checked(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The probability that all of k attempts pass, estimated without bias; arguments are those of `pass_at_k`.

    Raises:
        UsageError: the numbers don't fit.

    Source: Yao and others (2024), section 3.
    """
    _checked(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def _checked(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise UsageError(f"{c} of {n} attempts passed says nothing about {k} attempts")
