"""Regular files are opened so that nothing else ever is, and read so that no length surprises."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quintain.errors import WorkspaceError
from quintain.identity.canonical import ALGORITHM
from quintain.identity.flags import NO_FOLLOW, READ

CHUNK = 1 << 20
_MOST_AT_ONCE = 1 << 30


def open_regular(path: Path | str, *, folder: int | None = None, follow: bool = False) -> tuple[int, os.stat_result]:
    """Open a regular file for reading; a FIFO or a device is closed again without waiting for it.

    Args:
        path: the file, or its name within `folder`.
        folder: an open directory.
        follow: whether `path` may be a link.

    Returns:
        The open file, which the caller closes, and its `fstat`.

    Raises:
        WorkspaceError: it is no regular file.
        OSError: it can't be opened.
    """
    fd = os.open(path, READ if follow else READ | NO_FOLLOW, dir_fd=folder)
    try:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            raise WorkspaceError("it is no regular file", where=str(path))
    except BaseException:
        os.close(fd)
        raise
    return fd, seen


@contextmanager
def open_file(
    path: Path | str, *, folder: int | None = None, follow: bool = False
) -> Iterator[tuple[int, os.stat_result]]:
    """`open_regular` for the length of a context."""
    fd, seen = open_regular(path, folder=folder, follow=follow)
    try:
        yield fd, seen
    finally:
        os.close(fd)


def read_all(fd: int, size: int, limit: int) -> bytes | None:
    """The rest of an open file.

    Args:
        fd: the file.
        size: how long it seems to be.
        limit: bytes from which None is returned instead.
    """
    data = os.read(fd, min(size, limit, _MOST_AT_ONCE) + 1)
    if len(data) <= min(size, limit) < _MOST_AT_ONCE:
        return data
    chunks = [data]
    total = len(data)
    while total <= limit:
        chunk = os.read(fd, CHUNK)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        total += len(chunk)
    return None


def sha256_of(fd: int, size: int) -> str:
    """Digest of the rest of an open file that seems to be so long, `sha256:<hex>`."""
    state = hashlib.sha256()
    while chunk := os.read(fd, min(size + 1, CHUNK)):
        state.update(chunk)
        if len(chunk) <= size < CHUNK:
            break
    return f"{ALGORITHM}:{state.hexdigest()}"
