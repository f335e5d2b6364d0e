"""Settings into TOML, one top-level key a line: enough for a file that only a program reads."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


def dumps(settings: Mapping[str, Any]) -> str:
    """The text of a file. Raises ValueError for what TOML doesn't have."""
    return "".join(f"{_key(name)} = {value(inner)}\n" for name, inner in settings.items() if inner is not None)


def value(data: Any) -> str:
    """One value. Raises ValueError for what TOML doesn't have."""
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, str):
        return _text(data)
    if isinstance(data, int):
        return str(data)
    if isinstance(data, float):
        return ("-inf" if data < 0 else "inf") if math.isinf(data) else "nan" if math.isnan(data) else repr(data)
    if isinstance(data, datetime | date | time):
        return data.isoformat()
    if isinstance(data, Mapping):
        inner = ", ".join(f"{_key(name)} = {value(one)}" for name, one in data.items() if one is not None)
        return f"{{{inner}}}"
    if isinstance(data, list | tuple):
        return f"[{', '.join(value(one) for one in data)}]"
    raise ValueError(f"TOML has no {type(data).__name__}")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables as one; where both have a value that of `above` counts."""
    found = dict(below)
    for name, inner in above.items():
        beneath = found.get(name)
        if isinstance(inner, Mapping) and isinstance(beneath, Mapping):
            found[name] = merged(beneath, inner)
        else:
            found[name] = inner
    return found


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + '"'
