"""The same meaning in another spelling is the same record."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

from authoring.spelling import spell
from hypothesis import given
from hypothesis import strategies as st
from quintain.authoring import discover, load_project
from quintain.model.case import Case
from quintain.model.codec import from_plain, to_plain
from quintain.model.project import Project

CASES: dict[str, Any] = {
    "prompt": 'Write {lang}:\n\n  it\'s "so" \\ {size}\n',
    "persona": "calm",
    "tags": ["a", "b"],
    "timeout_s": 60,
    "limits": {"questions": 2, "idle_s": 1.5},
    "driver": {"name": "subprocess", "config": {"command": ["x", "y"], "env": {"A": "1"}}},
    "answerer": {
        "name": "scripted",
        "config": {"rules": [{"match": {"kind": "ask"}, "text": "yes"}, {"approve": True}]},
    },
    "matrix": {"lang": ["py", "js"], "size": [1, 2]},
    "assertions": [{"type": "all_of", "of": [{"type": "x", "min": 1}]}],
    "case": [
        {"id": "one", "protected": ["*.py"], "assertions": [{"type": "y", "weight": 0.5, "required": False}]},
        {"id": "two", "cluster": "c", "limits": {"grace_s": 1}, "matrix": {"size": [3]}},
    ],
}
PROJECT: dict[str, Any] = {
    "project": {"name": "demo", "store": "kept", "plugins": {"driver:x": "dist-x"}},
    "defaults": {"profile": "b", "repeat": 2},
    "profiles": {
        "a": {"driver": {"name": "d", "config": {"command": ["{python}", "{project}"]}}, "limits": {"timeout_s": 5}},
        "b": {"extends": "a", "retry": {"base_s": {"disk": 1}}, "isolation": {"env": {"X": "1"}, "pass_env": ["A"]}},
    },
    "sinks": [{"name": "junit", "config": {"path": "x"}}, {"name": "console"}],
}


def cases(text: str) -> tuple[Case, ...]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "x.case.toml").write_text(text, newline="", encoding="utf-8")
        found = discover([], Project(Path("/project"), "p", (root,), root / "store"))
        return found.cases


def project(text: str) -> Project:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "demo"
        root.mkdir()
        (root / "quintain.toml").write_text(text, newline="", encoding="utf-8")
        opened = load_project(root / "quintain.toml").project
        return at_home(opened, root.resolve())


def at_home(opened: Project, root: Path) -> Project:
    """The project as it would be in a folder that is always the same."""

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(str(root), "/demo")
        if isinstance(value, dict):
            return {key: moved(one) for key, one in value.items()}
        return [moved(one) for one in value] if isinstance(value, list | tuple) else value

    return from_plain(moved(to_plain(opened)), Project)


SPELLERS = st.integers(0, 2**32).map(Random)


@given(SPELLERS, SPELLERS)
def test_cases_don_t_depend_on_spelling(one: Random, other: Random) -> None:
    assert cases(spell(CASES, one)) == cases(spell(CASES, other))


@given(SPELLERS, SPELLERS)
def test_a_project_doesn_t_depend_on_spelling(one: Random, other: Random) -> None:
    assert project(spell(PROJECT, one)) == project(spell(PROJECT, other))


def test_the_order_of_a_list_has_a_meaning() -> None:
    turned = {**CASES, "driver": {"name": "subprocess", "config": {"command": ["y", "x"], "env": {"A": "1"}}}}
    assert cases(spell(turned, Random(0))) != cases(spell(CASES, Random(0)))


def test_every_key_of_the_examples_arrives() -> None:
    assert len(cases(spell(CASES, Random(0)))) == 6
    assert project(spell(PROJECT, Random(0))).profiles["b"].limits.total_s == 5
