"""Names in braces, replaced by values only where they are declared; all other braces stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from quintain.model.plain import Json


@frozen
class Placeholders:
    """Declared names and their values.

    `{name}` inside a text becomes the value as text. A text that is `{name}` alone becomes the value itself, so that
    numbers stay numbers; `{name!s}` is always text.
    """

    values: Mapping[str, Json]
    _pattern: re.Pattern[str] | None = field(init=False, eq=False, repr=False)

    @_pattern.default
    def _compiled(self) -> re.Pattern[str] | None:
        names = "|".join(re.escape(name) for name in sorted(self.values))
        return re.compile(rf"\{{({names})(!s)?\}}") if names else None

    def text(self, text: str) -> str:
        """A text with the placeholders in it replaced; what comes in for one is not looked at again."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: as_text(self.values[found[1]]), text)

    def fill(self, value: Any) -> Any:
        """Plain data with the placeholders in all its texts replaced; keys stay as they are."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            alone = self._pattern.fullmatch(value)
            return self.values[alone[1]] if alone and not alone[2] else self.text(value)
        if isinstance(value, list):
            return [self.fill(inner) for inner in value]
        if isinstance(value, dict):
            return {key: self.fill(inner) for key, inner in value.items()}
        return value

    def used(self, value: Any) -> set[str]:
        """The declared names that stand somewhere in plain data."""
        if self._pattern is None:
            return set()
        if isinstance(value, str):
            return {found[1] for found in self._pattern.finditer(value)}
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return set[str]().union(*(self.used(inner) for inner in value))
        return set()


def as_text(value: Json) -> str:
    """A value as it stands in the middle of a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
