"""What the names of sources say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from quintain.conditions._sources import meaning
from quintain.identity.files import differing
from quintain.identity.tree import Difference, DifferenceKind, safe_name
from quintain.model.tree import Tree

Concern = Literal["grader", "case", "profile", "program", "machine"]


def concern_of(name: str) -> Concern:
    """What a source is part of, by its dotted name: what grades a case, the case, a way to run, Quintain, the machine."""
    first = name.partition(".")[0]
    if first == "cases":
        return "grader" if ".grader." in name else "case"
    return "profile" if first == "profiles" else "program" if first == "core" else "machine"


def tree_differences(name: str, before: Tree, after: Tree) -> Iterator[Difference]:
    """The files that differ in two directories.

    Args:
        name: dotted, of the directory.
        before: what was in it.
        after: what is in it.
    """
    for path in differing(before, after):
        one, other = before.entries.get(path), after.entries.get(path)
        kind: DifferenceKind = "added" if one is None else "removed" if other is None else "changed"
        yield Difference(
            f"{name}/{safe_name(path)}", meaning(one) if one else None, meaning(other) if other else None, kind
        )
