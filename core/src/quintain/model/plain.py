"""Names for plain data, so that signatures say what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

Json: TypeAlias = Any
"""What JSON can hold: None, bool, int, finite float, str, list and dict with string keys. Checked where stored."""


def quoted(value: object) -> str:
    """A value as an error quotes it: as it is if that is short, else its beginning or its kind. Never raises."""
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= 80 else f"{value[:60]!r}... ({len(value)} in all)"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    if value is None or isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "a table" if value else "an empty table"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return f"a {type(value).__name__}"


@frozen
class Plug:
    """A plugin chosen by name with its configuration as plain data, as a file says it.

    Attributes:
        name: the plugin's name within its kind.
        config: structured strictly into the plugin's own configuration class before anything runs.
    """

    name: str
    config: Mapping[str, Json] = field(factory=dict)


@frozen
class PluginUse:
    """Which installed code stood behind a name; stored with every record it took part in.

    Attributes:
        kind: "driver", "answerer", "assertion", "sink", ...
        name: the plugin's name.
        distribution: the package it came from, or None if it was passed in code.
        version: that package's version, or the plugin's own.
    """

    kind: str
    name: str
    distribution: str | None
    version: str | None


@frozen
class Finding:
    """Something that a reader of a result must know beside the score.

    Attributes:
        kind: a stable word, such as "tampering", "leak", "signals-conflict", "killed-after-result".
        message: one sentence.
        paths: the files it is about.
    """

    kind: str
    message: str
    paths: tuple[str, ...] = ()
