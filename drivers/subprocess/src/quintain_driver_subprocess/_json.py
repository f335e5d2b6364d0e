"""Lines of output into JSON values: strict about what JSON is, tolerant about what stands around it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from quintain.driving import DEPTH, deeper_than

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(Exception):
    """It isn't JSON at all, and why."""


class BadJson(Exception):
    """It is JSON that can't be taken, and why."""


class Reader:
    """Reads JSON values, one after the other.

    Attributes:
        twice: a name that stood twice in one object of the last value, or None.
        odd: the last value has numbers in it that JSON doesn't have: NaN, or infinite ones.
        halves: it may have halves of characters (lone surrogates) in its texts.
    """

    def __init__(self) -> None:
        self.twice: str | None = None
        self.odd = False
        self.halves = False
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._constant, parse_float=self._float
        ).decode

    def read(self, text: str) -> Any:
        """Read one value.

        Raises:
            NotJson: the text is something else.
            BadJson: it is nested too deeply, or a number has thousands of digits.
        """
        self.twice, self.odd = None, False
        try:
            data = self._decode(text)
        except json.JSONDecodeError as error:
            raise NotJson(f"{error.msg} at character {error.pos + 1}") from error
        except RecursionError as error:
            raise BadJson(f"it is nested deeper than {DEPTH} levels") from error
        except ValueError as error:  # Python refuses to convert very long numbers
            raise BadJson("it has a number with thousands of digits") from error
        if text.count("{") + text.count("[") > DEPTH and deeper_than(data, DEPTH):
            raise BadJson(f"it is nested deeper than {DEPTH} levels")
        self.halves = "\\u" in text and _SURROGATE.search(text) is not None
        return data

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            self.twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        return found

    def _constant(self, name: str) -> float:
        self.odd = True
        return float(name)

    def _float(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.odd = True
        return number


def leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every name and every value that holds no others, with the path to it."""
    if isinstance(data, dict):
        for name, value in data.items():
            inner = f"{path}.{name}" if path else name
            yield inner, name
            yield from leaves(value, inner)
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from leaves(value, f"{path}.{number}" if path else str(number))
    else:
        yield path, data


def is_odd(value: Any) -> bool:
    """It is a number that JSON doesn't have."""
    return isinstance(value, float) and not math.isfinite(value)


def is_half(value: Any) -> bool:
    """It is a text with half of a character in it."""
    return isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)
