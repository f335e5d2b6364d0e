"""What the pages about the driver say is so."""

from __future__ import annotations

import re
import tomllib

import pytest
from attrs import fields
from docs.pages import ROOT, blocks
from quintain.model.codec import from_plain
from quintain_driver_cursor import CursorConfig

PAGES = ("drivers/cursor/README.md", "docs/reference/driver-cursor.md")
TABLES = [block for page in PAGES for block in blocks(page, "toml")]


def test_each_key_is_described_and_each_described_key_exists() -> None:
    text = (ROOT / PAGES[0]).read_text(encoding="utf-8").partition("## Configuration")[2]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    described = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert described == {one.name for one in fields(CursorConfig)}


@pytest.mark.parametrize("block", TABLES, ids=lambda block: f"line-{block.line}")
def test_each_example_is_a_configuration(block: object) -> None:
    text = getattr(block, "text", "").replace("{project}", "/project")
    for profile in tomllib.loads(text)["profiles"].values():
        assert profile["driver"]["name"] == "cursor"
        assert isinstance(from_plain(profile["driver"]["config"], CursorConfig), CursorConfig)
