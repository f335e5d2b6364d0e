"""Fields that only Codex has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def seconds(data: Mapping[str, Any], key: str) -> float | None:
    """A duration in milliseconds as seconds, or None."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return value / 1000
