"""One walker for trees of files, which nothing in them can lead astray.

It opens directories relative to their parents and never follows a link; it opens regular files only, without waiting; it
lists what it doesn't open. Names are kept as bytes are, by surrogate escapes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import field, frozen

from quintain.errors import WorkspaceError
from quintain.identity.canonical import ALGORITHM, digest
from quintain.model.tree import Entry, Tree

CHUNK = 1024 * 1024
_NOFOLLOW = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)

Stamp = tuple[int, int, int, int, int, int]
"""What changes when a file does: device, inode, size, mtime, ctime (both in ns) and mode."""


def stamp_of(info: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_mode)


@frozen
class Found:
    """One path that the walker came by.

    Attributes:
        path: relative to the root, with `/`.
        info: its own status, links not followed; None if even that can't be had.
        open: opens a regular file for reading, without following a link; raises OSError.
        target: reads where a link points to; raises OSError.
        problem: why a directory could not be listed.
    """

    path: str
    info: os.stat_result
    open: Callable[[], int] = field(eq=False, repr=False)
    target: Callable[[], str] = field(eq=False, repr=False)
    problem: str | None = None


def walk(root: Path, *, skip: Callable[[str], bool] = lambda path: False) -> Iterator[Found]:
    """All paths below a directory, each directory before what is in it, names in the order of their code points.

    Args:
        root: the directory; a link in its place is refused.
        skip: paths that are left out with all that is below them.

    Raises:
        OSError: the root can't be opened.
    """
    yield from _walk(os.open(root, _DIRECTORY), "", skip)


def _walk(folder: int, prefix: str, skip: Callable[[str], bool]) -> Iterator[Found]:
    # One descriptor a level: the depth that a path can have (300 and more) is within every system's limit.
    try:
        names = sorted(os.listdir(folder))
        for name in names:
            path = f"{prefix}{name}"
            if skip(path):
                continue
            try:
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue  # it went away meanwhile
            yield from _visit(folder, name, path, info, skip)
    finally:
        os.close(folder)


def _visit(folder: int, name: str, path: str, info: os.stat_result, skip: Callable[[str], bool]) -> Iterator[Found]:
    def opened() -> int:
        return os.open(name, _NOFOLLOW, dir_fd=folder)

    def target() -> str:
        return os.readlink(name, dir_fd=folder)

    if not stat.S_ISDIR(info.st_mode):
        yield Found(path, info, opened, target)
        return
    try:
        below = os.open(name, _DIRECTORY, dir_fd=folder)
    except OSError as error:
        yield Found(path, info, opened, target, f"can't be listed: {error.strerror}")
        return
    yield Found(path, info, opened, target)
    yield from _walk(below, f"{path}/", skip)


def digest_descriptor(descriptor: int) -> str:
    """Digest of all that can be read from a descriptor."""
    found = hashlib.new(ALGORITHM)
    while chunk := os.read(descriptor, CHUNK):
        found.update(chunk)
    return f"{ALGORITHM}:{found.hexdigest()}"


def digest_file(path: Path) -> str:
    """Digest of a regular file's bytes, links followed. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return digest_descriptor(descriptor)
    finally:
        os.close(descriptor)


def tree_digest(tree: Tree) -> str:
    """Digest of a tree: paths, kinds, permission bits, contents and link targets; not owners, times or the order of keys."""
    return digest(
        [[path, entry.kind, entry.mode, entry.digest, entry.target] for path, entry in sorted(tree.entries.items())]
    )


class DigestCache:
    """Remembers digests by the stamps of files, so that looking again at a file that did not change costs a `stat`."""

    def __init__(self) -> None:
        self._digests: dict[Stamp, str] = {}

    def file(self, path: Path) -> str:
        """Digest of a file, links followed. Raises OSError."""
        before = stamp_of(path.stat())
        known = self._digests.get(before)
        if known is not None:
            return known
        found = digest_file(path)
        if stamp_of(path.stat()) != before:
            raise WorkspaceError("it changed while it was read", where=str(path))
        self._digests[before] = found
        return found


def entry_of(found: Found, *, digest: str | None = None, omitted: str | None = None) -> Entry:
    """The record of a path."""
    info, mode = found.info, stat.S_IMODE(found.info.st_mode)
    if stat.S_ISDIR(info.st_mode):
        return Entry("directory", mode, omitted=found.problem)
    if stat.S_ISLNK(info.st_mode):
        return Entry("link", 0o777, target=found.target())
    if not stat.S_ISREG(info.st_mode):
        return Entry("special", mode)
    allocated = info.st_blocks * 512 if info.st_blocks * 512 < info.st_size else None
    return Entry("file", mode, info.st_size, digest, None, allocated, omitted)


def is_full(error: OSError) -> bool:
    """The disk does not take more."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
