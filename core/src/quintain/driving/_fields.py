"""Fields of a message that may be missing or of another type than expected. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class WrongField(Exception):
    """A message can't be taken because of one field.

    Args:
        path: the field, dotted.
        wanted: what should be there.
    """

    def __init__(self, path: str, wanted: str) -> None:
        super().__init__(f"`{path}` must be {wanted}")
        self.path = path


def need_text(data: Mapping[str, Any], key: str, where: str) -> str:
    """A text that must be there; `where` is the path of `data`. Raises WrongField."""
    value = data.get(key)
    if isinstance(value, str) and value:
        return value
    raise WrongField(f"{where}.{key}", "a text of at least one character")


def need_table(data: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """An object that must be there. Raises WrongField."""
    value = data.get(key)
    if isinstance(value, dict):
        return value
    raise WrongField(f"{where}.{key}", "an object")


def text(data: Mapping[str, Any], key: str) -> str | None:
    """A text, or None."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """An object, or an empty one."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def items(data: Mapping[str, Any], key: str) -> list[Any]:
    """A list, or an empty one."""
    value = data.get(key)
    return value if isinstance(value, list) else []
