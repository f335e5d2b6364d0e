"""Read one message field by field, and say which field is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any


class WrongField(Exception):
    """A message can't be taken because of one field.

    Args:
        path: the field, dotted; None if it is about the whole message.
        message: what is wrong with it.
    """

    def __init__(self, path: str | None, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


class Fields:
    """The fields of one message or of an object inside it. null is as good as absent where a field is optional.

    Args:
        data: the object.
        prefix: where it stands in the message, with a dot at its end.
    """

    __slots__ = ("beside", "data", "prefix")

    def __init__(self, data: Mapping[str, Any], prefix: str = "") -> None:
        self.data = data
        self.prefix = prefix
        self.beside: list[WrongField] = []
        """What is wrong and yet no reason to refuse the message."""

    def wrong(self, key: str, wanted: str) -> WrongField:
        """The error of a field that is missing or isn't what is wanted."""
        path = self.prefix + key
        if key not in self.data:
            return WrongField(path, f"`{path}` is missing")
        return WrongField(path, f"`{path}` must be {wanted}, not {_described(self.data[key])}")

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.data.get(key)
        if type(value) is str:
            return value
        raise self.wrong(key, "a text")

    def name(self, key: str) -> str:
        """A text that must be there and not be empty."""
        value = self.data.get(key)
        if type(value) is str and value:
            return value
        raise self.wrong(key, "a text of at least one character")

    def maybe_text(self, key: str) -> str | None:
        """A text, if it is there."""
        value = self.data.get(key)
        if value is None or type(value) is str:
            return value
        raise self.wrong(key, "a text")

    def flag(self, key: str) -> bool:
        """true or false; false if it isn't there."""
        value = self.data.get(key)
        if value is None:
            return False
        if type(value) is bool:
            return value
        raise self.wrong(key, "true or false")

    def maybe_number(self, key: str) -> float | None:
        """A finite number of at least 0, if it is there."""
        value = self.data.get(key)
        if value is None:
            return None
        if type(value) in (int, float) and math.isfinite(value) and value >= 0:
            return float(value)
        raise self.wrong(key, "a finite number of at least 0")

    def maybe_count(self, key: str) -> int | None:
        """A whole number of at least 0, if it is there."""
        value = self.data.get(key)
        if value is None or (type(value) is int and value >= 0):
            return value
        raise self.wrong(key, "a whole number of at least 0")

    def table(self, key: str) -> dict[str, Any]:
        """An object; empty if it isn't there."""
        value = self.data.get(key)
        if value is None:
            return {}
        if type(value) is dict:
            return value
        raise self.wrong(key, "an object")

    def items(self, key: str) -> list[Any]:
        """A list; empty if it isn't there."""
        value = self.data.get(key)
        if value is None:
            return []
        if type(value) is list:
            return value
        raise self.wrong(key, "a list")

    def anything(self, key: str) -> Any:
        """Whatever stands there, null as well; but it must be there."""
        if key not in self.data:
            raise self.wrong(key, "anything")
        return self.data[key]


def _described(value: Any) -> str:
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "a text" if len(value) > 40 else f'the text "{value}"'
    if isinstance(value, int | float):
        # a huge number can't even be written out
        return f"{value}" if isinstance(value, float) or value.bit_length() < 100 else "a number"
    return "a list" if isinstance(value, list) else "an object"


_NO_LETTER = re.compile(r"[^a-z0-9]+")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word of which this one is a slip: one character wrong, missing, too much or swapped with its neighbour.

    Capitals, hyphens and underscores don't count; words of fewer than four letters have no slips.
    """
    plain = _NO_LETTER.sub("", word.lower())
    for candidate in known:
        target = _NO_LETTER.sub("", candidate)
        if plain == target or (len(target) >= 4 and _one_slip(plain, target)):
            return candidate
    return None


def _one_slip(word: str, target: str) -> bool:
    if abs(len(word) - len(target)) > 1:
        return False
    first = next((n for n, pair in enumerate(zip(word, target, strict=False)) if pair[0] != pair[1]), None)
    if first is None:
        return True  # one is the beginning of the other
    rest, goal = word[first:], target[first:]
    swapped = rest[:2] == goal[1::-1] and rest[2:] == goal[2:]
    return swapped or rest[1:] == goal[1:] or rest[1:] == goal or rest == goal[1:]
