"""The driver of the page about preflights declares one as the page says."""

from __future__ import annotations

from typing import Any

from docs.pages import blocks


def test_the_driver_asks_only_for_what_it_may_do() -> None:
    (block,) = blocks("docs/how-to/preflight.md", "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block.text, "preflight.md", "exec"), names)
    spec = names["alpha"]
    assert "write a file" in spec.preflight(spec.config()).prompt
    assert "write a file" not in spec.preflight(spec.config(read_only=True)).prompt
