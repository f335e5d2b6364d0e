"""Whatever a file says, it is read or refused with a place; it never ends in a traceback."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from authoring.spelling import spell
from authoring.test_authoring_spelling import CASES, PROJECT
from hypothesis import example, given
from hypothesis import strategies as st
from quintain.authoring import discover, load_project
from quintain.errors import AuthoringErrors, QuintainError
from quintain.model.project import Project

ODD = st.sampled_from(["", "\0", "x" * 5000, "{lang}", "{", "..", "/", "a", "é\n", "nul\u202e", "{size!s}"])
SCALARS = ODD | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3))
KEYS = st.sampled_from(
    ["fixtures", "hidden", "prompt_file", "dataset", "id", "extends", "cases", "store", "config", "x"]
)


def change(data: Any, keys: list[int], key: str, value: Any) -> None:
    """Put a value somewhere into the data, found by the numbers."""
    for number in keys:
        steps = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
        if not steps:
            return
        step = steps[number % len(steps)]
        if number % 3 == 0 or not isinstance(data[step], dict | list):
            data[step] = value
            return
        data = data[step]
    if isinstance(data, dict):
        data[key] = value


CHANGES = st.lists(st.tuples(st.lists(st.integers(0, 50), max_size=5), KEYS, ANYTHING), min_size=1, max_size=3)


def changed(data: dict[str, Any], changes: list[tuple[list[int], str, Any]]) -> str:
    data = copy.deepcopy(data)
    for keys, key, value in changes:
        change(data, keys, key, value)
    return spell(data, Random(0))


def read_or_refuse(name: str, text: str | bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        file = root / name
        file.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        errors: tuple[QuintainError, ...] = ()
        try:
            if name == "quintain.toml":
                load_project(file)
            else:
                discover([], Project(root, "p", (root,), root / "store"))
        except AuthoringErrors as several:
            errors = several.errors
        except QuintainError as error:
            errors = (error,)
        assert all(error.where for error in errors)


@given(CHANGES)
@example([([], "fixtures", "\0")])
@example([([], "hidden", "x" * 5000)])
@example([([], "dataset", {"file": "\0.csv"})])
@example([([], "prompt_file", "\0")])
def test_cases_with_any_content(changes: list[tuple[list[int], str, Any]]) -> None:
    read_or_refuse("x.case.toml", changed(CASES, changes))


@given(CHANGES)
@example([([4], "cases", ["\0"])])
@example([([4], "store", "\0")])
@example([([4], "store", "x" * 5000)])
def test_projects_with_any_content(changes: list[tuple[list[int], str, Any]]) -> None:
    read_or_refuse("quintain.toml", changed(PROJECT, changes))


SIGNS = st.text(st.sampled_from("ab=[]{}\"'\n#.1-"), max_size=30).map(str.encode)


@pytest.mark.parametrize("name", ["x.case.toml", "quintain.toml"])
@given(st.binary(max_size=40) | SIGNS)
def test_any_bytes(name: str, text: bytes) -> None:
    read_or_refuse(name, text)


@given(SIGNS)
def test_any_python(text: bytes) -> None:
    read_or_refuse("x.case.py", text)
