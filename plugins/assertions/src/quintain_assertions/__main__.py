"""Prints the reference page of the assertions: `python -m quintain_assertions`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import attrs
from quintain import AssertionSpec

from quintain_assertions import SPECS

HEAD = """# Assertions

What `quintain-assertions` brings. In a case file each is a table:

```toml
[[assertions]]
type = "file_contains"
path = "calculator.py"
text = "def add"
id = "adds"          # unique within the case; the type if not given
required = true      # false: it counts for the score alone
weight = 2.0         # its share in the score
```

An assertion passes, fails or *abstains*. It abstains where nobody can know: a file whose content was not kept, spend that was
not reported, a pattern that takes longer than two seconds. Where there is nothing to check it fails and says so, because an
agent that does nothing must not pass. A configuration that could never fail, or never pass, is refused before anything runs.

Paths are relative to the workspace. Globs: `*` and `?` stay in one directory, `**` spans them, a leading dot is only matched by
a pattern that is written with it. Patterns are regular expressions of the `regex` module, with `^` and `$` at lines.

This page is written by `python -m quintain_assertions`.
"""


def page() -> str:
    """The page."""
    return HEAD + "".join(f"\n{part}" for spec in SPECS for part in _type(spec))


def _type(spec: AssertionSpec[Any]) -> Iterator[str]:
    words = " ".join((spec.config.__doc__ or "").split())
    yield f"## `{spec.name}`\n\n{spec.summary} {words}\n".replace(
        "Takes no keys; any key is an error that says so.", ""
    )
    fields = attrs.fields(spec.config)
    if fields:
        rows = "".join(
            f"| `{field.name}` | {_kind(_written(spec.config, field.name))} | {_default(field)} |\n" for field in fields
        )
        yield f"| key | type | default |\n|---|---|---|\n{rows}"


def _written(config: type, name: str) -> str:
    """The type of a field as it is written; attrs has another one once somebody has resolved it."""
    found = (vars(cls).get("__annotations__", {}) for cls in config.__mro__)
    return next(str(annotations[name]) for annotations in found if name in annotations)


def _kind(named: str) -> str:
    plain = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "Any": "anything"}
    named = (
        re.sub(r"tuple\[(\w+), \.\.\.\]", r"list of \1", named)
        .replace("Mapping[str, str]", "table")
        .replace(" | None", "")
    )
    named = (
        named.replace("Mapping[str, Any]", "table")
        .replace("Against", "answer, messages")
        .replace("Unknown", "abstain, pass, fail")
    )
    found = re.fullmatch(r"Literal\[(.*)\]", named)
    if found:
        return found[1].replace('"', "").replace("'", "")
    return re.sub(r"\b(str|int|float|bool|Any)\b", lambda one: plain[one[0]], named)


def _default(field: Any) -> str:
    if field.default is attrs.NOTHING:
        return "needed"
    if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]  # a function to mypy, a class in truth
        return "empty"
    value = field.default
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(f"`{getattr(one, 'value', one)}`" for one in value) or "empty"
    return f"`{value}`"


if __name__ == "__main__":
    print(page(), end="")
