"""Identities: nested names with digests or plain values at the leaves, one digest for all of it, and what differs.

Two identities are equal if and only if their roots are. None and empty tables mean "not there" and are left out before
anything else, so that a source that was never given and one that is empty by default are one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from attrs import frozen

from quintain.errors import RecordError
from quintain.identity.canonical import ALGORITHM, DEEPEST, canonical_json, digest
from quintain.model.plain import Json

Sources = Mapping[str, Json]
"""Names of sources, nested as deep as is useful for naming what changed; a value that is no table is a leaf."""

Path = tuple[str, ...]
DifferenceKind = Literal["added", "removed", "changed"]

HALF = re.compile("[\ud800-\udfff]")
"""Half of a character, which is how a byte that is no text travels in a string."""

_SHORT = 12
"""Digits of a digest that people are shown."""
_QUOTED = 80
"""Characters of a value that people are shown."""


@frozen
class Difference:
    """One source that is not the same in two identities; its text is a sentence without the full stop.

    Attributes:
        name: dotted, as `profiles.fast.driver.agent.skills/review/SKILL.md`.
        before: digest or value in the first, None if it isn't there.
        after: digest or value in the second, None if it isn't there.
        kind: "added", "removed" or "changed".
    """

    name: str
    before: Json
    after: Json
    kind: DifferenceKind

    def __str__(self) -> str:
        if self.kind == "added":
            return f"{self.name} was added ({shown(self.after)})"
        if self.kind == "removed":
            return f"{self.name} is gone ({shown(self.before)} before)"
        return f"{self.name} changed from {shown(self.before)} to {shown(self.after)}"


def normal(tree: Sources) -> dict[str, Json]:
    """The one form in which a tree is stored and compared: dictionaries and lists, nothing empty, no None.

    Raises:
        RecordError: it holds something that is no plain data, or a name that is no text; `path` leads to it.
    """
    found = _normal(tree, ())
    canonical_json(found)
    return found


def _normal(tree: Sources, path: Path) -> dict[str, Json]:
    if len(path) > DEEPEST:
        raise RecordError("it is nested too deeply", path=path[:8])
    found: dict[str, Json] = {}
    for name, value in tree.items():
        if not isinstance(name, str):
            raise RecordError(f"the name {name!r} is no text", path=path)
        if HALF.search(name):
            raise RecordError(f"the name {name!r} is no text", path=path, hint="`safe_name` makes one of any file name")
        if isinstance(value, Mapping):
            value = _normal(value, (*path, name)) or None
        if value is not None:
            found[name] = _listed(value)
    return found


def _listed(value: Any) -> Any:
    """Lists where there were tuples, and dictionaries where there were other tables."""
    if isinstance(value, list | tuple):
        return [_listed(one) for one in value]
    if isinstance(value, Mapping) and not isinstance(value, dict):
        return dict(value)
    return value


def root_digest(tree: Sources) -> str:
    """Digest of a whole tree, with the name of the algorithm before it. Raises what `normal` raises."""
    return digest(_normal(tree, ()))


def rooted(tree: Sources) -> tuple[dict[str, Json], str]:
    """The normal form of a tree and its root. Raises what `normal` raises."""
    found = _normal(tree, ())
    return found, digest(found)


def leaves(tree: Sources) -> dict[Path, Json]:
    """Every digest or value by the names that lead to it, in order. Raises what `normal` raises."""
    return dict(sorted(_leaves(normal(tree), ())))


def _leaves(tree: Sources, path: Path) -> Iterator[tuple[Path, Json]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def flatten(tree: Sources) -> dict[str, Json]:
    """Every digest or value by its dotted name, in order.

    Names with dots in them are not quoted, because people read them; where two would come out alike, the later in the
    order of their parts is written as JSON.
    """
    found: dict[str, Json] = {}
    for path, value in leaves(tree).items():
        name = dotted(path)
        found[name if name not in found else canonical_json(path).decode()] = value
    return found


def dotted(path: Path) -> str:
    """A name for people."""
    return ".".join(path)


def difference(before: Sources, after: Sources) -> tuple[Difference, ...]:
    """Every source that is not the same in two trees, in the order of their names.

    It is empty if and only if the roots are equal. `1`, `1.0` and `true` are different values.
    """
    mine, theirs = leaves(before), leaves(after)
    found = []
    for path in sorted(mine.keys() | theirs.keys()):
        if path not in theirs:
            found.append(Difference(dotted(path), mine[path], None, "removed"))
        elif path not in mine:
            found.append(Difference(dotted(path), None, theirs[path], "added"))
        elif canonical_json(mine[path]) != canonical_json(theirs[path]):
            found.append(Difference(dotted(path), mine[path], theirs[path], "changed"))
    return tuple(found)


def safe_name(name: str) -> str:
    """A name for any file name, different for different ones: bytes that are no text become `\\udcxx`."""
    return name.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()


def shown(value: Json) -> str:
    """A digest or a value as people are shown it, in short."""
    if isinstance(value, str) and value.startswith(f"{ALGORITHM}:"):
        return value[: len(ALGORITHM) + 1 + _SHORT]
    text = canonical_json(value).decode()
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 20]}... ({len(text)} characters)"
