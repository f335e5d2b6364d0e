"""Where a falling function crosses zero, without its slope."""

from __future__ import annotations

from collections.abc import Callable

_MOST_STEPS = 200


def crossing(function: Callable[[float], float], low: float, high: float, tolerance: float) -> tuple[float, float]:
    """The greatest place found, to a tolerance, where a falling function is still 0 or more, and its value there.

    If it is negative at `low` already, that is the answer; if it is not negative at `high`, that is.

    Source: Chandrupatla (1997): inverse quadratic interpolation where three points allow it, else halving.
    """
    at_low, at_high = function(low), function(high)
    if at_low < 0.0:
        return low, at_low
    if at_high >= 0.0:
        return high, at_high
    # `last` is the newest point, `other` brackets the crossing with it, `old` is the one before on the side of `last`
    last, other, at_last, at_other = high, low, at_high, at_low
    share = 0.5
    for _ in range(_MOST_STEPS):
        place = last + share * (other - last)
        value = function(place)
        if (value >= 0.0) == (at_last >= 0.0):
            old, at_old = last, at_last
        else:
            old, at_old, other, at_other = other, at_other, last, at_last
        last, at_last = place, value
        if abs(other - last) <= tolerance:
            break
        share = _share(last, other, old, at_last, at_other, at_old)
        # a step that is never smaller than this closes the bracket from both sides
        least = min(0.5, 0.5 * tolerance / abs(other - last))
        share = min(1.0 - least, max(least, share))
    return (last, at_last) if at_last >= 0.0 else (other, at_other)


def _share(last: float, other: float, old: float, at_last: float, at_other: float, at_old: float) -> float:
    """How far to go from the newest point towards the one on the other side."""
    width, height = (last - other) / (old - other), (at_last - at_other) / (at_old - at_other)
    if not (height * height < width and (1.0 - height) ** 2 < 1.0 - width):
        return 0.5
    return at_last / (at_other - at_last) * at_old / (at_other - at_old) + (old - last) / (other - last) * (
        at_last / (at_old - at_last) * at_other / (at_old - at_other)
    )
