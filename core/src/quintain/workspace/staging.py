"""Fixtures are read into the store once and laid out for each trial."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from quintain.errors import WorkspaceError
from quintain.identity.files import Found, Stamp, entry_of, stamp_of, walk
from quintain.model.tree import Entry, Tree
from quintain.workspace.blobs import CHUNK, BlobStore, write_all
from quintain.workspace.remove import remove_tree

FIXTURE_BYTES = 4 * 1024**3
"""A single fixture file may be so large."""


@frozen
class Staged:
    """A tree that was laid out, with the stamps that its files had then: what still has its stamp did not change."""

    tree: Tree
    stamps: Mapping[str, Stamp]


def capture_fixtures(root: Path, blobs: BlobStore, *, include_git: bool = False) -> Tree:
    """Read a directory into the store.

    Args:
        root: the directory.
        blobs: where contents are kept.
        include_git: also take `.git`; left out otherwise, because its history may hold the solution.

    Raises:
        WorkspaceError: there is something in it that can't be staged safely, or can't be read.
    """
    if not root.is_dir():
        raise WorkspaceError("there is no such directory", where=str(root))

    def skip(path: str) -> bool:
        return not include_git and path.rpartition("/")[2] == ".git"

    entries: dict[str, Entry] = {}
    try:
        for found in walk(root.resolve(), skip=skip):
            entries[found.path] = _capture(root, found, blobs)
    except OSError as error:
        raise WorkspaceError(f"can't be read: {error.strerror}", where=str(root)) from error
    return Tree(dict(sorted(entries.items())))


def _capture(root: Path, found: Found, blobs: BlobStore) -> Entry:
    where = str(root / found.path)
    entry = entry_of(found)
    if entry.kind == "special":
        kind = stat.filemode(found.info.st_mode)[0]
        names = {"p": "a FIFO", "s": "a socket", "c": "a device", "b": "a device"}
        raise WorkspaceError(f"{names.get(kind, 'a special file')} can't be a fixture", where=where)
    if found.problem is not None:
        raise WorkspaceError(found.problem, where=where, hint="make it readable, or take it out")
    if entry.kind == "link":
        _refuse_leaving(found.path, entry.target or "", where)
    if entry.kind == "file":
        if found.info.st_mode & 0o444 == 0:
            raise WorkspaceError("nobody may read it", where=where, hint="make it readable, or take it out")
        return entry_of(found, digest=_content(found, blobs, where))
    return entry


def _content(found: Found, blobs: BlobStore, where: str) -> str:
    try:
        file = found.open()
    except OSError as error:
        raise WorkspaceError(f"can't be read: {error.strerror}", where=where) from error
    try:
        digest = blobs.put_descriptor(file, limit=FIXTURE_BYTES)
    finally:
        os.close(file)
    if digest is None:
        raise WorkspaceError(f"it has more than {FIXTURE_BYTES} bytes", where=where)
    return digest


def _refuse_leaving(path: str, target: str, where: str) -> None:
    """A link is kept as it is if it stays inside; one that leaves could show the agent what it must not see."""
    if target.startswith("/") or leaves(path, target):
        raise WorkspaceError(f"the link points outside: {target}", where=where, hint="copy what it points to")


def leaves(path: str, target: str) -> bool:
    """A relative link at a path leads out of the tree, at least for a moment."""
    depth = path.count("/")
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


def overlay(tree: Tree, other: Tree) -> Tree:
    """A tree with another laid over it; what the other has in the place of a directory replaces all that was below."""
    entries = dict(tree.entries)
    for path, entry in other.entries.items():
        if entry.kind != "directory":
            entries = {name: kept for name, kept in entries.items() if not name.startswith(f"{path}/")}
        entries[path] = entry
    return Tree(dict(sorted(entries.items())))


def stage(tree: Tree, blobs: BlobStore, destination: Path) -> Staged:
    """Lay a tree out in a directory, which may hold other files; what is in the way of a path is replaced.

    The owner may always write: an agent is to work on it.

    Raises:
        StoreError: a content is not in the store.
        OSError: the disk does not take it.
    """
    folders: list[tuple[str, int]] = []
    for path, entry in tree.entries.items():
        place = destination / path
        if entry.kind == "directory":
            make_way(destination, path, directory=True)
            place.mkdir(exist_ok=True)
            folders.append((path, entry.mode | 0o700))
            continue
        make_way(destination, path, directory=False)
        if entry.kind == "link":
            place.symlink_to(entry.target or "")
        elif entry.kind == "file" and entry.digest is not None:
            _copy(blobs.open(entry.digest), place, entry.mode | 0o200)
    for path, mode in reversed(folders):
        (destination / path).chmod(mode)
    stamps = {found.path: stamp_of(found.info) for found in walk(destination) if found.path in tree.entries}
    return Staged(tree, stamps)


def make_way(destination: Path, path: str, *, directory: bool) -> None:
    """Make the directories above a path, and take away what is not of its kind; links are never followed."""
    current = destination
    parts = path.split("/")
    for part in parts[:-1]:
        current = current / part
        if current.is_symlink() or (current.exists() and not current.is_dir()):
            current.unlink()
        current.mkdir(exist_ok=True)
    place = current / parts[-1]
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        place.unlink()
    elif place.is_dir() and not directory:
        remove_tree(place)


def _copy(source: int, place: Path, mode: int) -> None:
    try:
        target = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if not _clone(source, target):
                _copy_bytes(source, target)
            os.fchmod(target, mode)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _clone(source: int, target: int) -> bool:
    """Share the blocks where the file system can; then a copy costs nothing."""
    try:
        import fcntl

        fcntl.ioctl(target, 0x40049409, source)  # FICLONE
    except (OSError, ImportError):
        return False
    return True


def _copy_bytes(source: int, target: int) -> None:
    while chunk := os.read(source, CHUNK):
        write_all(target, chunk)
