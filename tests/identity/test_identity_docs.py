"""The reference says how identities are encoded, and its examples are true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs.pages import blocks
from quintain import IdentityContext, PolicyViolation
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


@pytest.mark.anyio
async def test_the_example_of_a_policy_works(tmp_path: Path) -> None:
    (block,) = blocks("docs/reference/identity.md", "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("\n" * (block.line - 1) + block.text, PAGE, "exec"), names)
    config, policy = names["Config"](tmp_path), names["policy"]
    assert policy.prepare(config).hooks is False
    with pytest.raises(PolicyViolation, match="take `resume` out") as raised:
        policy.prepare(names["Config"](tmp_path, resume="x"))
    assert raised.value.where == "resume"
    asked: list[Path] = []

    def missing(path: Path) -> str:
        asked.append(path)
        raise FileNotFoundError

    context = IdentityContext(tmp_path, {}, missing, lambda path: "sha256:00")
    assert await policy.identity(config, context) == {"rules": "sha256:00", "settings": None}
    assert asked == [tmp_path / ".agent" / "settings.json"]
