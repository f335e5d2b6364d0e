"""Bounds on numbers of records, checked where a record is made; the error names the key, the value and what is allowed.

NaN and infinity are within no bounds: they could not be stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from quintain.errors import RecordError
from quintain.model.plain import quoted


def above_zero(record: Any, attribute: Any, value: float | None) -> None:
    """For numbers that must be greater than 0; None stands for none."""
    if value is not None and not 0 < value < math.inf:
        raise RecordError(f"a number above 0 is wanted here, not {quoted(value)}", path=(attribute.name,))


def at_least(least: int) -> Callable[[Any, Any, float | None], None]:
    """For numbers that must not be below a bound; None stands for none."""

    def validate(record: Any, attribute: Any, value: float | None) -> None:
        if value is not None and not least <= value < math.inf:
            raise RecordError(
                f"a number of at least {least} is wanted here, not {quoted(value)}", path=(attribute.name,)
            )

    return validate
