"""The reference page says what the code says."""

from __future__ import annotations

from pathlib import Path

import attrs
from quintain_assertions import SPECS
from quintain_assertions.__main__ import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "assertions.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m quintain_assertions > docs/reference/assertions.md"


def test_the_page_stays_what_it_is_when_types_have_been_resolved() -> None:
    before = page()
    for spec in SPECS:
        attrs.resolve_types(spec.config)
    assert page() == before
