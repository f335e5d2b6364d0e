"""Every key has a line, in whatever way a file is written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from random import Random
from typing import Any

from authoring.spelling import spell
from hypothesis import given
from hypothesis import strategies as st
from quintain.authoring._lines import Key, key_lines

WORDS = st.text(st.sampled_from(list("ab-_.é #'\"=[]{}")), min_size=1, max_size=4)
PIECES = [*"ab \n\t\\\"'#[]{}=,é\x7f\x01", "\n[a]\n", "\nb = 1\n", '""', "''"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
VALUES = st.recursive(
    st.integers() | st.booleans() | TEXTS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=15,
)
TABLES = st.dictionaries(WORDS, VALUES, max_size=5)
SPELLERS = st.randoms(use_true_random=False)


def marked(data: Any, numbers: Iterator[int]) -> Any:
    """The data with each key, and each whole number in it, made unlike all others."""
    if isinstance(data, dict):
        return {f"{key}{next(numbers)}": marked(value, numbers) for key, value in data.items()}
    if isinstance(data, list):
        return [marked(value, numbers) for value in data]
    return next(numbers) if isinstance(data, int) and not isinstance(data, bool) else data


def paths(data: Any, path: Key = ()) -> Iterator[tuple[Key, Any]]:
    inner: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in inner:
        yield (*path, step), value
        yield from paths(value, (*path, step))


@given(TABLES, SPELLERS)
def test_every_key_that_the_parser_sees_stands_on_its_line(data: dict[str, Any], random: Random) -> None:
    data = marked(data, iter(range(1000, 10_000)))
    text = spell(data, random).removeprefix("\ufeff").replace("\r\n", "\n")
    assert tomllib.loads(text) == data
    lines = key_lines(text)
    written = text.split("\n")
    for path, value in paths(data):
        line = written[lines[path] - 1]
        step = path[-1]
        if isinstance(step, str):
            assert step in line or step.replace('"', '\\"') in line
        elif isinstance(value, int) and not isinstance(value, bool):
            assert str(value) in line
    assert set(lines) == {path for path, _ in paths(data)}


def test_quotes_at_the_end_of_a_long_text_belong_to_it() -> None:
    text = 'a = """x"""""\nb = """"""\nc = \'\'\'\n[d]\n\'\'\'\'\'\ne = """\\""" = 1\n"""\nf = 1\n'
    tomllib.loads(text)
    assert key_lines(text) == {("a",): 1, ("b",): 2, ("c",): 3, ("e",): 6, ("f",): 8}


def test_tables_below_a_repeated_table_belong_to_the_last_of_them() -> None:
    text = "[[a]]\n[a.b]\nx = 1\n[[a]]\n[a.b]\nx = 2\n[[a.c]]\n[[a.c]]\ny.z = 3\n"
    lines = key_lines(text)
    assert (lines["a", 0, "b", "x"], lines["a", 1, "b", "x"], lines["a", 1, "c", 1, "y", "z"]) == (3, 6, 9)
