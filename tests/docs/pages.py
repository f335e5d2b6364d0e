"""What the tests of pages share: the code blocks of a page, as they are written."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# file: (?P<name>\S+)\n(?P<text>.*)", re.DOTALL)


@frozen
class Block:
    """One block of code of a page; `line` is where its text begins."""

    language: str
    text: str
    line: int


def blocks(page: str, language: str | None = None) -> list[Block]:
    """The code blocks of a page, in order.

    Args:
        page: its path in the repository.
        language: only blocks of this one.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [
        Block(match["language"], match["text"], text.count("\n", 0, match.start("text")) + 1)
        for match in _BLOCK.finditer(text)
    ]
    return [block for block in found if language in (None, block.language)]


def named_files(page: str) -> dict[str, str]:
    """The files that a page shows: blocks whose first line is `# file: NAME`, by name."""
    named = [_NAMED.fullmatch(block.text) for block in blocks(page)]
    return {match["name"]: match["text"] for match in named if match}
