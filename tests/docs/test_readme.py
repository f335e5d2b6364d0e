"""The README's command runs the first example, and prints what the README says."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from docs.pages import ROOT, blocks
from docs.shells import normal, run, trials

EXAMPLE = "docs/examples/first"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _block(heading: str, language: str) -> str:
    """The first block of a language under a heading."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    begin = text.count("\n", 0, text.index(f"\n## {heading}\n")) + 1
    return next(block.text for block in blocks("README.md", language) if block.line > begin)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The part of a checkout that the example is, in the same place."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / EXAMPLE, root / EXAMPLE, ignore=shutil.ignore_patterns(".quintain", "__pycache__"))
    return root


def _files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_the_example_prints_what_the_readme_says(checkout: Path, tmp_path: Path) -> None:
    install, command = _block("Run it", "sh").rsplit(" && ", 1)
    assert "pip install" in install
    home = tmp_path / "home"
    home.mkdir()
    before = _files(checkout)

    code, printed = run(command.replace(".venv/bin/", ""), cwd=checkout, home=home)

    assert code == 0, printed
    assert trials(normal(printed, checkout)) == trials(normal(_block("Run it", "text"), checkout))
    new = _files(checkout) - before
    assert new
    assert [path for path in new if not path.startswith(f"{EXAMPLE}/.quintain/")] == []
    assert list(home.iterdir()) == []


def test_the_example_needs_the_rules_that_answer(checkout: Path, tmp_path: Path) -> None:
    project = checkout / EXAMPLE / "quintain.toml"
    text = project.read_text()
    project.write_text(text[: text.index("[profiles.default.answerer]")])
    code, printed = run(f"quintain run {EXAMPLE} -k guard", cwd=checkout, home=tmp_path)
    assert code == 1
    assert "I may not write calculator.py" in printed


def _installed(heading: str) -> list[str]:
    return sorted(re.findall(r"\./([\w/-]+)", _block(heading, "sh")))


def test_the_tests_install_every_member_of_the_workspace_and_the_example_only_what_it_needs() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert _installed("Test it") == sorted(settings["tool"]["quintain"]["workspace"]["members"])
    plugins = [f"plugins/{name}" for name in ("answerers", "assertions", "sinks")]
    assert _installed("Run it") == ["core", "drivers/subprocess", *plugins]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_page_that_a_page_names_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
