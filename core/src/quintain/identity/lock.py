"""`identity.lock`: an identity as a file that people can read and a comparison can trust.

TOML, its keys sorted. What TOML can't hold (half of a character, None inside a list) stands there as
`{ "$json" = "..." }`, so that reading gives exactly what was written.
"""

from __future__ import annotations

import json
import secrets
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w
from attrs import frozen

from quintain.errors import RecordError, StoreError
from quintain.identity.canonical import ALGORITHM
from quintain.identity.tree import HALF, Sources, root_digest, rooted
from quintain.model.plain import Json

LOCK = "identity.lock"
"""Its name in the directory of a run or a campaign."""

FORMAT = 1

_HEAD = "# What these results depend on, source by source. `quintain identity diff` compares two of these; don't edit it.\n\n"
_JSON = "$json"


@frozen
class Lock:
    """An identity that was read from a file.

    Attributes:
        tree: names of sources, nested.
        root: digest of the tree.
    """

    tree: Sources
    root: str


def write_lock(path: Path, tree: Sources) -> Lock:
    """Write an identity, all or nothing.

    Raises:
        RecordError: it is no plain data.
        StoreError: it can't be written.
    """
    lock = Lock(*rooted(tree))
    text = lock_text(lock)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        beside.write_bytes(text.encode())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StoreError(f"can't be written: {error.strerror}", where=str(path)) from error
    return lock


def lock_text(lock: Lock) -> str:
    """The text of the file. Raises RecordError for a name that is reserved."""
    document = {"format": FORMAT, "algorithm": ALGORITHM, "root": lock.root, "sources": _told(lock.tree, ())}
    return _HEAD + tomli_w.dumps(document)


def read_lock(path: Path) -> Lock:
    """Read an identity and hold its root against its content.

    Raises:
        StoreError: there is none, it is no lock that this version understands, or something in it was changed.
    """
    try:
        document = tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError as error:
        raise StoreError("there is no identity.lock here", where=str(path)) from error
    except OSError as error:
        raise StoreError(f"can't be read: {error.strerror}", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"it is no TOML any more: {error}", where=str(path)) from error
    if document.get("format") != FORMAT or document.get("algorithm") != ALGORITHM:
        raise StoreError(
            f"it is in format {document.get('format')!r} with {document.get('algorithm')!r}; "
            f"this version of Quintain reads format {FORMAT} with {ALGORITHM}",
            where=str(path),
        )
    try:
        tree: Any = _read(document.get("sources", {}))
        root = root_digest(tree)
    except (RecordError, ValueError, AttributeError) as error:
        raise StoreError(f"its sources can't be understood: {error}", where=str(path)) from error
    if document.get("root") != root:
        raise StoreError(
            f"its root is {document.get('root')}, but its sources have {root}: it was changed after it was written",
            where=str(path),
        )
    return Lock(tree, root)


def _told(tree: Sources, path: tuple[str, ...]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, value in sorted(tree.items()):
        if name == _JSON:
            raise RecordError(f"no source can have the name {_JSON}", path=path)
        if isinstance(value, Mapping):
            found[name] = _told(value, (*path, name))
        else:
            found[name] = value if _is_toml(value) else {_JSON: json.dumps(value)}
    return found


def _is_toml(value: Json) -> bool:
    if isinstance(value, list):
        return all(map(_is_toml, value))
    if isinstance(value, dict):  # inside a list, where it is no table of sources
        return all(name != _JSON and _is_toml(name) and _is_toml(inner) for name, inner in value.items())
    if isinstance(value, str):
        return not HALF.search(value)
    return isinstance(value, bool | int | float)


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_JSON}:
            return json.loads(value[_JSON])
        return {name: _read(inner) for name, inner in value.items()}
    if isinstance(value, list | str | bool | int | float):
        return value
    raise RecordError(f"a {type(value).__name__} is no value of a source")
