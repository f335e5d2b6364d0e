"""Lines of an agent's output into events. Pure: no clock, no process, no file.

A line is one of four things:

- a message: a JSON object whose `type` is known and whose fields are right;
- a protocol error: other JSON, or text that is obviously meant as a message (see `_meant_as_message`);
- unknown: a JSON object whose `type` is a word that no known type is a slip of;
- log output: everything else.

Blank lines are nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import asdict, frozen
from quintain import (
    Asked,
    Event,
    Line,
    Progress,
    ProtocolError,
    Ready,
    Unknown,
    Usage,
    Used,
)
from quintain.driving import QUOTED, log_of, visible

from quintain_driver_subprocess._fields import Fields, WrongField, nearest
from quintain_driver_subprocess._json import BadJson, NotJson, Reader, is_half, is_odd, leaves

_BLANK = " \t\r\n\ufeff"
_BEGINS_JSON = frozenset('{["-0123456789tfn')
_BEFORE_READY = (Progress, Unknown, Ready)
"""Messages that may come before the agent has said who it is."""


@frozen
class Wire:
    """One version of the protocol, as far as the agent's side goes.

    Attributes:
        readers: how to read the fields of a message, by its type.
        fields: the fields that a message can have, by its type; for telling a misspelled field from a new one.
        spends: whether a message is about usage, so that its loss must not pass for nothing spent.
    """

    readers: Mapping[str, Callable[[Fields], Sequence[Event]]]
    fields: Mapping[str, frozenset[str]]
    spends: Callable[[Mapping[str, Any]], bool]


class Parser:
    """Takes an agent's lines in their order.

    Args:
        wire: the version of the protocol.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._json = Reader()
        self._number = 0
        self._ready = False
        self._asked: set[str] = set()

    def feed(self, line: Line) -> list[Event]:
        """The events of one line. Never raises, whatever the line is."""
        self._number += 1
        try:
            text, exact = line.data.decode(), True
        except UnicodeDecodeError:
            text, exact = line.data.decode("utf-8", "replace"), False
        shown = visible(text)
        said = shown.strip(_BLANK)
        if line.dropped:
            return [self._cut(line, shown, said)]
        if not said:
            return []
        if said[0] not in _BEGINS_JSON:
            return [log_of(shown)]
        try:
            data = self._json.read(said)
        except NotJson as error:
            return [self._not_json(str(error), line, shown, said)]
        except BadJson as error:
            return [self._error(str(error), said)]
        events = self._read(data, said)
        if not exact:
            events.insert(0, self._error("bytes that are not UTF-8 were replaced by U+FFFD", said))
        return events

    def _cut(self, line: Line, shown: str, said: str) -> Event:
        """A line that was too long: what is left of it can't be a message."""
        size = len(line.data) + line.dropped
        if not _meant_as_message(said):
            return log_of(shown, line.dropped)
        return self._error(
            f"the line of {size} bytes is longer than the limit; {line.dropped} bytes were left out", said
        )

    def _not_json(self, why: str, line: Line, shown: str, said: str) -> Event:
        if not line.complete and said.startswith("{"):
            return self._error("the output ended in the middle of this message", said)
        if _meant_as_message(said):
            return self._error(f"it is not valid JSON: {why}", said)
        return log_of(shown)

    def _read(self, data: Any, said: str) -> list[Event]:
        if type(data) is not dict:
            return [self._error("a message is a JSON object, this is another JSON value", said)]
        try:
            events, fields = self._message(data)
        except WrongField as error:
            return self._refused(error, data, said)
        if self._wire.fields:
            self._misspelled(fields)
        if self._json.halves:
            path = next((path for path, leaf in leaves(data) if is_half(leaf)), None)
            if path is not None:
                fields.beside.append(WrongField(path, f"`{path}` has half of a character (a lone surrogate) in it"))
        return [*(self._error(wrong.message, said, wrong.path) for wrong in fields.beside), *events]

    def _message(self, data: dict[str, Any]) -> tuple[list[Event], Fields]:
        if (name := self._json.twice) is not None:
            raise WrongField(name, f"`{name}` is there twice in one object")
        fields = Fields(data)
        kind = fields.name("type")
        reader = self._wire.readers.get(kind)
        if reader is not None:
            events = list(reader(fields))
        elif (near := nearest(kind, self._wire.readers)) is not None:
            raise WrongField("type", f"there is no type `{kind}`; is `{near}` meant?")
        else:
            events = [Unknown(kind, data)]
        if self._json.odd and any(is_odd(leaf) for event in events for _, leaf in leaves(asdict(event))):
            path = next(path for path, leaf in leaves(data) if is_odd(leaf))
            raise WrongField(path, f"`{path}` is a number that JSON doesn't have (NaN, or infinite)")
        self._follow(events)
        return events, fields

    def _follow(self, events: list[Event]) -> None:
        """Hold a message against those before it."""
        for event in events:
            if isinstance(event, Asked):
                if event.question.id in self._asked:
                    raise WrongField("id", f"a question with the id `{event.question.id}` was asked before")
                self._asked.add(event.question.id)
        if not self._ready and not isinstance(events[0], _BEFORE_READY):
            events.insert(0, Ready())
        if isinstance(events[0], Ready):
            if self._ready:
                raise WrongField("type", "it said before that it was ready")
            self._ready = True

    def _misspelled(self, fields: Fields) -> None:
        """Find fields that are ignored and were hardly meant to be."""
        known = self._wire.fields.get(fields.data["type"])
        if known is None or fields.data.keys() <= known:
            return
        for name in sorted(fields.data.keys() - known):
            near = nearest(name, known)
            if near is not None and near not in fields.data:
                fields.beside.append(WrongField(name, f"`{name}` is ignored; is `{near}` meant?"))

    def _refused(self, wrong: WrongField, data: dict[str, Any], said: str) -> list[Event]:
        events: list[Event] = [self._error(wrong.message, said, wrong.path)]
        if self._wire.spends(data):
            problem = f"a report of usage was refused: {wrong.message}"
            events.append(Used(Usage(problem=problem)))
        return events

    def _error(self, message: str, said: str, path: str | None = None) -> ProtocolError:
        quote = said if len(said) <= QUOTED else f"{said[:QUOTED]}..."
        return ProtocolError(message, quote, self._number, path)


def _meant_as_message(said: str) -> bool:
    """Text that isn't JSON is log output, unless it begins as only a message does."""
    return said.startswith("{") and '"type"' in said[:QUOTED]
