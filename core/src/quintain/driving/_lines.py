"""Lines of output into messages: strict about what JSON is, tolerant about what stands around it. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from quintain.contracts.driver import Line
from quintain.model.events import Event, Log, ProtocolError

DEPTH = 100
"""Deeper nesting is refused: nobody needs it, and what stores or shows it might break."""

QUOTED = 1000
"""Characters of a wrong line that are quoted."""

LOGGED = 64 * 1024
"""Characters of one line of log output that are kept."""

_ESCAPES = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # colours, movements, modes
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # window titles, links and other strings, to their end
    r"|[ -/]*[0-~])?"  # everything else
)
_BLANK = " \t\r\n\ufeff"


@frozen
class Read:
    """What one line is.

    Attributes:
        message: the JSON object on it, or None.
        events: what a reader of the trace must know beside it: log output, or what is wrong with the line.
        quote: the head of the line.
        odd: a number in it is none (NaN, or infinite) and was replaced by null.
    """

    message: dict[str, Any] | None = None
    events: tuple[Event, ...] = ()
    quote: str = ""
    odd: bool = False


class _Refused(Exception):
    """JSON that can't be taken, and why."""


def visible(text: str) -> str:
    """The text without terminal control sequences."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def read(line: Line, number: int) -> Read:
    """Read one line of an agent that writes one JSON object a line. Never raises, whatever it is.

    Args:
        line: the line.
        number: its number in the stream, from 1.
    """
    shown = visible(line.text)
    said = shown.strip(_BLANK)
    if not said:
        return Read()
    if said[0] not in '{["':
        return Read(events=(log_of(shown, line.dropped),))
    quote = said if len(said) <= QUOTED else f"{said[:QUOTED]}..."

    def wrong(message: str) -> ProtocolError:
        return ProtocolError(message, quote, number)

    if line.dropped:
        size = len(line.data) + line.dropped
        left = f"the line of {size} bytes is longer than the limit; {line.dropped} bytes were left out"
        return Read(events=(wrong(left),))
    try:
        message, odd = _parse(said)
    except json.JSONDecodeError as error:
        if said[0] != "{":
            return Read(events=(log_of(shown),))
        if not line.complete:
            return Read(events=(wrong("the output ended in the middle of this message"),))
        return Read(events=(wrong(f"it is not valid JSON: {error.msg} at character {error.pos + 1}"),))
    except _Refused as error:
        return Read(events=(wrong(str(error)),))
    events: list[Event] = []
    if not line.exact:
        events.append(wrong("bytes that are not UTF-8 were replaced by U+FFFD"))
    if odd:
        events.append(wrong("a number that JSON doesn't have (NaN, or infinite) counts as null"))
    if not isinstance(message, dict):
        return Read(events=(*events, wrong("a message is a JSON object, this is another JSON value")))
    return Read(message, tuple(events), quote, odd)


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
        raise _Refused(deep) from error
    except ValueError as error:  # Python refuses to convert very long numbers
        raise _Refused("it has a number with thousands of digits") from error
    if text.count("{") + text.count("[") > DEPTH and deeper_than(value, DEPTH):
        raise _Refused(deep)
    return value, odd


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"`{twice}` is there twice in one object")
    return found


def deeper_than(data: Any, limit: int) -> bool:
    """Lists and objects are nested in one another more often than that."""
    level = [data]
    for _ in range(limit + 1):
        level = [child for value in level for child in _children(value)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def log_of(text: str, dropped: int = 0) -> Log:
    """Log output, its length bounded; `dropped` bytes were left out before."""
    if len(text) <= LOGGED:
        return Log(text, "stdout", dropped)
    return Log(text[:LOGGED], "stdout", dropped + len(text[LOGGED:].encode("utf-8", "replace")))
