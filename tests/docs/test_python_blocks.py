"""The Python of the page for programs runs as it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from docs.pages import ROOT, Block, blocks
from quintain import AnswererContext, NoConfig, Question, Usage, answerer_of

PAGE = "docs/how-to/run-from-python.md"
BLOCKS = blocks(PAGE, "python")


def execute(block: Block) -> dict[str, Any]:
    """Run a block; errors name the line of the page."""
    names: dict[str, Any] = {"__name__": "page"}
    code = compile("\n" * (block.line - 1) + block.text, ROOT / PAGE, "exec")
    if "/path/of/" not in block.text:
        exec(code, names)
    return names


def named(name: str) -> dict[str, Any]:
    """What the block that defines a name defines."""
    (block,) = (block for block in BLOCKS if f"def {name}(" in block.text)
    return execute(block)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line-{block.line}")
def test_each_block_runs_by_itself(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    execute(block)


@pytest.mark.anyio
async def test_the_program_counts_three_of_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    await named("main")["main"]()
    first, *trials = capsys.readouterr().out.splitlines()
    assert first == "3 of 3 passed"
    assert sorted(trials) == [f"answer@default#{number} completed 1.0" for number in (1, 2, 3)]
    assert [path.name for path in tmp_path.iterdir()] == [".quintain"]


@pytest.mark.anyio
async def test_a_function_answers_each_kind_of_question() -> None:
    usages: list[Usage] = []
    context = AnswererContext(trial="page@default#1", case="page", prompt="Do it.", persona=None, spend=usages.append)
    async with answerer_of(named("answer")["answer"]).open(NoConfig(), context) as answerer:
        assert (await answerer.answer(Question("q1", "ask", "Which colour?"), ())).text == "blue"
        assert (await answerer.answer(Question("q2", "approve", "Write it?"), ())).approved is True
        assert (await answerer.answer(Question("q3", "approve", "Delete it?"), ())).approved is False
