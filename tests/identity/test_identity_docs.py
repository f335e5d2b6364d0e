"""The reference says how identities are encoded, and its examples are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from quintain.identity.canonical import canonical_json
from quintain.identity.tree import normal, root_digest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "identity.md"
VECTORS = re.findall(r"^\| `(\{.*?\})` \| `(\{.*?\})` \| `(sha256:[0-9a-f]{64})` \|$", PAGE.read_text(), re.MULTILINE)


def test_the_page_has_examples() -> None:
    assert len(VECTORS) >= 6


@pytest.mark.parametrize(("tree", "canonical", "root"), VECTORS)
def test_an_example_is_true(tree: str, canonical: str, root: str) -> None:
    assert canonical_json(normal(json.loads(tree))).decode() == canonical
    assert root_digest(json.loads(tree)) == root
