"""Where the cases say what they say, for errors that are found later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from quintain.authoring._document import Document, place
from quintain.authoring._lines import Key

LISTS = ("tags", "protected", "assertions")
"""What stands above the first [[case]] comes before the case's own."""


class Origin(Protocol):
    """Where one case was read."""

    def where(self, key: Key = ()) -> str:
        """File, line and key, for people."""


@frozen
class TableOrigin:
    """A case that was read from a table.

    Attributes:
        document: the file.
        table: the case's own table in it.
        before: how many items of each list come from the top of the file.
    """

    document: Document
    table: Key = ()
    before: Mapping[str, int] = field(factory=dict)

    def where(self, key: Key = ()) -> str:
        """File, line and key, for people."""
        return self.document.where(self._written(key))

    def _written(self, key: Key) -> Key:
        if len(key) > 1 and key[0] in LISTS and isinstance(key[1], int):
            before = self.before.get(str(key[0]), 0)
            return key if key[1] < before else (*self.table, key[0], key[1] - before, *key[2:])
        spellings = [key, ("timeout_s",)] if key in (("limits", "timeout_s"), ("limits", "total_s")) else [key]
        for length in range(len(key), 0, -1):
            for spelling in spellings:
                for table in (self.table, ()):
                    if self.document.has((*table, *spelling[:length])):
                        return (*table, *spelling)
        return (*self.table, *key)


@frozen
class FileOrigin:
    """A case that a Python file made: the file, the line of its `cases`, and which of them it is."""

    path: Path
    line: int
    case: Key = ()

    def where(self, key: Key = ()) -> str:
        """File, line and key, for people."""
        return place(self.path, self.line, (*self.case, *key))


@frozen
class Sources:
    """Where each case was read."""

    origins: Mapping[str, Origin] = field(factory=dict)

    def where(self, case: str, key: Key = ()) -> str:
        """File, line and key, for people.

        Args:
            case: id of the case.
            key: as in the case file: `("assertions", 2, "pattern")`, `("driver", "config", "mode")`.
        """
        if case in self.origins:
            return self.origins[case].where(key)
        return ": ".join(part for part in (f"case {case}", ".".join(str(one) for one in key)) if part)
