"""One process at a time writes a campaign.

The lock is the operating system's, on a file in the campaign's directory, so it ends with its process however that ends;
the file says who holds it, for the error that anybody else gets.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from quintain.errors import StoreError

NAME = "owner.lock"


@contextmanager
def owned(directory: Path) -> Iterator[None]:
    """Own a campaign's directory while the context is open.

    Raises:
        StoreError: another process owns it, and which; or the directory can't be written.
    """
    path = directory / NAME
    fd = _take(path)
    try:
        _sign(fd, path)
        yield
    finally:
        # Removed while it is held: whoever opened it meanwhile sees that the name leads elsewhere, and tries again.
        # It may stay if it can't be: it says nothing once nobody holds it.
        with suppress(OSError):
            path.unlink()
        os.close(fd)


def owner_of(directory: Path) -> str | None:
    """Who owns a campaign now, in words, or None."""
    try:
        fd = os.open(directory / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"can't be read: {error.strerror}", where=str(directory / NAME)) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _described(fd)
    finally:
        os.close(fd)
    return None


def _take(path: Path) -> int:
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"can't be written: {error.strerror}", where=str(path)) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            words = _described(fd)
            os.close(fd)
            raise StoreError(
                f"the campaign is being run by {words}",
                where=str(path.parent),
                hint="wait for it, or stop it; its lock ends with it",
            ) from None
        if _is(path, fd):
            return fd
        os.close(fd)


def _sign(fd: int, path: Path) -> None:
    try:
        os.truncate(fd, 0)
        os.pwrite(fd, json.dumps(_me()).encode(), 0)
    except OSError as error:
        raise StoreError(f"can't be written: {error.strerror}", where=str(path)) from error


def _is(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def _me() -> dict[str, str | int]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _described(fd: int) -> str:
    try:
        told = json.loads(os.pread(fd, 4096, 0))
        return f"process {told['pid']} on {told['host']} since {told['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
