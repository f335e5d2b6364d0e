"""The store of file contents, by digest: equal contents are kept once, whoever wrote them.

    <root>/<first two digits>/<the others>      contents, mode 0600
    <root>/incoming/                            contents while they are written

A content appears at its place whole or not at all, so many threads and processes may write at once and be killed at any
instant. What is read is compared with its digest, so damage is an error and never an answer.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from pathlib import Path

from quintain.errors import StoreError
from quintain.identity.cache import DigestCache, stamp_clock_ns
from quintain.identity.canonical import digest_bytes
from quintain.identity.flags import CREATE
from quintain.identity.reading import open_file, open_regular, read_all, sha256_of
from quintain.workspace.copying import copy_content, write_all

SMALL = 256 * 1024
"""Bytes up to which a content is handled in one piece."""
REMEMBERED_BYTES = 64 * 1024 * 1024
"""Small contents are staged again and again, so they are kept in memory up to so many bytes."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})")


class DiskError(StoreError, OSError):
    """The disk did not take what was to be kept, or has no place for it; carries the number of the system's error."""

    def __init__(self, path: str, size: int, error: OSError) -> None:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        StoreError.__init__(
            self,
            f"{size} bytes can't be kept: {error.strerror}",
            where=path,
            hint="make space there; what was stored before is whole" if full else None,
        )
        self.errno = error.errno


class BlobStore:
    """A store in a directory, which is made when something is written. Safe to share between threads.

    Args:
        root: the directory.

    Attributes:
        cache: digests of files outside the store that were read into it, and of large contents that were verified.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = DigestCache()
        self._place = str(root)
        self._memory = _Memory()

    def has(self, digest: str) -> bool:
        """Whether there is such a content."""
        return self.path(digest).exists()

    def path(self, digest: str) -> Path:
        """Where a content is or would be. Raises StoreError for what is no digest."""
        return Path(self._path(digest))

    def put_bytes(self, data: bytes) -> str:
        """Keep a content; returns its digest.

        Raises:
            DiskError: it can't be written; nothing of it is there.
        """
        digest = digest_bytes(data)
        path = self._path(digest)
        try:
            if not _is_there(path, len(data)):
                temporary, fd = self._open_new()
                try:
                    try:
                        write_all(fd, data)
                    finally:
                        os.close(fd)
                    _move(temporary, path)
                except BaseException:
                    Path(temporary).unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise DiskError(path, len(data), error) from error
        return digest

    def put_open(self, fd: int, size: int, *, limit: int | None = None) -> tuple[str, int] | None:
        """Keep the content of an open file; what is kept is what was read, even if the file changes meanwhile.

        Args:
            fd: the file, at its beginning.
            size: how long it seems to be, in bytes.
            limit: bytes that it may have at most.

        Returns:
            Its digest and its size, or None if it is larger than the limit.

        Raises:
            OSError: it can't be read.
            DiskError: as of `put_bytes`; also if a large file can't be read while it is copied.
        """
        if size <= SMALL:
            data = read_all(fd, size, SMALL if limit is None else limit)
            if data is not None:
                return self.put_bytes(data), len(data)
            if limit is not None:
                return None
            os.lseek(fd, 0, os.SEEK_SET)
        try:
            return self._put_large(fd, limit)
        except OSError as error:
            raise DiskError(self._place, size, error) from error

    def _put_large(self, fd: int, limit: int | None) -> tuple[str, int] | None:
        temporary, copy = self._open_new()
        try:
            copy_content(fd, copy)
            size = os.fstat(copy).st_size
            if limit is not None and size > limit:
                return None
            with open_file(temporary) as (written, _):
                digest = sha256_of(written, size)
            path = self._path(digest)
            if not _is_there(path, size):
                _move(temporary, path)
        finally:
            os.close(copy)
            Path(temporary).unlink(missing_ok=True)
        return digest, size

    def read(self, digest: str) -> bytes:
        """A content, verified.

        Raises:
            StoreError: there is no such content, it can't be read, or it is damaged.
        """
        fd, seen = self._open(digest)
        try:
            data = read_all(fd, seen.st_size, seen.st_size)
        finally:
            os.close(fd)
        if data is None or digest_bytes(data) != digest:
            raise self._damaged(digest)
        return data

    def lay(self, digest: str, target: int, size: int) -> None:
        """Write a content, verified, into an empty open file.

        Args:
            digest: of the content.
            target: the file.
            size: of the content in bytes.

        Raises:
            StoreError: as of `read`.
            OSError: the target can't be written.
        """
        if size <= SMALL:
            data = self._memory.find(digest)
            if data is None:
                data = self.read(digest)
                self._memory.keep(digest, data)
            write_all(target, data)
            return
        fd, seen = self._open(digest)
        try:
            if self.cache.find(seen) != digest:
                clock = stamp_clock_ns()
                if sha256_of(fd, seen.st_size) != digest:
                    raise self._damaged(digest)
                self.cache.keep(seen, digest, clock)
            copy_content(fd, target)
        finally:
            os.close(fd)

    def _path(self, digest: str) -> str:
        found = _DIGEST.fullmatch(digest)
        if found is None:
            raise StoreError(f"{digest!r} is no digest of a content", where=self._place)
        return f"{self._place}/{found[1]}/{found[2]}"

    def _open(self, digest: str) -> tuple[int, os.stat_result]:
        path = self._path(digest)
        try:
            return open_regular(path)
        except FileNotFoundError:
            raise StoreError(f"the content {digest} is not in the store", where=self._place) from None
        except OSError as error:
            raise StoreError(f"the content {digest} can't be read: {error.strerror}", where=path) from error

    def _open_new(self) -> tuple[str, int]:
        incoming = f"{self._place}/incoming"
        temporary = f"{incoming}/{os.urandom(12).hex()}"
        try:
            return temporary, os.open(temporary, CREATE, 0o600)
        except FileNotFoundError:
            Path(incoming).mkdir(0o700, parents=True, exist_ok=True)
            return temporary, os.open(temporary, CREATE, 0o600)

    def _damaged(self, digest: str) -> StoreError:
        return StoreError(
            f"the content {digest} is damaged",
            where=self._path(digest),
            hint="remove that file; it is written again when the same content is next stored",
        )


def _is_there(path: str, size: int) -> bool:
    """A content of another size is what a crash of the machine left of it; it is written again."""
    try:
        return os.stat(path).st_size == size  # noqa: PTH116  # a hot path, on text
    except FileNotFoundError:
        return False


def _move(temporary: str, path: str) -> None:
    try:
        os.replace(temporary, path)  # noqa: PTH105  # a hot path, on text
    except FileNotFoundError:
        Path(path).parent.mkdir(0o700, parents=True, exist_ok=True)
        Path(temporary).replace(path)


class _Memory:
    """Contents that were read and verified, least recently used first out."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, digest: str) -> bytes | None:
        with self._lock:
            data = self._contents.pop(digest, None)
            if data is not None:
                self._contents[digest] = data
            return data

    def keep(self, digest: str, data: bytes) -> None:
        with self._lock:
            if digest in self._contents:
                return
            self._contents[digest] = data
            self._bytes += len(data)
            while self._bytes > REMEMBERED_BYTES:
                self._bytes -= len(self._contents.pop(next(iter(self._contents))))
