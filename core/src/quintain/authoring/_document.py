"""Text files into plain data that remembers where each key stands."""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quintain.authoring._lines import Key, key_lines
from quintain.errors import AuthoringError, raise_all
from quintain.model.plain import quoted

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@frozen
class Document:
    """A TOML file that has been read.

    Attributes:
        path: of the file.
        data: its content: tables, lists, texts, numbers, true and false.
    """

    path: Path
    data: dict[str, Any]
    _lines: Mapping[Key, int] = field(factory=dict, repr=False, eq=False)

    def has(self, key: Key) -> bool:
        """Whether it states the key."""
        return key in self._lines

    def line(self, key: Key = ()) -> int:
        """The line of a key, or of the nearest one above it that is there."""
        while key and key not in self._lines:
            key = key[:-1]
        return self._lines.get(key, 1)

    def where(self, key: Key = ()) -> str:
        """File, line and key, for people."""
        return place(self.path, self.line(key), key)


def place(path: Path, line: int | None = None, key: Key = ()) -> str:
    """File, line and key, for people: `cases/a.case.toml:3: limits.timeout_s`."""
    parts = [shown(path), *([str(line)] if line else [])]
    dotted = ".".join(str(part) for part in key)
    return f"{':'.join(parts)}: {dotted}" if key else ":".join(parts)


def shown(path: Path) -> str:
    """A path as short as can be from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def is_folder(path: Path) -> bool:
    """Whether a folder is there; what can't be a path at all is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether a file is there; what can't be a path at all is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, byte for byte.

    Raises:
        AuthoringError: it can't be read, or is no UTF-8; says on which line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AuthoringError(f"can't be read: {error.strerror or error}", where=shown(path)) from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise AuthoringError(
            f"the byte 0x{data[error.start]:02x} is no UTF-8 text",
            where=place(path, data.count(b"\n", 0, error.start) + 1),
            hint="save the file as UTF-8",
        ) from error


def read_lines(path: Path) -> str:
    """The text of a file in which neither a mark at the beginning nor the kind of line ends means anything."""
    return read_text(path).removeprefix("\ufeff").replace("\r\n", "\n")


def read_toml(path: Path) -> Document:
    """Read a TOML file.

    Raises:
        AuthoringError: it can't be read, or isn't TOML, or has values that nothing here takes.
    """
    text = read_lines(path)
    try:
        data = tomllib.loads(text)
        document = Document(path, data, key_lines(text))
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, text, str(error)) from error
    except RecursionError as error:
        raise AuthoringError("it is nested too deeply", where=shown(path)) from error
    except ValueError as error:  # Python refuses to convert numbers of thousands of digits
        raise AuthoringError(f"this is not TOML: {error}", where=shown(path)) from error
    raise_all(_unfit(document, document.data, ()))
    return document


def _syntax_error(path: Path, text: str, message: str) -> AuthoringError:
    found = _PLACE.search(message)
    what = message[: found.start()] if found else message
    lines = text.split("\n")
    line = int(found[1]) if found and found[1] else len(lines)
    column = int(found[2]) if found and found[2] else len(lines[-1]) + 1
    quoted = "".join(sign if sign.isprintable() else "\ufffd" for sign in lines[line - 1].strip())
    if len(quoted) > 100:
        quoted = quoted[:97] + "..."
    said = f", in the line `{quoted}`" if quoted else ""
    hint = 'text stands in quotes: name = "value"' if what == "Invalid value" else None
    return AuthoringError(f"this is not TOML: {what}{said}", where=f"{place(path, line)}:{column}", hint=hint)


def _unfit(document: Document, value: Any, key: Key) -> Iterator[AuthoringError]:
    """Values that TOML has and records can't hold."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _unfit(document, inner, (*key, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unfit(document, inner, (*key, number))
    elif isinstance(value, datetime.date | datetime.time):
        yield AuthoringError(
            f"{value.isoformat()} is a date or time, which no key takes",
            where=document.where(key),
            hint=f'as text it stands in quotes: "{value.isoformat()}"',
        )
    elif isinstance(value, float) and not math.isfinite(value):
        yield AuthoringError(f"a finite number is wanted here, not {quoted(value)}", where=document.where(key))
