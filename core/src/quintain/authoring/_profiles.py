"""Profiles: what each says itself, what it takes from the one that it extends."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from quintain.authoring._document import Document
from quintain.authoring._lines import Key
from quintain.authoring._placeholders import Placeholders
from quintain.authoring._structure import PartialPlug, nearest, structure
from quintain.errors import AuthoringError
from quintain.model.limits import LimitOverrides, Limits, Retry
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.trial import Isolation

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@frozen
class ProfileTable:
    """`[profiles.NAME]`, as it is written."""

    extends: str | None = None
    driver: PartialPlug | None = None
    answerer: PartialPlug | None = None
    limits: LimitOverrides = field(factory=LimitOverrides)
    retry: Retry = field(factory=Retry)
    isolation: Isolation = field(factory=Isolation)


@frozen
class Inheritance:
    """Which profile extends which, in a document whose shape has been checked."""

    document: Document

    def chain(self, name: str) -> Iterator[str]:
        """The profile, the one it extends, and so on; stops where one comes again or isn't there."""
        profiles = self.document.data.get("profiles", {})
        seen: set[str] = set()
        following: str | None = name
        while following is not None and following in profiles and following not in seen:
            seen.add(following)
            yield following
            following = profiles[following].get("extends")

    def origin(self, key: Key) -> Key:
        """Where a value of a profile is written: in the nearest profile of its chain that has it."""
        if len(key) < 3 or key[0] != "profiles" or not isinstance(key[1], str):
            return key
        places = [("profiles", name, *key[2:]) for name in self.chain(key[1])]
        for length in range(len(key), 2, -1):
            for place in places:
                if self.document.has(place[:length]):
                    return place
        return key


def make_profiles(
    tables: Mapping[str, ProfileTable], inheritance: Inheritance, root: Path, errors: list[AuthoringError]
) -> dict[str, Profile]:
    """The profiles of a project; one without a driver that others extend is none itself.

    Args:
        tables: as they are written.
        inheritance: of the same document.
        root: the project's folder.
        errors: gets what is wrong.
    """
    document = inheritance.document
    here = Placeholders(surroundings(root))
    bases = {table.extends for table in tables.values()}
    profiles = {}
    for name, table in tables.items():
        if not _NAME.fullmatch(name):
            errors.append(
                AuthoringError(
                    f"`{name}` can't be the name of a profile",
                    where=document.where(("profiles", name)),
                    hint="letters, digits, `_`, `-` and `.`, and a letter or digit first",
                )
            )
        elif _extends_well(name, table, tables, inheritance, errors):
            profile = _profile(name, inheritance, here, errors, root=root, base=name in bases)
            if profile is not None:
                profiles[name] = profile
    return profiles


def surroundings(root: Path) -> dict[str, str]:
    """What driver and answerer configurations may name."""
    return {"project": str(root), "python": sys.executable}


def _extends_well(
    name: str,
    table: ProfileTable,
    tables: Mapping[str, ProfileTable],
    inheritance: Inheritance,
    errors: list[AuthoringError],
) -> bool:
    where = inheritance.document.where(("profiles", name, "extends"))
    if table.extends is not None and table.extends not in tables:
        hint = nearest(table.extends, set(tables) - {name})
        errors.append(AuthoringError(f"there is no profile `{table.extends}`", where=where, hint=hint))
        return False
    chain = list(inheritance.chain(name))
    last = tables[chain[-1]].extends
    if last == name:
        errors.append(AuthoringError(f"it extends itself: {' -> '.join([*chain, name])}", where=where))
    # What ends in a fault of another profile is told there.
    return last is None


def _profile(
    name: str, inheritance: Inheritance, here: Placeholders, errors: list[AuthoringError], *, root: Path, base: bool
) -> Profile | None:
    stated = inheritance.document.data["profiles"]
    merged: dict[str, Any] = {}
    for one in reversed(list(inheritance.chain(name))):
        merged = _extend(merged, stated[one])
    merged.pop("extends", None)

    def where(key: Key) -> str:
        return inheritance.document.where(inheritance.origin(("profiles", name, *key)))

    table = structure(merged, ProfileTable, where, errors)
    if table is None:
        return None
    if table.driver is None and base:
        return None
    if table.driver is None or table.driver.name is None:
        key: Key = () if table.driver is None else ("driver",)
        errors.append(
            AuthoringError(
                "it isn't said which driver runs the agent",
                where=where(key),
                hint='driver = "name", or driver = { name = ..., config = { ... } }',
            )
        )
        return None
    answerer = table.answerer or PartialPlug("deny")
    if answerer.name is None:
        errors.append(AuthoringError("`name` is missing", where=where(("answerer",))))
        return None
    return Profile(
        name=name,
        driver=Plug(table.driver.name, here.fill(table.driver.config)),
        answerer=Plug(answerer.name, here.fill(answerer.config)),
        limits=table.limits.over(Limits()),
        retry=evolve(table.retry, base_s={**Retry().base_s, **table.retry.base_s}),
        isolation=evolve(table.isolation, readable=tuple(root / path for path in table.isolation.readable)),
    )


def _extend(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A profile's table over that of the profile that it extends; another plugin takes nothing over."""
    kept, stated = dict(base), dict(own)
    for kind in ("driver", "answerer"):
        if isinstance(stated.get(kind), str):
            stated[kind] = {"name": stated[kind]}
        name = kept.get(kind, {}).get("name")
        if kind in stated and stated[kind].get("name", name) != name:
            kept.pop(kind, None)
    return _merge(kept, stated)


def _merge(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merge, everything else is replaced."""
    merged = dict(base)
    for key, value in own.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
