"""What an agent changed: its workspace compared with what was staged, whatever its own git says.

A file whose `lstat` is that of its staging costs no more than that. Bounds are about what changed, not about what was there
before; what a bound cuts is marked and counted. Nothing is opened but directories and regular files, nothing is waited
for, and no hole of a sparse file is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from attrs import evolve, frozen

from quintain.errors import StoreError, WorkspaceError
from quintain.identity.cache import key_of, settled
from quintain.identity.files import OVER_LIMIT, entry_of, kind_of
from quintain.identity.flags import DIRECTORY, NO_FOLLOW, READ
from quintain.identity.reading import read_all, sha256_of
from quintain.identity.walk import Folder, grant, open_beneath, reason_of, walk
from quintain.model.limits import Limits
from quintain.model.tree import Change, ChangeSet, Entry, Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import matcher, parents
from quintain.workspace.staging import Staged, is_laid, mode_of

BULK = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", "site-packages"})
"""Directories that tools fill by the thousand; what they hold is kept after everything else, while there is room."""

LISTED_PER_KEPT = 4
"""So many added paths are listed for each changed file that may be kept: directories, links and what is cut are cheap."""

Redact = Callable[[bytes], bytes]


@frozen
class _Found:
    """A path that may differ from the baseline, and whose content has yet to be looked at."""

    path: str
    seen: os.stat_result
    before: Entry | None


def collect(
    root: Path,
    staged: Staged | None,
    blobs: BlobStore,
    limits: Limits,
    redact: Redact | None = None,
    *,
    ignore: Sequence[str] = (),
) -> ChangeSet:
    """The changes in a directory that nobody writes to any more.

    A directory or file that its owner locked is unlocked for reading and listed with the mode that it had. A directory
    that can't be read even so is marked, and nothing is said of what was in it.

    Args:
        root: the workspace.
        staged: what was laid out in it; None if it was empty.
        blobs: where changed contents are kept.
        limits: bounds on what is kept.
        redact: takes secrets out of contents, names and targets of links before they are kept.
        ignore: patterns of paths that are left out with all that is in them.

    Raises:
        DiskError: the store does not take the contents.
        OSError: the root can't be opened.
    """
    survey = _Survey(staged, limits, ignore)
    with closing(walk(root, force=True)) as folders:
        for folder in folders:
            survey.look(folder)
    reader = _Reader(blobs, limits, redact)
    if survey.unread:
        top = os.open(root, DIRECTORY)
        try:
            for found in sorted(survey.unread, key=_turn):
                survey.add(reader.compare(top, found))
        finally:
            os.close(top)
    changes = sorted(survey.changes(), key=_path)
    if redact is not None:
        changes = sorted(_without_secrets(changes, redact), key=_path)
    return ChangeSet(
        tuple(changes),
        reader.omitted_files,
        reader.omitted_bytes,
        survey.unlisted,
    )


class _Survey:
    """Compares what `lstat` says, and finds out which files have to be read."""

    def __init__(self, staged: Staged | None, limits: Limits, ignore: Sequence[str]) -> None:
        staged = staged or Staged(Tree(), {}, 0)
        self._before = staged.tree.entries
        self._keys = staged.keys
        self._clock_ns = staged.clock_ns
        self._ignore = [matcher(pattern, dots=True) for pattern in ignore]
        self._room = LISTED_PER_KEPT * limits.changed_files
        self._met: set[str] = set()
        self._closed: dict[str, str] = {}
        self._changes: dict[str, Change] = {}
        self.unread: list[_Found] = []
        self.unlisted = 0

    def look(self, folder: Folder) -> None:
        """Look at everything in a directory."""
        if folder.problem is not None:
            self._closed[folder.path] = folder.problem
            return
        for name, seen in folder.entries:
            path = folder.join(name)
            before = self._before.get(path)
            if before is not None:
                self._met.add(path)
                key = self._keys.get(path)
                if key is not None and key == key_of(seen) and settled(key[4], self._clock_ns):
                    continue
            if self._ignored(path):
                if name in folder.folders:
                    folder.folders.remove(name)
            elif before is not None or self._has_room():
                self._compare(folder, name, path, seen, before)

    def _ignored(self, path: str) -> bool:
        return any(pattern.fullmatch(path) for pattern in self._ignore)

    def _has_room(self) -> bool:
        if self._room <= 0:
            self.unlisted += 1
            return False
        self._room -= 1
        return True

    def _compare(self, folder: Folder, name: str, path: str, seen: os.stat_result, before: Entry | None) -> None:
        if kind_of(seen.st_mode) == "file":
            self.unread.append(_Found(path, seen, before))
        else:
            self.add(_change(path, before, entry_of(folder.fd, name, seen)))

    def add(self, change: Change | None) -> None:
        """Keep a change, if it is one."""
        if change is not None:
            self._changes[change.path] = change

    def changes(self) -> Iterator[Change]:
        """All that was found, with what was there and is there no more."""
        for path, why in self._closed.items():
            known = self._changes.get(path)
            before = self._before.get(path)
            after = known.after if known is not None else before
            if after is not None:
                self.add(Change(path, "modified" if before else "added", before, evolve(after, omitted=why)))
        yield from self._changes.values()
        for path, before in self._before.items():
            if path not in self._met and is_laid(before) and not self._unknown(path):
                yield Change(path, "deleted", before)

    def _unknown(self, path: str) -> bool:
        """It was not to be looked at, or could not be: that it was not met does not mean that it is gone."""
        if not self._closed and not self._ignore:
            return False
        return any(place in self._closed or self._ignored(place) for place in (path, *parents(path)))


class _Reader:
    """Reads the files that may have changed, and keeps what the limits allow."""

    def __init__(self, blobs: BlobStore, limits: Limits, redact: Redact | None) -> None:
        self._blobs = blobs
        self._limits = limits
        self._redact = redact
        self._files = self._bytes = 0
        self.omitted_files = self.omitted_bytes = 0

    def compare(self, top: int, found: _Found) -> Change | None:
        """The change of one file, or None if it is what it was."""
        before, size = found.before, found.seen.st_size
        entry = Entry("file", stat.S_IMODE(found.seen.st_mode), size)
        alike = before is not None and before.kind == "file" and before.size == size
        cut = self._cut(size)
        if cut is None or alike:
            try:
                with _opened(top, found) as fd:
                    if alike and before is not None and sha256_of(fd, size) == before.digest:
                        return _change(found.path, before, evolve(entry, digest=before.digest))
                    if cut is None:
                        os.lseek(fd, 0, os.SEEK_SET)
                        kept = self._keep(fd, entry)
                        if kept is not None:
                            return _change(found.path, before, kept)
                        cut = "it grew while it was read"
            except StoreError:
                raise
            except (OSError, WorkspaceError) as error:
                cut = reason_of(error) if isinstance(error, OSError) else error.message
        self.omitted_files += 1
        self.omitted_bytes += size
        allocated = found.seen.st_blocks * 512
        return _change(found.path, before, evolve(entry, allocated=allocated, omitted=cut))

    def _cut(self, size: int) -> str | None:
        limits = self._limits
        if size > limits.file_bytes:
            return OVER_LIMIT.format(limits.file_bytes)
        if self._files >= limits.changed_files:
            return f"beyond {limits.changed_files} changed files"
        if self._bytes + size > limits.changed_bytes:
            return f"beyond {limits.changed_bytes} bytes of changed files"
        return None

    def _keep(self, fd: int, entry: Entry) -> Entry | None:
        """Store a content; None if it has become larger than the limit."""
        limit = self._limits.file_bytes
        if self._redact is None:
            kept = self._blobs.put_open(fd, entry.size, limit=limit)
            if kept is None:
                return None
            entry = evolve(entry, digest=kept[0], size=kept[1])
        else:
            data = read_all(fd, entry.size, limit)
            if data is None:
                return None
            clean = self._redact(data)
            entry = evolve(entry, digest=self._blobs.put_bytes(clean), size=len(data), redacted=clean != data)
        self._files += 1
        self._bytes += entry.size
        return entry


@contextmanager
def _opened(top: int, found: _Found) -> Iterator[int]:
    flags = READ | NO_FOLLOW
    try:
        fd = open_beneath(top, found.path, flags)
    except PermissionError:
        grant(top, found.path, stat.S_IRUSR, found.seen)
        fd = open_beneath(top, found.path, flags)
    try:
        now = os.fstat(fd)
        if (now.st_dev, now.st_ino) != (found.seen.st_dev, found.seen.st_ino):
            raise WorkspaceError("it was replaced while it was looked at")
        yield fd
    finally:
        os.close(fd)


def _path(change: Change) -> str:
    return change.path


def _turn(found: _Found) -> tuple[bool, bool, str]:
    """Who comes first while there is room: what was changed, what was added, what tools left by the thousand."""
    return found.before is None, not BULK.isdisjoint(found.path.split("/")), found.path


def _change(path: str, before: Entry | None, after: Entry) -> Change | None:
    if before is None:
        return Change(path, "added", None, after)
    same = (
        (before.kind, before.digest, before.target) == (after.kind, after.digest, after.target)
        and after.omitted is None
        and (before.kind == "link" or mode_of(before) == after.mode)
    )
    return None if same else Change(path, "modified", before, after)


def _without_secrets(changes: Iterable[Change], redact: Redact) -> Iterator[Change]:
    """Changes whose names and targets hold no secret; names that were in the baseline are no news and stay."""
    taken: set[str] = set()
    for change in changes:
        path, after = change.path, change.after
        if after is not None and after.target is not None:
            after = evolve(after, target=os.fsdecode(redact(os.fsencode(after.target))))
        if change.before is None:
            path = os.fsdecode(redact(os.fsencode(path)))
            if path != change.path:
                clean, number = path, 1
                while path in taken:
                    number += 1
                    path = f"{clean}~{number}"
                taken.add(path)
        yield evolve(change, path=path, after=after)
