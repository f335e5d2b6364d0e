"""On which line each key of a TOML document stands.

The standard parser says what a document means, not where: this scanner walks over a document that the parser has
accepted, so it needs to recognise structure only and may take everything else on trust.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias

Key: TypeAlias = tuple[str | int, ...]
"""Where a value stands: names of keys and numbers of list items, from the document down."""

_BETWEEN = re.compile(r"(?:[ \t\n]+|#[^\n]*)*+")
_BLANKS = re.compile(r"[ \t]*")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*+"|'[^'\n]*'""")
_PLAIN_VALUE = re.compile(
    r'''"""(?:\\.|[^"\\]|"{1,2}(?!"))*+"{3,5}'''
    r"""|'''(?:[^']|'{1,2}(?!'))*+'{3,5}"""
    r'''|"(?:\\.|[^"\\\n])*+"'''
    r"""|'[^'\n]*'"""
    r"""|[^,\]}#\n]+""",
    re.DOTALL,
)


def key_lines(text: str) -> dict[Key, int]:
    """The line, from 1, of every key and list item.

    Args:
        text: a valid TOML document with `\\n` at the ends of its lines.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.ends = [found.start() for found in re.finditer("\n", text)]
        self.lines: dict[Key, int] = {}
        self.items: dict[Key, int] = {}  # how many tables each array of tables has so far

    def document(self) -> None:
        table: Key = ()
        self.skip(_BETWEEN)
        while self.at < len(self.text):
            table = self.header() if self.text[self.at] == "[" else self.pair(table)
            self.skip(_BETWEEN)

    def header(self) -> Key:
        repeated = self.text.startswith("[[", self.at)
        self.at += 2 if repeated else 1
        line = self.line()
        *above, last = self.parts()
        self.at += 2 if repeated else 1
        path: Key = ()
        for part in above:
            path = (*path, part)
            self.lines.setdefault(path, line)
            if path in self.items:
                path = (*path, self.items[path] - 1)
        path = (*path, last)
        if not repeated:
            self.lines[path] = line
            return path
        self.lines.setdefault(path, line)
        number = self.items[path] = self.items.get(path, 0) + 1
        path = (*path, number - 1)
        self.lines[path] = line
        return path

    def pair(self, table: Key) -> Key:
        line = self.line()
        path = table
        for part in self.parts():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self.value(path)
        return table

    def value(self, path: Key) -> None:
        self.skip(_BLANKS)
        opening = self.text[self.at]
        if opening == "[":
            self.within("]", lambda number: self.item((*path, number)))
        elif opening == "{":
            self.within("}", lambda number: self.pair(path))
        else:
            self.skip(_PLAIN_VALUE)

    def item(self, path: Key) -> Key:
        self.lines[path] = self.line()
        self.value(path)
        return path

    def within(self, closing: str, member: Callable[[int], Key]) -> None:
        self.at += 1
        number = 0
        self.skip(_BETWEEN)
        while self.text[self.at] != closing:
            member(number)
            number += 1
            self.skip(_BETWEEN)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_BETWEEN)
        self.at += 1

    def parts(self) -> list[str]:
        """The parts of a dotted key, and go to what follows it."""
        found = []
        while True:
            self.skip(_BLANKS)
            part = _PART.match(self.text, self.at)
            assert part is not None, "the parser accepted a key that is none"
            self.at = part.end()
            found.append(_name(part[0]))
            self.skip(_BLANKS)
            if self.text[self.at] != ".":
                return found
            self.at += 1

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        assert found is not None, "the parser accepted a value that is none"
        self.at = found.end()

    def line(self) -> int:
        return bisect_left(self.ends, self.at) + 1


def _name(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        name: str = tomllib.loads(f"name = {part}")["name"]
        return name
    return part
