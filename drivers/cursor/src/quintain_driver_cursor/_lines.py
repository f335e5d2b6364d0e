"""Lines of output into messages: strict about what JSON is, tolerant about what stands around it. Pure."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

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
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # window titles, links and other strings, to their end
    r"|[ -/]*[0-~])?"  # everything else
)
_BLANK = " \t\r\n\ufeff"


@frozen
class Read:
    """What one line is.

    Attributes:
        message: the JSON object on it, or None.
        events: what a reader of the trace must know beside it.
        quote: the head of the line.
    """

    message: dict[str, Any] | None = None
    events: tuple[Event, ...] = ()
    quote: str = ""


class _Refused(Exception):
    """JSON that can't be taken."""


def visible(text: str) -> str:
    """The text without terminal control sequences."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def quoted(text: str) -> str:
    """The head of a text."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def read(line: Line, number: int) -> Read:
    """Read one line. Never raises, whatever it is.

    Args:
        line: the line.
        number: its number in the stream, from 1.
    """
    shown = visible(line.text)
    said = shown.strip(_BLANK)
    if not said:
        return Read()
    if said[0] not in '{["':
        return Read(events=(_log(shown, line.dropped),))
    quote = quoted(said)

    def wrong(message: str) -> ProtocolError:
        return ProtocolError(message, quote, number)

    if line.dropped:
        size = len(line.data) + line.dropped
        return Read(
            events=(wrong(f"the line of {size} bytes is longer than the limit; {line.dropped} bytes were left out"),)
        )
    beside: list[Event] = []
    if not line.exact:
        beside.append(wrong("bytes that are not UTF-8 were replaced by U+FFFD"))
    try:
        message, odd = _parse(said)
    except json.JSONDecodeError as error:
        if said[0] != "{":
            return Read(events=(_log(shown, 0),))
        if not line.complete:
            return Read(events=(wrong("the output ended in the middle of this message"),))
        return Read(events=(wrong(f"it is not valid JSON: {error.msg} at character {error.pos + 1}"),))
    except _Refused as error:
        return Read(events=(wrong(str(error)),))
    if odd:
        beside.append(wrong("a number that JSON doesn't have (NaN, or infinite) counts as null"))
    if not isinstance(message, dict):
        return Read(events=(*beside, wrong("a message is a JSON object, this is another JSON value")))
    return Read(message, tuple(beside), quote)


def _parse(text: str) -> tuple[Any, bool]:
    """The value, and whether numbers in it were none."""
    odd: list[str] = []

    def no_number(name: str) -> None:
        odd.append(name)

    def number(digits: str) -> float | None:
        value = float(digits)
        if math.isfinite(value):
            return value
        odd.append(digits)
        return None

    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=no_number, parse_float=number)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        _too_deep()
    except ValueError as error:  # Python refuses to convert very long numbers
        raise _Refused("it has a number with thousands of digits") from error
    if text.count("{") + text.count("[") > DEPTH and _deeper_than(value, DEPTH):
        _too_deep()
    return value, bool(odd)


def _too_deep() -> NoReturn:
    raise _Refused(f"it is nested deeper than {DEPTH} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"`{twice}` is there twice in one object")
    return found


def _deeper_than(data: Any, limit: int) -> bool:
    level = [data]
    for _ in range(limit + 1):
        level = [child for value in level for child in _children(value)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _log(text: str, dropped: int) -> Log:
    if len(text) <= LOGGED:
        return Log(text, "stdout", dropped)
    return Log(text[:LOGGED], "stdout", dropped + len(text[LOGGED:].encode("utf-8", "replace")))
