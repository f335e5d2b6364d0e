"""The first tutorial, followed from its first line to its last: files are written, commands run, outputs compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.pages import Block, blocks
from docs.shells import Step, normal, run, trials

PAGE = "docs/tutorials/first-project.md"
CODES = {
    "quintain init words": 0,
    "quintain run": 0,
    "quintain run (again)": 1,
    "quintain show last/shout": 0,
    "quintain run --rerun-failed": 0,
    "quintain grade last cases/shout.case.toml": 1,
}
"""The exit code of each command, in the page's order."""


def _follow(folder: Path, page: list[Block], home: Path) -> Iterator[Step]:
    done: list[tuple[str, int, str, Path]] = []
    for block in page:
        first, _, rest = block.text.partition("\n")
        if first.startswith("# file: "):
            target = folder / first.removeprefix("# file: ")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(rest, encoding="utf-8")
        elif block.language == "sh":
            for command in block.text.splitlines():
                if command.startswith("cd "):
                    folder = folder / command.removeprefix("cd ")
                else:
                    done.append((command, *run(command, cwd=folder, home=home), folder))
        elif block.language == "text":
            command, code, printed, there = done.pop()
            yield Step(command, code, printed, block.text, there)
    assert not done, f"the page does not show what {done} prints"


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """The whole page, once."""
    root = tmp_path_factory.mktemp("first-project")
    home = root / "home"
    home.mkdir()
    return list(_follow(root, blocks(PAGE), home))


def test_every_command_returns_what_the_page_says(steps: list[Step]) -> None:
    assert [step.command for step in steps] == [command.removesuffix(" (again)") for command in CODES]
    assert [step.code for step in steps] == list(CODES.values()), [step.printed for step in steps]


@pytest.mark.parametrize("number", range(len(CODES)), ids=list(CODES))
def test_every_command_prints_what_the_page_shows(steps: list[Step], number: int) -> None:
    step = steps[number]
    printed, shown = normal(step.printed, step.folder), normal(step.shown, step.folder)
    if step.command.startswith("quintain run"):
        assert trials(printed) == trials(shown)
    else:
        assert printed == shown


def test_a_case_passes_again_when_prompt_agent_and_assertions_agree(steps: list[Step], tmp_path: Path) -> None:
    folder = steps[-1].folder
    for path, old, new in (
        (folder / "cases/shout.case.toml", "exclamation mark.", "exclamation mark. Give it a docstring."),
        (folder / "agent.py", r"(text):\n    return", r'(text):\n    """The text, loud."""\n    return'),
    ):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
    code, printed = run("quintain run cases/shout.case.toml", cwd=folder, home=tmp_path)
    assert code == 0, printed
    assert "1 of 1 passed" in printed
