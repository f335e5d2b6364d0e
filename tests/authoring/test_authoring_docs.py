"""The reference pages say what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from attrs import fields
from authoring.conftest import Workshop
from quintain.authoring import discover, open_project
from quintain.authoring._case_file import CaseTable
from quintain.authoring._profiles import ProfileTable
from quintain.authoring.project import DefaultsTable, ProjectFile, ProjectTable
from quintain.model.case import Assertion
from quintain.model.limits import LimitOverrides, Limits, Retry
from quintain.model.outcome import NOT_RETRIED
from quintain.model.trial import Isolation

REFERENCE = Path(__file__).parents[2] / "docs/reference"
CASES, PROJECT = (REFERENCE / name for name in ("case-files.md", "project-file.md"))


def rows(page: Path) -> dict[str, list[list[str]]]:
    """The rows of the tables on a page, by the heading that they stand under."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in re.sub(r"```.*?```", "", page.read_text(), flags=re.S).splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| `"):
            found.setdefault(heading, []).append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def names(*classes: Any) -> set[str]:
    return {one.name for cls in classes for one in fields(cls)}


@pytest.mark.parametrize(
    ("page", "heading", "keys"),
    [
        (CASES, "Keys", names(CaseTable)),
        (CASES, "Assertions", names(Assertion) - {"config"}),
        (PROJECT, "`[project]`", names(ProjectTable)),
        (PROJECT, "`[defaults]`", names(DefaultsTable)),
        (PROJECT, "`[profiles.NAME]`", names(ProfileTable)),
        (PROJECT, "Limits", names(LimitOverrides)),
        (PROJECT, "Retry", names(Retry)),
        (PROJECT, "Isolation", names(Isolation)),
        (PROJECT, "The project file", names(ProjectFile) - {"project", "defaults", "profiles"}),
    ],
)
def test_every_key_is_listed_and_no_other(page: Path, heading: str, keys: set[str]) -> None:
    assert {row[0].strip("`") for row in rows(page)[heading]} == keys


def test_the_defaults_of_limits_are_as_listed() -> None:
    for key, _, stated, _ in rows(PROJECT)["Limits"]:
        value = getattr(Limits(), "total_s" if key == "`timeout_s`" else key.strip("`"))
        mib = re.fullmatch(r"(\d+) MiB", stated)
        expected = None if stated == "none" else int(mib[1]) * 2**20 if mib else float(stated.strip("`"))
        assert value == expected, key


def test_the_waits_of_retry_are_as_listed() -> None:
    text = PROJECT.read_text()
    said = text[text.index("`base_s` has a key") : text.index("Those not named")]
    assert {name: float(wait) for name, wait in re.findall(r"`(\w+)` (\d+)", said)} == Retry().base_s
    assert all(f"`{failure}`" in text for failure in NOT_RETRIED)


def examples() -> list[tuple[str, str]]:
    """Every example of the two pages with the file that it says it is."""
    blocks = (re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", page.read_text(), re.S) for page in (CASES, PROJECT))
    return [block for found in blocks for block in found]


@pytest.mark.parametrize(("file", "text"), examples())
def test_every_example_can_be_read(workshop: Workshop, file: str, text: str) -> None:
    workshop.write("quintain.toml")
    workshop.folder("cases")
    for folder in re.findall(r'"\.\./((?:fixtures|hidden)/\w+)"', text):
        workshop.folder(folder)
    workshop.write("cases/words.jsonl", '{"word": "hello", "count": 2}\n')
    workshop.write(file, text)
    opened = workshop.project()
    cases = workshop.discover().cases
    assert opened.project.profiles if file == "quintain.toml" else cases
    for word in re.findall(r"# (calculator/\w+)$|`(hello\[.*?\])`|\(`(primes/.*?)`\)", CASES.read_text(), re.M):
        (id,) = filter(None, word)
        if id.startswith(Path(file).name.split(".")[0]):
            assert id in [case.id for case in cases]


def test_no_example_is_left_out() -> None:
    marks = sum(page.read_text().count("```toml") + page.read_text().count("```python") for page in (CASES, PROJECT))
    assert len(examples()) == marks > 5


def test_the_first_example_can_be_read() -> None:
    first = REFERENCE.parent / "examples/first"
    opened = open_project(first, required=True)
    assert "calculator/add" in [case.id for case in discover([], opened.project).cases]
