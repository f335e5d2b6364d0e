"""Trees of files as records, and their digests."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

from quintain.errors import WorkspaceError
from quintain.identity.cache import DigestCache, key_of, stamp_clock_ns
from quintain.identity.canonical import digest
from quintain.identity.reading import open_file, sha256_of
from quintain.identity.walk import Folder, reason_of, walk
from quintain.model.tree import Entry, EntryKind, Tree

LARGEST_FILE = 4 * 1024**3
"""Apparent bytes of a file from which it is not read."""

OVER_LIMIT = "over the limit of {} bytes"


def digest_file(path: Path, *, cache: DigestCache | None = None) -> str:
    """Digest of a regular file, `sha256:<hex>`; links are followed.

    Raises:
        WorkspaceError: it is no regular file, or it changed while it was read.
        OSError: it can't be read.
    """
    return (cache or DigestCache()).digest_file(path)


def scan_tree(
    root: Path,
    *,
    cache: DigestCache | None = None,
    ignore: Callable[[str], bool] | None = None,
    largest: int = LARGEST_FILE,
) -> Tree:
    """Look at a directory and everything in it; the same files give the same tree wherever they lie.

    Links are not followed. What can't be read has `omitted` set to the reason, and no digest.

    Args:
        root: the directory; it is no entry itself.
        cache: saves reading files that did not change.
        ignore: tells of a path whether it is left out with all that is in it.
        largest: apparent size in bytes of a file from which it is not read.

    Raises:
        WorkspaceError: the root is no directory.
        OSError: it can't be opened.
    """
    cache = cache if cache is not None else DigestCache()
    found: dict[str, Entry] = {}
    with closing(folders_of(root)) as folders:
        for folder in folders:
            if folder.problem is not None:
                _mark(found, folder)
                continue
            for name, seen in folder.entries:
                path = folder.join(name)
                if ignore is not None and ignore(path):
                    if stat.S_ISDIR(seen.st_mode):
                        folder.folders.remove(name)
                    continue
                entry = entry_of(folder.fd, name, seen)
                found[path] = _read(folder.fd, name, seen, cache, largest) if entry.kind == "file" else entry
    return Tree(dict(sorted(found.items())))


def folders_of(root: Path, *, force: bool = False) -> Generator[Folder, None, None]:
    """`walk`, for a root that a person named: it may be a link, and is told in words if it is no directory."""
    if not root.is_dir():
        raise WorkspaceError("there is no such directory", where=str(root))
    yield from walk(root.resolve(), force=force)


def entry_of(folder: int, name: str, seen: os.stat_result) -> Entry:
    """What an `lstat` says of a path, and where a link points to; nothing is opened."""
    kind = kind_of(seen.st_mode)
    mode = stat.S_IMODE(seen.st_mode)
    if kind == "file":
        return Entry(kind, mode, seen.st_size)
    if kind == "link":
        # The mode of a link means nothing and differs between systems.
        try:
            return Entry(kind, 0o777, target=os.readlink(name, dir_fd=folder))
        except OSError as error:
            return Entry(kind, 0o777, omitted=reason_of(error))
    return Entry(kind, mode)


def kind_of(mode: int) -> EntryKind:
    """The kind of entry that a mode stands for."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "special"


def tree_digest(tree: Tree) -> str:
    """Digest of what is in a tree: paths, kinds, contents, targets of links, and whether a file can be executed.

    Other permission bits are left out: they depend on how a checkout was made. So are sizes, which contents imply.
    """
    return digest([_meaning(path, entry) for path, entry in sorted(tree.entries.items())])


def differing(one: Tree, other: Tree) -> tuple[str, ...]:
    """Paths that only one of two trees has, or that mean something else to `tree_digest` in the other, in order."""
    mine, theirs = one.entries, other.entries
    found = set(mine.keys() ^ theirs.keys())
    for path, entry in mine.items():
        there = theirs.get(path)
        if there is not None and there != entry and _meaning(path, there) != _meaning(path, entry):
            found.add(path)
    return tuple(sorted(found))


def _meaning(path: str, entry: Entry) -> list[object]:
    executable = entry.kind == "file" and bool(entry.mode & stat.S_IXUSR)
    return [path, entry.kind, executable, entry.digest or entry.target, entry.omitted]


def _mark(found: dict[str, Entry], folder: Folder) -> None:
    if not folder.path:
        raise WorkspaceError(f"the directory is {folder.problem}")
    entry = found[folder.path]
    found[folder.path] = Entry(entry.kind, entry.mode, omitted=folder.problem)


def _read(folder: int, name: str, seen: os.stat_result, cache: DigestCache, largest: int) -> Entry:
    mode, size = stat.S_IMODE(seen.st_mode), seen.st_size
    known = cache.find(seen)
    if known is not None:
        return Entry("file", mode, size, known)
    if size > largest:
        allocated = seen.st_blocks * 512
        return Entry("file", mode, size, allocated=allocated, omitted=OVER_LIMIT.format(largest))
    began = stamp_clock_ns()
    try:
        with open_file(name, folder=folder) as (fd, opened):
            found = sha256_of(fd, size)
            changed = key_of(opened) != key_of(seen) or key_of(os.fstat(fd)) != key_of(seen)
    except OSError as error:
        return Entry("file", mode, size, omitted=reason_of(error))
    except WorkspaceError:
        changed = True
    if changed:
        return Entry("file", mode, size, omitted="changed while it was read")
    cache.keep(seen, found, began)
    return Entry("file", mode, size, found)
