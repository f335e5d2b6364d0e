"""The examples of the page about statistics run, and print what the page says."""

from __future__ import annotations

import itertools

import pytest
import quintain.statistics
from docs.pages import ROOT, Block, blocks

PAGE = "docs/reference/statistics.md"
BLOCKS = blocks(PAGE)
UNLISTED = {"beta_cdf", "beta_quantile", "student_cdf", "student_quantile", "observe", "start", "tightest_rho"}
"""What the page leaves to the docstrings."""

EXAMPLES = [(code, shown) for code, shown in itertools.pairwise(BLOCKS) if code.language == "python"]


def test_every_example_shows_what_it_prints() -> None:
    assert len(EXAMPLES) == 6
    assert [block.language for block in BLOCKS] == ["python", "text"] * 6


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=lambda block: f"line-{block.line}")
def test_each_example_prints_what_the_page_says(code: Block, shown: Block, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile("\n" * (code.line - 1) + code.text, ROOT / PAGE, "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == shown.text


@pytest.mark.parametrize("name", sorted(set(quintain.statistics.__all__) - {"Kind"}))
def test_every_public_name_says_what_it_is_for_and_functions_name_their_source(name: str) -> None:
    public = getattr(quintain.statistics, name)
    assert public.__doc__
    assert isinstance(public, type) or "Source:" in public.__doc__
    assert isinstance(public, type) or name in (ROOT / PAGE).read_text(encoding="utf-8") or name in UNLISTED
