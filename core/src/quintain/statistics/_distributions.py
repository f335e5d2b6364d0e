"""The beta and Student distributions, to about 1e-12, from the standard library alone."""

from __future__ import annotations

import math

from quintain.errors import UsageError

_SMALLEST = 1e-300


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for positive a and b.

    Source: the continued fraction of Abramowitz and Stegun (1964), 26.5.8, evaluated as Lentz (1976) does.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_tail(1.0 - x, math.log1p(-x), math.log(x), b, a)
    return _beta_tail(x, math.log(x), math.log1p(-x), a, b)


def _beta_tail(x: float, log_x: float, log_rest: float, a: float, b: float) -> float:
    front = a * log_x + b * log_rest + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(front) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction; it converges fast where x is below the mean of the distribution."""
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    total = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 / _away(1.0 + even * d)
        c = _away(1.0 + even / c)
        total *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / _away(1.0 + odd * d)
        c = _away(1.0 + odd / c)
        step = d * c
        total *= step
        if abs(step - 1.0) < 1e-16:
            break
    return total


def _away(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = probability: Newton's steps, each kept within a bracket that shrinks.

    Raises:
        UsageError: the probability is not in [0, 1].

    Source: Press and others (2007), section 9.4, for the safeguarded steps.
    """
    if not 0.0 <= probability <= 1.0:
        raise UsageError(f"{probability} is no probability")
    if probability in (0.0, 1.0):
        return probability
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(200):
        error = beta_cdf(x, a, b) - probability
        if error > 0.0:
            high = x
        else:
            low = x
        density = math.exp((a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - log_beta)
        step = error / density if density > 0.0 else math.inf
        following = x - step
        if not low < following < high:
            # halving the logarithm too reaches quantiles near 0 in few steps
            following = math.sqrt(low * high) if low > 0.0 and high < 0.01 else (low + high) / 2.0
        if abs(following - x) <= 1e-15 * x or not low < following < high:
            return following
        x = following
    return x


def student_cdf(t: float, df: float) -> float:
    """The distribution function of Student's t with any positive degrees of freedom.

    Source: Abramowitz and Stegun (1964), 26.7.1.
    """
    square = t * t
    if square < df:
        inner = beta_cdf(square / (df + square), 0.5, df / 2.0)
        return 0.5 + math.copysign(inner, t) / 2.0
    tail = beta_cdf(df / (df + square), df / 2.0, 0.5) / 2.0
    return 1.0 - tail if t > 0.0 else tail


def student_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with any positive degrees of freedom.

    Raises:
        UsageError: the probability is not between 0 and 1, or the degrees of freedom are not positive.

    Source: Abramowitz and Stegun (1964), 26.7.1, inverted through the beta distribution.
    """
    if not 0.0 < probability < 1.0:
        raise UsageError(f"{probability} is not between 0 and 1")
    if not df > 0.0:
        raise UsageError(f"{df} are no degrees of freedom")
    if probability == 0.5:
        return 0.0
    tail = min(probability, 1.0 - probability)
    if tail < 0.1:
        rest = beta_quantile(2.0 * tail, df / 2.0, 0.5)
        size = math.sqrt(df * (1.0 - rest) / rest)
    else:
        part = beta_quantile(1.0 - 2.0 * tail, 0.5, df / 2.0)
        size = math.sqrt(df * part / (1.0 - part))
    return size if probability > 0.5 else -size
