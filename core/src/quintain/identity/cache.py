"""Digests of files that were read before, found again by a `stat`."""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
import time
from pathlib import Path
from typing import TypeAlias

from quintain.errors import WorkspaceError
from quintain.identity.flags import CREATE
from quintain.identity.reading import open_file, sha256_of

FileKey: TypeAlias = tuple[int, int, int, int, int, int]
"""Device, inode, size, time of the last write and of the last change in nanoseconds, mode: equal if nothing happened."""

_COARSE_CLOCK = 5
"""Linux: `CLOCK_REALTIME_COARSE`, by which files are stamped; Python has no name for it."""
_LAG_NS = 20_000_000
"""Elsewhere: stamps are behind the clock by no more than this."""
_WHOLE_SECONDS_NS = 2_000_000_000
"""Some file systems count in steps of up to so much, and their stamps show it."""

_FORMAT = 1


def key_of(seen: os.stat_result) -> FileKey:
    """What tells whether a file is still the one that was seen."""
    return (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)


def stamp_clock_ns() -> int:
    """Wall-clock time such that whatever is written from now on is stamped with this or later."""
    return time.clock_gettime_ns(_COARSE_CLOCK) if sys.platform == "linux" else time.time_ns() - _LAG_NS


def settled(changed_ns: int, clock_ns: int) -> bool:
    """Whether a write after `clock_ns`, from `stamp_clock_ns`, is certain to leave another stamp than `changed_ns`."""
    if changed_ns % 1_000_000_000 == 0:
        changed_ns += _WHOLE_SECONDS_NS
    return changed_ns < clock_ns


class DigestCache:
    """Digests by `FileKey`. Safe to share between threads; as large as the number of files it has seen."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[FileKey, str]] = {}

    @property
    def files(self) -> int:
        """How many files it knows."""
        return len(self._known)

    def find(self, seen: os.stat_result) -> str | None:
        """The digest of a file that has not changed since it was read, or None."""
        known = self._known.get((seen.st_dev, seen.st_ino))
        return known[1] if known is not None and known[0] == key_of(seen) else None

    def keep(self, seen: os.stat_result, digest: str, clock_ns: int) -> None:
        """Remember a digest; not if the file is so fresh that a later write could go unnoticed.

        Args:
            seen: the file, before it was read.
            digest: of its bytes.
            clock_ns: `stamp_clock_ns` from before it was read.
        """
        if settled(seen.st_ctime_ns, clock_ns):
            self._known[seen.st_dev, seen.st_ino] = (key_of(seen), digest)

    def digest_file(self, path: Path) -> str:
        """Digest of a regular file, links followed, read only if it is not known.

        Raises:
            WorkspaceError: it is no regular file, or changed while it was read.
            OSError: it can't be read.
        """
        known = self.find(path.stat())
        if known is not None:
            return known
        with open_file(path, follow=True) as (fd, seen):
            began = stamp_clock_ns()
            digest = sha256_of(fd, seen.st_size)
            if key_of(os.fstat(fd)) != key_of(seen):
                raise WorkspaceError("it changed while it was read", where=str(path))
        self.keep(seen, digest, began)
        return digest

    @classmethod
    def load(cls, path: Path) -> DigestCache:
        """What `save` wrote; empty if it isn't there or can't be understood, because all of it can be found again."""
        cache = cls()
        try:
            stored = json.loads(path.read_bytes())
            if stored["format"] == _FORMAT:
                for *key, digest in stored["files"]:
                    device, inode, size, mtime, ctime, mode = map(int, key)
                    cache._known[device, inode] = ((device, inode, size, mtime, ctime, mode), str(digest))
        except (OSError, ValueError, TypeError, KeyError):
            return cls()
        return cache

    def save(self, path: Path) -> None:
        """Write it to a file, all or nothing. Raises OSError."""
        rows = [[*key, digest] for key, digest in tuple(self._known.values())]
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        fd = os.open(beside, CREATE, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(fd, "w") as file:
            json.dump({"format": _FORMAT, "files": rows}, file, separators=(",", ":"))
        beside.replace(path)
