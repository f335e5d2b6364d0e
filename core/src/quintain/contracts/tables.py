"""An assertion as people write it: one table, in which the plugin's own keys stand beside those of every assertion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.errors import RecordError
from quintain.model.case import Assertion
from quintain.model.codec import from_plain
from quintain.model.plain import quoted

_OF_EVERY_ASSERTION = ("type", "id", "required", "weight")


def assertion_from_table(data: Any) -> Assertion:
    """Make an assertion of a table; for case files, and for assertions that are made of others.

    Args:
        data: a table with `type`, and `id`, `required` and `weight` if wanted; all other keys configure the plugin.

    Raises:
        RecordError: it is no table, `type` is missing, or one of the four is wrong.
    """
    if not isinstance(data, Mapping):
        raise RecordError(f"a table with a `type` is wanted here, not {quoted(data)}")
    stated = {key: data[key] for key in _OF_EVERY_ASSERTION if key in data}
    config = {key: value for key, value in data.items() if key not in stated}
    return from_plain({**stated, "config": config}, Assertion)
