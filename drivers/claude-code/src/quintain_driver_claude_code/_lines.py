"""Lines of output into messages: strict about what JSON is, tolerant about what stands around it. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from attrs import frozen
from quintain import Event, Line, Log, ProtocolError

DEPTH = 100
"""Deeper nesting is refused: nobody needs it, and what stores or shows it might break."""
QUOTED = 1000
"""Characters of a wrong line that are quoted."""
LOGGED = 64 * 1024
"""Characters of one line of log output that are kept."""

_ESCAPES = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements, modes
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings, to their end
    r"|[ -/]*[0-~])?"  # everything else
)
_BLANK = " \t\r\n\ufeff"


@frozen
class Read:
    """What one line is.

    Attributes:
        message: the JSON object on it, if it is one.
        beside: what a reader of the trace must know besides: log output, or what is wrong with the line.
        odd: a number in it is none (NaN, or infinite) and was replaced by null.
    """

    message: dict[str, Any] | None = None
    beside: tuple[Event, ...] = ()
    odd: bool = False


class _Unfit(Exception):
    """JSON that can't be taken, and why."""


def read(line: Line, number: int) -> Read:
    """Read one line. Never raises, whatever it is.

    Args:
        line: the line.
        number: its number in the stream, from 1.
    """
    shown = _ESCAPES.sub("", line.text) if "\x1b" in line.text else line.text
    said = shown.strip(_BLANK)
    if not said:
        return Read()
    if said[0] not in '{["':
        return Read(beside=(_log(shown, line.dropped),))

    def wrong(message: str) -> ProtocolError:
        return ProtocolError(message, said if len(said) <= QUOTED else f"{said[:QUOTED]}...", number)

    if line.dropped:
        size = len(line.data) + line.dropped
        left = f"the line of {size} bytes is longer than the limit; {line.dropped} bytes were left out"
        return Read(beside=(wrong(left),))
    try:
        message, odd = _parse(said)
    except json.JSONDecodeError as error:
        if said[0] != "{":
            return Read(beside=(_log(shown, 0),))
        if not line.complete:
            return Read(beside=(wrong("the output ended in the middle of this message"),))
        return Read(beside=(wrong(f"it is not valid JSON: {error.msg} at character {error.pos + 1}"),))
    except _Unfit as error:
        return Read(beside=(wrong(str(error)),))
    beside = []
    if not line.exact:
        beside.append(wrong("bytes that are not UTF-8 were replaced by U+FFFD"))
    if odd:
        beside.append(wrong("a number that JSON doesn't have (NaN, or infinite) counts as null"))
    if not isinstance(message, dict):
        return Read(beside=(*beside, wrong("a message is a JSON object, this is another JSON value")))
    return Read(message, tuple(beside), odd)


def _parse(text: str) -> tuple[Any, bool]:
    """The value, and whether a number in it was none."""
    odd = False

    def constant(name: str) -> None:
        nonlocal odd
        odd = True

    def number(digits: str) -> float | None:
        nonlocal odd
        value = float(digits)
        if math.isfinite(value):
            return value
        odd = True
        return None

    deep = f"it is nested deeper than {DEPTH} levels"
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=constant, parse_float=number)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise _Unfit(deep) from error
    except ValueError as error:  # Python refuses to convert very long numbers
        raise _Unfit("it has a number with thousands of digits") from error
    if text.count("{") + text.count("[") > DEPTH and _deeper_than(value, DEPTH):
        raise _Unfit(deep)
    return value, odd


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Unfit(f"`{twice}` is there twice in one object")
    return found


def _deeper_than(data: Any, limit: int) -> bool:
    level: list[Any] = [data]
    for _ in range(limit + 1):
        level = [child for value in level for child in _children(value)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _log(text: str, dropped: int) -> Log:
    if len(text) <= LOGGED:
        return Log(text, "stdout", dropped)
    return Log(text[:LOGGED], "stdout", dropped + len(text[LOGGED:].encode("utf-8", "replace")))
