"""Text of agents, made harmless and bounded before a person's terminal shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """One line that a terminal shows as it is: control and direction characters are escaped, lines are joined."""
    return _CONTROL.sub(_escaped, text.replace("\r\n", "\n").replace("\n", "\\n").replace("\t", " "))


def clean_lines(text: str) -> list[str]:
    """The same for text of several lines."""
    return [_CONTROL.sub(_escaped, line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n")]


def short(text: str, limit: int = 200) -> str:
    """The text, or the head of it with the number of characters that are left out."""
    return text if len(text) <= limit else f"{text[:limit]} ... ({len(text) - limit} more characters)"


def named(names: Sequence[str], most: int = 10) -> str:
    """Names in a line; those beyond the most are counted."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
