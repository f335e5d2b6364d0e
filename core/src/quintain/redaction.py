"""Secrets are taken out at the one place where evidence is written: events, raw protocol, file contents, errors.

A secret is a declared value, the content of a host variable that an agent may see; without white space around it. It is
found as it is, as JSON escapes it (also in JSON inside JSON), as a URL encodes it and inside base64 at any alignment. Of
a secret of several lines each long line is found by itself, because output is kept line by line. Not found: a secret
that the agent split, also by a line break inside its base64, reversed or encrypted.

What is cut out of text in the form of JSON leaves JSON: an escape is never torn. Only a secret of digits alone, which
may be taken out of a number, or one with quotes in it, can't promise that; records are cleaned field by field (`record`)
and have no such trouble.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
from attrs import field, frozen

from quintain.errors import UsageError

R = TypeVar("R")

SHORTEST = 6
"""A shorter value can't be told from ordinary text."""
SHORTEST_LINE = 16
"""A shorter line of a secret of several lines is not looked for by itself; it may be a mere bracket."""

_ONLY_ITSELF = re.compile(r"[A-Za-z0-9._-]+")
"""Characters that no encoding which we look for writes in another way."""
_BACKSLASHES = r"\\\\{0,14}"
"""JSON in JSON in JSON in JSON puts 15 before a quote."""
_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_TORN = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")


def _hex(number: int, digits: int) -> str:
    """A number in hexadecimal digits of either case."""
    return "".join(digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in f"{number:0{digits}x}")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _writings(char: str) -> list[str]:
    """Patterns of all ways to write a character that is not a backslash, each beginning with a plain character."""
    if _ONLY_ITSELF.fullmatch(char):
        return [re.escape(char)]
    units = char.encode("utf-16-be", "surrogatepass")
    numbers = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    ways = [re.escape(char), _BACKSLASHES + re.escape(char)]
    ways.append("".join(f"{_BACKSLASHES}u{_hex(number, 4)}" for number in numbers))
    ways.append("".join(f"%(?:25)*{_hex(byte, 2)}" for byte in _bytes(char)))
    if char in _ESCAPES:
        ways.append(_BACKSLASHES + _ESCAPES[char])
    # A space in a form; the alphabet for base64 in URLs; a slash in what became the name of a file.
    ways += {" ": [r"\+"], "+": ["-"], "/": ["_"]}.get(char, [])
    return ways


def _pattern(form: str) -> str:
    """A pattern of all ways to write a form; its alternatives begin with plain characters, which makes it fast."""
    parts = []
    for run in re.findall(r"\\+|[^\\]", form):
        if run[0] == "\\":
            more = len(run) * 16 - len(run)
            parts.append(["\\\\" * len(run) + rf"\\{{0,{more}}}", "%(?:25)*5[cC]" * len(run)])
        else:
            parts.append(_writings(run))
    rest = "".join(ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})" for ways in parts[1:])
    return "|".join(first + rest for first in parts[0])


def _in_base64(data: bytes) -> Iterator[str]:
    """The characters that bytes always become in base64, alone and for each of the three places they can start at."""
    alone = base64.b64encode(data).decode()
    yield from {alone, alone.rstrip("=")}
    for skip in range(3):
        encoded = base64.b64encode(b"\0" * skip + data + b"\0\0").decode()
        yield encoded[(skip * 8 + 5) // 6 : (skip + len(data)) * 8 // 6]


def _forms(value: str) -> set[str]:
    """What is looked for, each in all its writings."""
    inside = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    lines = {line.strip() for line in value.splitlines()}
    forms = {value, *(line for line in lines if len(line) >= SHORTEST_LINE)}
    return forms.union(*(_in_base64(_bytes(one)) for one in inside))


def _longest_first(forms: Iterable[str]) -> list[str]:
    return sorted(forms, key=lambda form: (-len(form), form))


def _cores(forms: Iterable[str]) -> tuple[str, ...]:
    """A part of each form that is in all its writings; empty if a form has none of a useful length."""
    cores = [max(_ONLY_ITSELF.findall(form), key=len, default="") for form in forms]
    return tuple(dict.fromkeys(cores)) if all(len(core) >= 4 for core in cores) else ()


def _marks(values: Mapping[str, str], found: re.Pattern[str]) -> dict[str, str]:
    """What stands in the place of each secret; of a kind that can't be part of a secret itself."""
    marks = {name: f"[redacted:{re.sub('[^A-Za-z0-9_.-]', '_', name)}]" for name in values}
    used = set("".join(values.values()))
    if used & set("[]") or any(found.search(mark) for mark in marks.values()):
        unused = next(char for char in [*"*#^", *map(chr, range(0x2588, 0xD800))] if char not in used)
        return dict.fromkeys(marks, unused * 3)
    return marks


@frozen
class Redactor:
    """Replaces secrets by `[redacted:NAME]`.

    Attributes:
        names: the variables whose values are looked for.
    """

    names: tuple[str, ...] = ()
    _by_name: Mapping[str, re.Pattern[str]] = field(factory=dict, repr=False, alias="by_name")
    _marks: Mapping[str, str] = field(factory=dict, repr=False, alias="marks")
    _any: re.Pattern[str] | None = field(default=None, repr=False, alias="any_of_them")
    _cores: tuple[str, ...] = field(default=(), repr=False, alias="cores")
    _byte_cores: tuple[bytes, ...] = field(default=(), repr=False, alias="byte_cores")

    @classmethod
    def of(cls, secrets: Mapping[str, str]) -> Redactor:
        """A redactor for values by the names of their variables; empty values are no secrets.

        Raises:
            UsageError: a value is too short to be told from ordinary text.
        """
        values = {name: value.strip() for name, value in secrets.items() if value.strip()}
        for name, value in values.items():
            if len(value) < SHORTEST:
                raise UsageError(
                    f"the value of the secret {name} has fewer than {SHORTEST} characters and can't be redacted safely",
                    hint="pass it by pass_env if it is no secret",
                )
        return _redactor(tuple(values.items())) if values else cls()

    @property
    def active(self) -> bool:
        """There is something to look for."""
        return self._any is not None

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._any is None or (self._cores and not any(core in text for core in self._cores)):
            return text
        parts, end = [], 0
        for start, stop, names in self._spans(self._any, text):
            parts += [text[end:start], *dict.fromkeys(self._marks[name] for name in names)]
            end = stop
        return "".join([*parts, text[end:]]) if parts else text

    def _spans(self, pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, list[str]]]:
        """Where secrets are, in order; those that overlap are one."""
        start, stop, names = -1, -1, list[str]()
        match = pattern.search(text)
        while match is not None:
            left, right = _whole_escapes(text, match.start(), match.end())
            if left >= stop:
                if names:
                    yield start, stop, names
                start, stop, names = left, right, []
            stop = max(stop, right)
            names.append(next(name for name, one in self._by_name.items() if one.match(text, match.start())))
            match = pattern.search(text, match.start() + 1)
        if names:
            yield start, stop, names

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        if self._any is None or (self._byte_cores and not any(core in data for core in self._byte_cores)):
            return data
        text = data.decode("utf-8", "surrogateescape")
        clean = self.text(text)
        return data if clean is text else clean.encode("utf-8", "surrogateescape")

    @property
    def data_or_none(self) -> Callable[[bytes], bytes] | None:
        """`data`, or None if there is nothing to look for and reading a file could be saved."""
        return self.data if self.active else None

    def record(self, record: R) -> R:
        """The record without secrets in any of its texts; the same object if there were none.

        Words of a closed set stay as they are, and so do numbers, except in plain data that the agent made up.
        """
        if self._any is None:
            return record
        clean: R = self._clean(record, plain=False)
        return clean

    def _clean(self, value: Any, *, plain: bool) -> Any:
        if isinstance(value, str):
            return value if isinstance(value, Enum) else self.text(value)
        if attrs.has(type(value)):
            found = {alias: (getattr(value, name), free) for name, alias, free in _open_fields(value.__class__)}
            clean = {alias: self._clean(old, plain=free) for alias, (old, free) in found.items()}
            changed = {alias: new for alias, new in clean.items() if new is not found[alias][0]}
            return attrs.evolve(value, **changed) if changed else value
        if isinstance(value, Mapping):
            return self._clean_mapping(value, plain=plain)
        if isinstance(value, list | tuple):
            items = [self._clean(one, plain=plain) for one in value]
            return value if all(map(_same, items, value)) else type(value)(items)
        if isinstance(value, Path):
            path = self.text(str(value))
            return value if path == str(value) else Path(path)
        if plain and _is_number(value):
            digits = repr(value)
            return value if self.text(digits) == digits else self.text(digits)
        return value

    def _clean_mapping(self, mapping: Mapping[Any, Any], *, plain: bool) -> Mapping[Any, Any]:
        clean: dict[Any, Any] = {}
        for key, value in mapping.items():
            new = self._clean(key, plain=plain)
            while new in clean:
                new = f"{new}'"
            clean[new] = self._clean(value, plain=plain)
        same = all(map(_same, clean, mapping)) and all(map(_same, clean.values(), mapping.values()))
        return mapping if same else clean


@functools.lru_cache(maxsize=8)
def _redactor(secrets: tuple[tuple[str, str], ...]) -> Redactor:
    """Made once for the many attempts that are given the same secrets."""
    values = dict(secrets)
    forms = {name: _longest_first(_forms(value)) for name, value in values.items()}
    every = _longest_first({form for some in forms.values() for form in some})
    found = re.compile("|".join(map(_pattern, every)))
    cores = _cores(every)
    return Redactor(
        tuple(values),
        {name: re.compile("|".join(map(_pattern, some))) for name, some in forms.items()},
        _marks(values, found),
        found,
        cores,
        tuple(core.encode() for core in cores),
    )


def _same(one: object, other: object) -> bool:
    return one is other


def _is_number(value: object) -> bool:
    """It is a number that can be written down."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() < 4096
    return isinstance(value, float)


def _backslashes_before(text: str, end: int) -> int:
    start = end
    while start and text[start - 1] == "\\":
        start -= 1
    return end - start


def _whole_escapes(text: str, start: int, stop: int) -> tuple[int, int]:
    """A span made longer where it begins or ends in the middle of an escape, as JSON would read it."""
    torn = _TORN.search(text, max(0, start - 5), start)
    if torn and _backslashes_before(text, torn.start() + 1) % 2:
        start = torn.start()
    elif _backslashes_before(text, start) % 2:
        start -= 1
    if _backslashes_before(text, stop) % 2:
        stop += 5 if re.match("u[0-9a-fA-F]{4}", text[stop : stop + 5]) else 1
    return start, min(stop, len(text))


@functools.cache
def _open_fields(cls: type) -> tuple[tuple[str, str, bool], ...]:
    """Name, alias, and whether it holds plain data, of the fields that may hold any text."""
    hints = typing.get_type_hints(cls)
    return tuple(
        (one.name, one.alias or one.name, hints[one.name] is Any or Any in get_args(hints[one.name]))
        for one in attrs.fields(cls)
        if one.init and not _is_closed(hints[one.name])
    )


def _is_closed(hint: Any) -> bool:
    origin: Any = get_origin(hint)
    return origin is Literal or any(_is_closed(one) for one in get_args(hint))
