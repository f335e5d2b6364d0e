"""Moves bytes between open files: shared blocks where the file system can, a copy elsewhere."""

from __future__ import annotations

import errno
import os
import sys

from quintain.identity.reading import CHUNK

_FICLONE = 0x40049409
"""Linux: let a file share all blocks of another until one of them is written to."""
_CANNOT = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.ENOTTY, errno.EPERM)


def copy_content(source: int, target: int) -> None:
    """Copy a whole open file into an empty one. Raises OSError."""
    if not _clone(source, target):
        os.lseek(source, 0, os.SEEK_SET)
        while chunk := os.read(source, CHUNK):
            write_all(target, chunk)


def write_all(fd: int, data: bytes) -> None:
    """Write everything, however many calls it takes. Raises OSError."""
    written = os.write(fd, data)
    if written < len(data):
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[os.write(fd, rest) :]


def _clone(source: int, target: int) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl  # not on every system

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _CANNOT:
            return False
        raise
    return True
