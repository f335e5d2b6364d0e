"""Regular expressions that can't hang: `regex` searches with a time limit."""

from __future__ import annotations

from typing import Any

import regex
from attrs import Attribute
from quintain import QuintainError

LIMIT_S = 2.0
LONGEST = 8 * 1024 * 1024
"""A longer text is not searched; the assertion abstains."""


def is_pattern(instance: object, attribute: Attribute[Any], value: str | None) -> None:
    """Refuse a pattern that can't be compiled, or that matches nothing at all everywhere."""
    if value is None:
        return
    try:
        regex.compile(value)
    except regex.error as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from error
    if not value:
        raise ValueError("an empty pattern matches everything")


def count(pattern: str, text: str, *, ignore_case: bool = False, most: int | None = None) -> int:
    """How often a pattern is found, up to `most`.

    Raises:
        QuintainError: it took longer than the limit, or the text is too long.
    """
    if len(text) > LONGEST:
        raise QuintainError(f"the text has {len(text)} characters; patterns are looked for in up to {LONGEST}")
    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    found = 0
    try:
        for _ in regex.compile(pattern, flags).finditer(text, timeout=LIMIT_S, concurrent=True):
            found += 1
            if most is not None and found >= most:
                break
    except TimeoutError as error:
        raise QuintainError(f"the pattern {pattern!r} took longer than {LIMIT_S:g} s") from error
    return found
