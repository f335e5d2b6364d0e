"""Where a falling function crosses zero, without its slope."""

from __future__ import annotations

from collections.abc import Callable

_MOST_STEPS = 200


def crossing(function: Callable[[float], float], low: float, high: float, tolerance: float) -> tuple[float, float]:
    """The greatest place found, to a tolerance, where a falling function is still 0 or more, and its value there.

    If it is negative at `low` already, that is the answer. Both ends must be such that the function can be asked there.

    Source: the regula falsi of the Illinois kind, Dowell and Jarratt (1971), with halving where that is slow.
    """
    at_low, at_high = function(low), function(high)
    if at_low < 0.0:
        return low, at_low
    if at_high >= 0.0:
        return high, at_high
    weight_low, weight_high = at_low, at_high
    for step in range(_MOST_STEPS):
        if high - low <= tolerance:
            break
        share = weight_low / (weight_low - weight_high)
        middle = low + (high - low) * (0.5 if step % 4 == 3 else share)
        # a step inwards from an end that is right already closes the bracket from the other side
        middle = min(max(middle, low + tolerance / 2.0), high - tolerance / 2.0)
        value = function(middle)
        if value >= 0.0:
            low, at_low, weight_low, weight_high = middle, value, value, weight_high / 2.0
        else:
            high, weight_high, weight_low = middle, value, weight_low / 2.0
    return low, at_low
