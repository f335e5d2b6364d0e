"""Evidence that may be looked at after each case: e-values, and confidence radii that hold at all times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from attrs import evolve, frozen

from quintain.errors import SampleError, UsageError
from quintain.model.interval import Side
from quintain.statistics._sample import alpha_of

FRACTIONS = tuple(0.95 * 0.6**step for step in range(10))
"""Shares of the capital that are bet; from nearly all, for large effects, to 1 % for small ones."""

_HIGHEST_LOG = 700.0


@frozen
class EProcess:
    """The evidence so far about the mean of paired differences.

    Attributes:
        low: the least difference that could be seen, below 0.
        high: the greatest one, above 0.
        n: differences seen.
        better_logs: logarithm of the capital of each gambler on a mean above 0.
        worse_logs: likewise below 0.
    """

    low: float
    high: float
    n: int
    better_logs: tuple[float, ...]
    worse_logs: tuple[float, ...]

    @property
    def better(self) -> float:
        """The e-value against "the mean is 0 or less": 1/alpha or more rejects it."""
        return _mixed(self.better_logs)

    @property
    def worse(self) -> float:
        """The e-value against "the mean is 0 or more"."""
        return _mixed(self.worse_logs)


def _mixed(logs: Sequence[float]) -> float:
    highest = max(logs)
    total = math.fsum(math.exp(log - highest) for log in logs) / len(logs)
    return math.exp(min(_HIGHEST_LOG, highest + math.log(total)))


def start(low: float = -1.0, high: float = 1.0) -> EProcess:
    """The evidence before any difference: both e-values are 1.

    Raises:
        UsageError: 0 is not inside the bounds.

    Source: that of `e_process`.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < 0.0 < high):
        raise UsageError(f"differences in [{low}, {high}] can't be tested against 0")
    empty = (0.0,) * len(FRACTIONS)
    return EProcess(low, high, 0, empty, empty)


def observe(process: EProcess, difference: float) -> EProcess:
    """The evidence after one more difference; the order of differences does not change where it ends.

    Raises:
        SampleError: the difference is no number or out of bounds; `position` counts from 0.

    Source: that of `e_process`.
    """
    if not process.low <= difference <= process.high:
        raise SampleError(
            f"difference at position {process.n} is {difference}, not in [{process.low:g}, {process.high:g}]",
            position=process.n,
        )
    up, down = difference / -process.low, -difference / process.high
    return evolve(
        process,
        n=process.n + 1,
        better_logs=tuple(log + math.log1p(f * up) for log, f in zip(process.better_logs, FRACTIONS, strict=True)),
        worse_logs=tuple(log + math.log1p(f * down) for log, f in zip(process.worse_logs, FRACTIONS, strict=True)),
    )


def e_process(differences: Iterable[float], low: float = -1.0, high: float = 1.0) -> tuple[EProcess, ...]:
    """The betting e-process of paired differences: the evidence after each of them, in the order seen.

    If the mean is 0 or less given all that was seen before, `better` ever reaches 1/alpha with probability alpha at
    most, however often one looks and whenever one stops. Ten gamblers who always bet the same share of
    their capital are averaged, so that it has power for large and for small effects.

    Args:
        differences: candidate minus baseline, one per case.
        low: the least difference that could be seen.
        high: the greatest one.

    Raises:
        SampleError: a difference is no number or out of bounds.

    Source: Waudby-Smith and Ramdas (2024), section 4; mixture as in Cover (1991); Ville (1939) for the bound.
    """
    process, found = start(low, high), []
    for difference in differences:
        process = observe(process, difference)
        found.append(process)
    return tuple(found)


@frozen
class SequentialDecision:
    """What the evidence said when it first said something, or at the end.

    Attributes:
        finding: "better" or "worse", or "unknown" if the evidence is not enough yet.
        n: differences up to the finding, or all of them.
        seen: all differences that were given.
        better: e-value against "no better" then.
        worse: e-value against "no worse" then.
        threshold: what an e-value must reach.
        alpha: probability of any wrong finding, over all comparisons and looks.
        comparisons: candidates that share alpha.
        method: name of the procedure.
        side: which findings were possible.
        assumptions: in words, what must hold for alpha to hold.
    """

    finding: Literal["better", "worse", "unknown"]
    n: int
    seen: int
    better: float
    worse: float
    threshold: float
    alpha: float
    comparisons: int
    method: str = "betting e-process"
    side: Side = "two-sided"
    assumptions: tuple[str, ...] = ()


def sequential_decision(
    differences: Sequence[float],
    alpha: float = 0.05,
    comparisons: int = 1,
    *,
    low: float = -1.0,
    high: float = 1.0,
    side: Side = "two-sided",
) -> SequentialDecision:
    """Whether paired differences, looked at after each, say that a candidate is better or worse.

    A finding stands once it is made: later differences don't take it back. Of no difference nothing is known.

    Args:
        differences: candidate minus baseline, one per case, in the order seen.
        alpha: probability of any wrong finding.
        comparisons: candidates that share it equally.
        low: the least difference that could be seen.
        high: the greatest one.
        side: "greater" looks only for better, "less" only for worse; both share alpha.

    Raises:
        SampleError: a difference is no number or out of bounds.
        UsageError: alpha, comparisons or bounds make no sense.

    Source: that of `e_process`, with Bonferroni's inequality.
    """
    threshold = 1.0 / alpha_of(1.0 - alpha, side, comparisons)
    seen, process = len(differences), start(low, high)
    words = (
        f"differences are in [{low:g}, {high:g}]",
        "cases come in random order or are independent draws of one population",
        "any number of looks",
    )
    finding: Literal["better", "worse", "unknown"] = "unknown"
    decided = process
    for difference in differences:
        process = observe(process, difference)
        if finding == "unknown":
            if side != "less" and process.better >= threshold:
                finding, decided = "better", process
            elif side != "greater" and process.worse >= threshold:
                finding, decided = "worse", process
    at = process if finding == "unknown" else decided
    return SequentialDecision(
        finding, at.n, seen, at.better, at.worse, threshold, alpha, comparisons, side=side, assumptions=words
    )


def e_value_half(successes: int, failures: int) -> float:
    """The e-value against "both are as likely", of pairs that differ: 1/alpha or more rejects it at any time.

    Args:
        successes: pairs that are better.
        failures: pairs that are worse.

    Raises:
        UsageError: a count is negative.

    Source: Krichevsky and Trofimov (1981): the mixture over Beta(1/2, 1/2).
    """
    if successes < 0 or failures < 0:
        raise UsageError(f"{successes} and {failures} are no counts")
    n = successes + failures
    log = n * math.log(2.0) + math.lgamma(successes + 0.5) + math.lgamma(failures + 0.5)
    return math.exp(min(_HIGHEST_LOG, log - math.log(math.pi) - math.lgamma(n + 1)))


def normal_mixture_radius(n: int, level: float = 0.95, *, sigma: float = 0.5, rho: float = 1.0) -> float:
    """Half the width of a confidence sequence after n values: around their mean, at all times, two-sided.

    Args:
        n: values, 1 or more.
        level: confidence, 0 to 1.
        sigma: of sub-Gaussian values; half of the range for bounded ones.
        rho: where it is tightest, in units of n * sigma squared; see `tightest_rho`.

    Raises:
        UsageError: an argument is out of range.

    Source: Robbins (1970), as in Howard and others (2021), equation 14.
    """
    alpha = 2.0 * alpha_of(level, "two-sided")
    _positive(n=n, sigma=sigma, rho=rho)
    time = n * sigma * sigma
    return math.sqrt((time + rho) * (math.log((time + rho) / rho) - 2.0 * math.log(alpha))) / n


def tightest_rho(n: int, level: float = 0.95, *, sigma: float = 0.5) -> float:
    """The rho for which `normal_mixture_radius` is about least at n.

    Source: Howard and others (2021), section 3.5, without Lambert's function.
    """
    logs = -2.0 * math.log(2.0 * alpha_of(level, "two-sided"))
    _positive(n=n, sigma=sigma)
    return n * sigma * sigma / (logs + math.log1p(logs))


def stitched_radius(n: int, level: float = 0.95, *, sigma: float = 0.5) -> float:
    """Half the width of a confidence sequence that shrinks as fast as the law of the iterated logarithm allows.

    Args:
        n: values, 1 or more.
        level: confidence, 0 to 1.
        sigma: of sub-Gaussian values; half of the range for bounded ones.

    Raises:
        UsageError: an argument is out of range.

    Source: Howard and others (2021), theorem 1, with s = 1.4 and eta = 2, from n * sigma squared = 1 on.
    """
    alpha = alpha_of(level, "two-sided")
    _positive(n=n, sigma=sigma)
    s, eta, zeta = 1.4, 2.0, 3.1055472779775810  # Riemann's zeta of 1.4
    time = max(1.0, n * sigma * sigma)
    logs = s * math.log(math.log(eta * time)) + math.log(zeta / alpha) - s * math.log(math.log(eta))
    return math.sqrt((1.0 + (math.sqrt(eta) + 1.0 / math.sqrt(eta)) / 2.0) * time * logs) / n


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise UsageError(f"{name} is {value}; it must be above 0")
