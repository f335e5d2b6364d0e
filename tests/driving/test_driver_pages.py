"""What the pages about each driver of an agent say is so."""

from __future__ import annotations

import re
import tomllib

import pytest
from attrs import fields
from docs.pages import ROOT, Block, blocks
from quintain.model.codec import from_plain
from quintain_driver_claude_code import ClaudeCodeConfig
from quintain_driver_codex import CodexConfig
from quintain_driver_cursor import CursorConfig

DRIVERS: dict[str, tuple[type, str]] = {
    "claude-code": (ClaudeCodeConfig, "docs/reference/driver-claude-code.md"),
    "codex": (CodexConfig, "drivers/codex/README.md"),
    "cursor": (CursorConfig, "drivers/cursor/README.md"),
}
"""The configuration of each, and the page with the table of its keys."""

PAGES = {name: (f"drivers/{name}/README.md", f"docs/reference/driver-{name}.md") for name in DRIVERS}
TABLES = [(name, block) for name, pages in PAGES.items() for page in pages for block in blocks(page, "toml")]


@pytest.mark.parametrize("name", DRIVERS)
def test_each_key_is_described_and_each_described_key_exists(name: str) -> None:
    config, page = DRIVERS[name]
    text = (ROOT / page).read_text(encoding="utf-8").partition("## Configuration")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    described = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert described == {one.name for one in fields(config)}


@pytest.mark.parametrize(("name", "block"), TABLES, ids=[f"{name}-line-{block.line}" for name, block in TABLES])
def test_each_example_is_a_configuration(name: str, block: Block) -> None:
    config = DRIVERS[name][0]
    text = block.text.replace("{project}", "/project")
    for profile in tomllib.loads(text)["profiles"].values():
        driver = profile["driver"]
        assert driver["name"] == name
        assert isinstance(from_plain(driver["config"], config), config)
