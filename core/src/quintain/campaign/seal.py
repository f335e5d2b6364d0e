"""Digests of every file of a campaign that has ended, so that a change of any byte shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from quintain.campaign.ledger import file_digest
from quintain.campaign.owner import NAME as LOCK
from quintain.errors import StoreError
from quintain.identity.canonical import canonical_json

NAME = "seal.json"


def seal(directory: Path) -> None:
    """Write the digests of the files of a campaign.

    Raises:
        StoreError: it can't be written.
    """
    path = directory / NAME
    beside = path.with_name(f".{NAME}.new")
    try:
        beside.write_bytes(_text(directory))
        beside.replace(path)
    except OSError as error:
        raise StoreError(f"can't be written: {error.strerror}", where=str(path)) from error


def unseal(directory: Path) -> None:
    """Take the seal off a campaign that goes on."""
    (directory / NAME).unlink(missing_ok=True)


def is_sealed(directory: Path) -> bool:
    """It has a seal, whatever that says."""
    return (directory / NAME).exists()


def unsealed(directory: Path) -> Iterator[str]:
    """What is not as it was when the campaign was sealed, one sentence each."""
    path = directory / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        yield f"{NAME} is not there: the campaign never ended, or it was removed"
        return
    try:
        kept: dict[str, str] = json.loads(data)
        if data != _encoded(kept):
            yield f"{NAME} is not what was written"
            return
    except (ValueError, TypeError, AttributeError):
        yield f"{NAME} is not what was written"
        return
    now = _digests(directory)
    for name in sorted(kept.keys() | now.keys()):
        if name not in now:
            yield f"{name} is gone"
        elif name not in kept:
            yield f"{name} was added after the campaign had ended"
        elif kept[name] != now[name]:
            yield f"{name} was changed after the campaign had ended"


def _digests(directory: Path) -> dict[str, str]:
    files = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    return {name: file_digest(path) for name, path in files.items() if not _is_passing(name, path)}


def _is_passing(name: str, path: Path) -> bool:
    """It comes and goes with those who look, and says nothing."""
    return name in (NAME, LOCK, f".{NAME}.new", "run.db-shm") or (name == "run.db-wal" and path.stat().st_size == 0)


def _encoded(digests: dict[str, str]) -> bytes:
    return canonical_json(dict(sorted(digests.items()))) + b"\n"


def _text(directory: Path) -> bytes:
    return _encoded(_digests(directory))
