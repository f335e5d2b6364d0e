"""Fields of messages that may be anything: what isn't what it should be counts as absent, or is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class WrongField(Exception):
    """A message can't be taken because of one field.

    Args:
        path: the field, dotted.
        wanted: what it should be.
        value: what it is; None if it is missing.
    """

    def __init__(self, path: str, wanted: str, value: object = None) -> None:
        found = "is missing" if value is None else f"must be {wanted}, not {_described(value)}"
        super().__init__(f"`{path}` {found}")
        self.path = path


def tables(data: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list."""
    value = data.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(data: Mapping[str, Any], key: str) -> list[str]:
    """The texts of a list."""
    value = data.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def need_text(data: Mapping[str, Any], key: str, above: str = "") -> str:
    """A text of at least one character. Raises WrongField."""
    value = data.get(key)
    if isinstance(value, str) and value:
        return value
    raise WrongField(f"{above}.{key}" if above else key, "a text", value)


def need_table(data: Mapping[str, Any], key: str, above: str = "") -> dict[str, Any]:
    """An object. Raises WrongField."""
    value = data.get(key)
    if isinstance(value, dict):
        return value
    raise WrongField(f"{above}.{key}" if above else key, "an object", value)


def _described(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "a text" if value else "an empty text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"
