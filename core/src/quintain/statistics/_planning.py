"""What an experiment could find before any of it is paid for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from quintain.errors import UsageError
from quintain.model.interval import Interval, Side
from quintain.statistics._betting import betting, betting_paired, hoeffding
from quintain.statistics._proportions import clopper_pearson, jeffreys, wilson
from quintain.statistics._sample import alpha_of, normal_quantile

_Extreme = Callable[[int, bool, float, Side], Interval]

_METHODS: Mapping[str, _Extreme] = MappingProxyType(
    {
        "wilson": lambda n, good, level, side: wilson(n if good else 0, n, level, side),
        "clopper-pearson": lambda n, good, level, side: clopper_pearson(n if good else 0, n, level, side),
        "jeffreys": lambda n, good, level, side: jeffreys(n if good else 0, n, level, side),
        "hoeffding": lambda n, good, level, side: hoeffding([float(good)] * n, level, side=side),
        "betting": lambda n, good, level, side: betting([float(good)] * n, level, side=side),
        "betting paired": lambda n, good, level, side: betting_paired([1.0 if good else -1.0] * n, level, side),
    }
)


def detectable_effect(
    n: int,
    reps: int,
    var_between: float,
    var_within: float,
    alpha: float = 0.05,
    power: float = 0.8,
    *,
    comparisons: int = 1,
    side: Side = "two-sided",
) -> float:
    """The least mean paired difference that n cases would find with the given power.

    Args:
        n: cases, 1 or more.
        reps: repetitions of each case, 1 or more; they lessen the variance within cases only.
        var_between: variance over cases of the true difference.
        var_within: variance of the difference of one repetition within a case: that of both candidates added.
        alpha: probability of finding a difference that isn't there.
        power: probability of finding one that is.
        comparisons: candidates that share alpha equally.
        side: of the test.

    Raises:
        UsageError: an argument is out of range.

    Source: Miller (2024), on power analysis.
    """
    if n < 1:
        raise UsageError(f"{n} cases can't find anything")
    return math.sqrt(_needed(reps, var_between, var_within, alpha, power, comparisons, side) / n)


def cases_for_effect(
    effect: float,
    reps: int,
    var_between: float,
    var_within: float,
    alpha: float = 0.05,
    power: float = 0.8,
    *,
    comparisons: int = 1,
    side: Side = "two-sided",
) -> int:
    """How many cases it takes to find a mean paired difference of `effect`; other arguments as `detectable_effect`.

    Raises:
        UsageError: the effect is 0 or no number, or another argument is out of range.

    Source: Miller (2024), on power analysis.
    """
    if not 0.0 < abs(effect) < math.inf:
        raise UsageError(f"no number of cases finds an effect of {effect}")
    needed = _needed(reps, var_between, var_within, alpha, power, comparisons, side)
    return max(1, math.ceil(needed / effect**2 * (1.0 - 1e-12)))


def _needed(
    reps: int, var_between: float, var_within: float, alpha: float, power: float, comparisons: int, side: Side
) -> float:
    if reps < 1:
        raise UsageError(f"{reps} repetitions can't find anything")
    if not (0.0 <= var_between < math.inf and 0.0 <= var_within < math.inf):
        raise UsageError("a variance is 0 or more")
    if not 0.0 < power < 1.0:
        raise UsageError(f"a power of {power} is not between 0 and 1")
    tail = alpha_of(1.0 - alpha, side, comparisons)
    z = normal_quantile(1.0 - tail) + normal_quantile(power)
    return max(0.0, z) ** 2 * (var_between + var_within / reps)


def best_reachable_lower_bound(method: str, n: int, level: float = 0.95, side: Side = "two-sided") -> float | None:
    """The lower bound if every case passes: a constraint above it can't be met with n cases, so refuse it at once.

    Args:
        method: "wilson", "clopper-pearson", "jeffreys", "hoeffding", "betting" or "betting paired".
        n: cases, 0 or more; with none there is no bound.
        level: confidence, 0 to 1.
        side: "two-sided" or "greater".

    Raises:
        UsageError: the method is not known, n is negative, or the side has no such bound.

    Source: that of the method itself.
    """
    if side == "less":
        raise UsageError("an interval that is open below has no lower bound")
    return _extreme(method, n, True, level, side).low


def best_reachable_upper_bound(method: str, n: int, level: float = 0.95, side: Side = "two-sided") -> float | None:
    """The upper bound if every case fails; for side "two-sided" or "less", else as `best_reachable_lower_bound`.

    Source: that of the method itself.
    """
    if side == "greater":
        raise UsageError("an interval that is open above has no upper bound")
    return _extreme(method, n, False, level, side).high


def smallest_p(n: int, side: Side = "two-sided") -> float:
    """The least p-value that an exact test of n pairs can give: all differ, all in the same direction.

    Args:
        n: pairs; with none, p is 1.
        side: of the test.

    Raises:
        UsageError: n is negative.

    Source: Fisher (1935), section 21.
    """
    alpha_of(0.95, side)
    if n < 0:
        raise UsageError(f"{n} is no number of pairs")
    return float(min(1.0, 2.0 ** (1 - n) if side == "two-sided" else 2.0**-n))


def _extreme(method: str, n: int, good: bool, level: float, side: Side) -> Interval:
    if method not in _METHODS:
        raise UsageError(f"{method!r} has no bound to plan with: say one of {', '.join(_METHODS)}")
    if n < 0:
        raise UsageError(f"{n} is no number of cases")
    return _METHODS[method](n, good, level, side)
