"""One meaning in many spellings: random TOML texts for given data."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

NOISE = ("# a comment", "", "   ", "# [not.a.table]", "# key = 1", "\t")


def spell(data: dict[str, Any], random: Random) -> str:
    """A TOML text that means `data`; which one depends on `random`."""
    lines: list[str] = []
    _section(lines, data, (), random, header=None)
    text = "\n".join(lines) + random.choice(("", "\n", "\n\n"))
    if random.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if random.random() < 0.2 else "") + text


def _section(
    lines: list[str], table: dict[str, Any], path: tuple[str, ...], random: Random, header: str | None
) -> None:
    """One table: what stands in it first, then the tables below it."""
    pairs: list[str] = []
    sections: list[tuple[str, Any]] = []
    items = list(table.items())
    random.shuffle(items)
    for key, value in items:
        way = random.random()
        if (isinstance(value, dict) and way < 0.5) or (_tables(value) and way < 0.6):
            sections.append((key, value))
        elif isinstance(value, dict) and value and way < 0.8:
            _dotted(pairs, (key,), value, random)
        else:
            pairs.append(f"{_key((key,), random)}{_blank(random)}={_blank(random)}{_value(value, random)}")
    if header is not None and (pairs or not sections or header.startswith("[[") or random.random() < 0.5):
        lines.append(header + random.choice(("", "  # a comment = 1")))
    for pair in pairs:
        _noise(lines, random)
        lines.append(random.choice(("", "  ")) + pair + random.choice(("", " # said", "   ")))
    for key, value in sections:
        below = (*path, key)
        for inner in value if isinstance(value, list) else [value]:
            _noise(lines, random)
            marks = ("[[", "]]") if isinstance(value, list) else ("[", "]")
            title = f"{marks[0]}{_blank(random)}{_key(below, random)}{_blank(random)}{marks[1]}"
            _section(lines, inner, below, random, title)


def _dotted(pairs: list[str], path: tuple[str, ...], table: dict[str, Any], random: Random) -> None:
    for key, value in table.items():
        if isinstance(value, dict) and value and random.random() < 0.5:
            _dotted(pairs, (*path, key), value, random)
        else:
            pairs.append(f"{_key((*path, key), random)} = {_value(value, random)}")


def _tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(inner, dict) for inner in value)


def _noise(lines: list[str], random: Random) -> None:
    while random.random() < 0.2:
        lines.append(random.choice(NOISE))


def _blank(random: Random) -> str:
    return random.choice(("", " ", "\t "))


def _key(path: tuple[str, ...], random: Random) -> str:
    dot = random.choice((".", " . ", "."))
    return dot.join(_part(part, random) for part in path)


def _part(part: str, random: Random) -> str:
    ways = [_basic(part)]
    if "'" not in part:
        ways.append(f"'{part}'")
    if re.fullmatch(r"[A-Za-z0-9_-]+", part):
        ways += [part] * 4
    return random.choice(ways)


def _value(value: Any, random: Random) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return random.choice((str(value), f"+{value}" if value >= 0 else str(value)))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return random.choice(_texts(value))
    if isinstance(value, dict):
        inner = ", ".join(f"{_key((key,), random)} = {_value(one, random)}" for key, one in value.items())
        return f"{{{_blank(random)}{inner}{_blank(random)}}}"
    return _array(value, random)


def _array(values: list[Any], random: Random) -> str:
    if random.random() < 0.5:
        return f"[{', '.join(_value(one, random) for one in values)}]"
    lines = ["["]
    for one in values:
        lines += random.choice(
            (
                [f"  {_value(one, random)} , # ] }} ,"],
                [f"  {_value(one, random)} # ] ,", ","],
                [f"{_value(one, random)},", ""],
            )
        )
    return "\n".join([*lines, "]"])


def _basic(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _texts(text: str) -> list[str]:
    """Every kind of string that can hold a text."""
    basic = _basic(text)
    many = basic[1:-1].replace("\\n", "\n") if "\\\\" not in basic else basic[1:-1]
    ways = [basic, f'"""\n{many}"""', f'"""\\\n   {many}"""' if not text[:1].isspace() else basic]
    if not re.search(r"[\x00-\x08\x0a-\x1f\x7f']", text):
        ways.append(f"'{text}'")
    if not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text) and "'''" not in text and not text.endswith("'''"):
        ways.append(f"'''\n{text}'''")
    # quotes need no backslash where there are fewer than three of them
    if '"' in text and not re.search(r'[\x00-\x08\x0b-\x1f\x7f\\]|"""', text):
        ways.append(f'"""\n{text}"""')
    return ways
