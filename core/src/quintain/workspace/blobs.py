"""A store of file contents by their digests, shared by all trials of all runs.

A blob is written beside its place and renamed into it, so that half a blob is never seen; the same content is kept once.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from quintain.errors import StoreError
from quintain.identity.canonical import ALGORITHM, digest_bytes

CHUNK = 1024 * 1024


class BlobStore:
    """Contents of files.

    Args:
        root: its directory, made when there is something to keep.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: set[str] = set()

    def path(self, digest: str) -> Path:
        """Where a content is, or would be."""
        algorithm, _, name = digest.partition(":")
        if algorithm != ALGORITHM or len(name) != 64 or not name.isalnum():
            raise StoreError(f"{digest!r} is no digest", where=str(self.root))
        return self.root / name[:2] / name[2:]

    def has(self, digest: str) -> bool:
        """The content is there."""
        if digest in self._known:
            return True
        if not self.path(digest).is_file():
            return False
        self._known.add(digest)
        return True

    def put_bytes(self, data: bytes) -> str:
        """Keep bytes; returns their digest. Raises StoreError if they can't be written."""
        digest = digest_bytes(data)
        if not self.has(digest):
            self._write(digest, [data], len(data))
        return digest

    def put_descriptor(self, descriptor: int, *, limit: int) -> str | None:
        """Keep what can be read from a descriptor; returns its digest.

        Args:
            descriptor: of an open file, at its beginning.
            limit: bytes; if there are more, nothing is kept and None is returned.

        Raises:
            StoreError: it can't be written.
            OSError: it can't be read.
        """
        found, size = hashlib.new(ALGORITHM), 0
        whole: list[bytes] = []
        while chunk := os.read(descriptor, CHUNK):
            size += len(chunk)
            if size > limit:
                return None
            found.update(chunk)
            whole.append(chunk)
        digest = f"{ALGORITHM}:{found.hexdigest()}"
        if not self.has(digest):
            self._write(digest, whole, size)
        return digest

    def read(self, digest: str) -> bytes:
        """A content. Raises StoreError if it isn't there or is damaged."""
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StoreError(f"a stored content can't be read: {error.strerror}", where=str(path)) from error
        if digest_bytes(data) != digest:
            raise StoreError("a stored content is damaged: it doesn't match its digest", where=str(path))
        return data

    def open(self, digest: str) -> int:
        """A descriptor of a content, for copying. Raises StoreError if it isn't there."""
        path = self.path(digest)
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"a stored content can't be read: {error.strerror}", where=str(path)) from error

    def _write(self, digest: str, parts: Sequence[bytes], size: int) -> None:
        path = self.path(digest)
        beside = path.parent / f".{path.name}.{secrets.token_hex(4)}"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                for part in parts:
                    write_all(file, part)
            finally:
                os.close(file)
            beside.rename(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            message = f"{size} bytes of evidence can't be kept: {error.strerror}"
            raise DiskError(message, where=str(path), error=error) from error
        self._known.add(digest)


class DiskError(StoreError, OSError):
    """The disk did not take what was to be kept; carries the number of the system's error."""

    def __init__(self, message: str, *, where: str, error: OSError) -> None:
        StoreError.__init__(self, message, where=where, hint="make space, or put the store on another disk")
        self.errno = error.errno


def write_all(file: int, data: bytes) -> None:
    """Write bytes to a descriptor, all of them."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
