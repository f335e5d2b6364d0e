"""What an agent changed, found by comparing its workspace with what was staged; independent of any git of the agent's.

A file whose stamp is that of its staging costs one `stat`. Bounds are about what changed, not about what was there; what
a bound cuts is marked and counted. Nothing is opened but regular files, nothing is waited for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from attrs import evolve

from quintain.identity.files import Found, entry_of, stamp_of, walk
from quintain.model.limits import Limits
from quintain.model.tree import Change, ChangeSet, Entry
from quintain.workspace.blobs import BlobStore
from quintain.workspace.staging import Staged


def collect(
    root: Path,
    staged: Staged | None,
    blobs: BlobStore,
    limits: Limits,
    redact: Callable[[bytes], bytes] | None = None,
) -> ChangeSet:
    """The changes in a directory.

    Args:
        root: the workspace; nobody writes to it any more.
        staged: what was laid out in it; None if it was empty.
        blobs: where changed contents are kept.
        limits: bounds on what is kept.
        redact: takes secrets out of contents and names before they are kept.

    Raises:
        OSError: the disk does not take the contents, or the root is gone.
    """
    return _Collecting(staged, blobs, limits, redact).through(root)


class _Collecting:
    def __init__(
        self,
        staged: Staged | None,
        blobs: BlobStore,
        limits: Limits,
        redact: Callable[[bytes], bytes] | None,
    ) -> None:
        self._before = staged.tree.entries if staged else {}
        self._stamps = staged.stamps if staged else {}
        self._blobs = blobs
        self._limits = limits
        self._redact = redact
        self._changes: list[Change] = []
        self._bytes = self._files = 0
        self._omitted_files = self._omitted_bytes = self._unlisted = 0

    def through(self, root: Path) -> ChangeSet:
        seen: set[str] = set()
        for found in walk(root):
            seen.add(found.path)
            self._look(root, found)
        for path in sorted(self._before.keys() - seen):
            self._add(Change(self._name(path), "deleted", before=self._before[path]))
        return ChangeSet(
            tuple(sorted(self._changes, key=lambda change: change.path)),
            self._omitted_files,
            self._omitted_bytes,
            self._unlisted,
        )

    def _look(self, root: Path, found: Found) -> None:
        before = self._before.get(found.path)
        if before is not None and self._stamps.get(found.path) == stamp_of(found.info):
            return
        if found.problem is not None:
            found = self._make_readable(root, found)
        if before is None and stat.S_ISDIR(found.info.st_mode) and found.problem is None:
            self._add(Change(self._name(found.path), "added", after=entry_of(found)))
            return
        after = self._entry(found, before)
        if before is None:
            self._add(Change(self._name(found.path), "added", after=after))
        elif _differ(before, after):
            self._add(Change(self._name(found.path), "modified", before=before, after=after))

    def _make_readable(self, root: Path, found: Found) -> Found:
        """A directory that its owner locked: open it for us, look into it, and say so."""
        place = root / found.path
        try:
            place.chmod(stat.S_IMODE(found.info.st_mode) | 0o700)
            for below in walk(place):
                self._look(root, evolve(below, path=f"{found.path}/{below.path}"))
        except OSError:
            return found
        return evolve(found, problem=None)

    def _entry(self, found: Found, before: Entry | None) -> Entry:
        entry = entry_of(found)
        if entry.kind != "file":
            return entry
        if entry.size > self._limits.file_bytes:
            return self._omit(entry, f"larger than {self._limits.file_bytes} bytes")
        if self._files >= self._limits.changed_files:
            return self._omit(entry, f"more than {self._limits.changed_files} changed files")
        if self._bytes + entry.size > self._limits.changed_bytes:
            return self._omit(entry, f"more than {self._limits.changed_bytes} bytes of changed files")
        try:
            digest = self._content(found)
        except OSError as error:
            if getattr(error, "where", None):  # the store did not take it
                raise
            return self._omit(entry, f"can't be read: {error.strerror}")
        if digest is None:
            return self._omit(entry, "it grew while it was read")
        if before is None or before.digest != digest:
            self._files += 1
            self._bytes += entry.size
        return evolve(entry, digest=digest)

    def _content(self, found: Found) -> str | None:
        file = found.open()
        try:
            if self._redact is None:
                return self._blobs.put_descriptor(file, limit=self._limits.file_bytes)
            data = b""
            while chunk := os.read(file, 1024 * 1024):
                data += chunk
                if len(data) > self._limits.file_bytes:
                    return None
            return self._blobs.put_bytes(self._redact(data))
        finally:
            os.close(file)

    def _omit(self, entry: Entry, why: str) -> Entry:
        self._omitted_files += 1
        self._omitted_bytes += entry.size
        return evolve(entry, omitted=why)

    def _name(self, path: str) -> str:
        if self._redact is None:
            return path
        return os.fsdecode(self._redact(os.fsencode(path)))

    def _add(self, change: Change) -> None:
        # As many again as contents: directories, links and deletions are cheap, but not without bound.
        if len(self._changes) >= 4 * self._limits.changed_files:
            self._unlisted += 1
        else:
            self._changes.append(change)


def _differ(before: Entry, after: Entry) -> bool:
    if before.kind != after.kind or before.target != after.target:
        return True
    if before.kind == "directory":
        # Staging gives the owner write access; that is no change of the agent's.
        return before.mode | 0o700 != after.mode
    if before.kind == "file":
        return before.mode | 0o200 != after.mode or before.digest != after.digest
    return before.mode != after.mode
