"""Fixtures are read into the store once, and laid out for each trial."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from attrs import frozen

from quintain.errors import StoreError, WorkspaceError
from quintain.identity.cache import FileKey, key_of, stamp_clock_ns
from quintain.identity.files import LARGEST_FILE, entry_of, folders_of
from quintain.identity.flags import CREATE, DIRECTORY
from quintain.identity.reading import open_regular
from quintain.identity.walk import Folder, open_beneath, reason_of
from quintain.model.tree import Entry, Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import LinkError, follow, parents, shown

FILE_MODE, PROGRAM_MODE, FOLDER_MODE = 0o644, 0o755, 0o755
"""Modes that fixtures are staged with, whatever the umask of the checkout that they come from."""

_NAMED = 10
"""So many problems are named in one error."""


@frozen
class Staged:
    """A tree that was laid out.

    Attributes:
        tree: what was laid out.
        keys: of each file, what its `lstat` said then; a file that still says so has not changed.
        clock_ns: `stamp_clock_ns` after that was complete.
    """

    tree: Tree
    keys: Mapping[str, FileKey]
    clock_ns: int


def capture_fixtures(root: Path, blobs: BlobStore, *, include_git: bool = False) -> Tree:
    """Read a directory into the store; what was read before and has not changed costs a `stat`.

    Links are kept as links if they stay inside. Of a file's mode only its execute bit is kept.

    Args:
        root: the directory.
        blobs: where contents are kept.
        include_git: take `.git` along; left out otherwise, because a history may hold the solution.

    Raises:
        WorkspaceError: something in it can't be staged safely or can't be read; it names what and why.
        StoreError: the contents can't be kept.
    """
    capture = _Capture(root, blobs, include_git)
    try:
        with closing(folders_of(root)) as folders:
            for folder in folders:
                capture.take(folder)
    except StoreError:
        raise
    except OSError as error:
        raise WorkspaceError(f"it is {reason_of(error)}", where=str(root)) from error
    return capture.tree()


class _Capture:
    def __init__(self, root: Path, blobs: BlobStore, include_git: bool) -> None:
        self._root = root
        self._blobs = blobs
        self._include_git = include_git
        self._entries: dict[str, Entry] = {}
        self._problems: list[tuple[str, str]] = []

    def take(self, folder: Folder) -> None:
        if folder.problem is not None:
            self._problems.append((folder.path, folder.problem))
            return
        for name, seen in folder.entries:
            if name == ".git" and not self._include_git:
                if name in folder.folders:
                    folder.folders.remove(name)
                continue
            path = folder.join(name)
            entry = entry_of(folder.fd, name, seen)
            if entry.kind == "file":
                self._file(folder.fd, name, path, seen)
            elif entry.kind == "directory":
                self._entries[path] = Entry("directory", FOLDER_MODE)
            elif entry.kind == "special":
                self._problems.append((path, f"it is {_kind(seen.st_mode)}"))
            elif entry.omitted is not None:
                self._problems.append((path, f"it is {entry.omitted}"))
            else:
                self._entries[path] = entry

    def _file(self, folder: int, name: str, path: str, seen: os.stat_result) -> None:
        mode = PROGRAM_MODE if seen.st_mode & stat.S_IXUSR else FILE_MODE
        known = self._blobs.cache.find(seen)
        if known is not None:
            self._entries[path] = Entry("file", mode, seen.st_size, known)
            return
        if not seen.st_mode & 0o444:
            # Root could read it, a colleague's run as somebody else could not.
            self._problems.append((path, "nobody may read it"))
        elif seen.st_size > LARGEST_FILE:
            self._problems.append((path, f"it has {seen.st_size} bytes, more than {LARGEST_FILE}"))
        else:
            self._read(folder, name, path, seen, mode)

    def _read(self, folder: int, name: str, path: str, seen: os.stat_result, mode: int) -> None:
        began = stamp_clock_ns()
        try:
            fd, opened = open_regular(name, folder=folder)
            try:
                kept = self._blobs.put_open(fd, opened.st_size, limit=LARGEST_FILE)
                unchanged = key_of(opened) == key_of(seen) == key_of(os.fstat(fd))
            finally:
                os.close(fd)
        except StoreError:
            raise
        except (OSError, WorkspaceError) as error:
            self._problems.append((path, f"it is {reason_of(error)}" if isinstance(error, OSError) else error.message))
            return
        if kept is None or not unchanged:
            self._problems.append((path, "it changed while it was read"))
            return
        digest, size = kept
        self._blobs.cache.keep(seen, digest, began)
        self._entries[path] = Entry("file", mode, size, digest)

    def tree(self) -> Tree:
        for path, entry in self._entries.items():
            if entry.kind == "link":
                try:
                    follow(self._entries, path)
                except LinkError as error:
                    if error.outside:
                        target = shown(entry.target or "")
                        self._problems.append((path, f"it is a link that leads out of the directory, to {target}"))
        if self._problems:
            raise self._refusal()
        return Tree(dict(sorted(self._entries.items())))

    def _refusal(self) -> WorkspaceError:
        hint = "fixtures are regular files, directories, and links between them; take out or mend what is named"
        if len(self._problems) == 1:
            ((path, why),) = self._problems
            return WorkspaceError(f"{why}; it can't be a fixture", where=shown(str(self._root / path)), hint=hint)
        lines = [f"  {shown(path)}: {why}" for path, why in sorted(self._problems)[:_NAMED]]
        if len(self._problems) > _NAMED:
            lines.append(f"  and {len(self._problems) - _NAMED} more")
        message = "\n".join((f"{len(self._problems)} things in it can't be fixtures", *lines))
        return WorkspaceError(message, where=shown(str(self._root)), hint=hint)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def overlay(tree: Tree, other: Tree) -> Tree:
    """A tree with another laid over it; what is in the way of the other is replaced, never followed."""
    entries = dict(tree.entries)
    for path, entry in other.entries.items():
        for above in parents(path):
            known = entries.get(above)
            if known is not None and known.kind != "directory":
                entries[above] = Entry("directory", FOLDER_MODE)
        if entry.kind != "directory" and path in entries and entries[path].kind == "directory":
            below = f"{path}/"
            entries = {name: kept for name, kept in entries.items() if not name.startswith(below)}
        entries[path] = entry
    return Tree(dict(sorted(entries.items())))


def stage(tree: Tree, blobs: BlobStore, destination: Path) -> Staged:
    """Lay a tree out in an empty directory; every content is verified on its way.

    The owner may read and write all of it whatever the modes say, because work is to be done on it. Special files, and
    files whose content was not kept, are left out.

    Args:
        tree: what to lay out.
        blobs: where contents are.
        destination: the directory; made if it isn't there.

    Raises:
        WorkspaceError: the destination isn't empty, or the tree has a path that leads out of it.
        StoreError: a content isn't in the store, or is damaged.
        OSError: the disk does not take it.
    """
    keys: dict[str, FileKey] = {}
    destination.mkdir(0o700, parents=True, exist_ok=True)
    top = os.open(destination, DIRECTORY)
    place = ""
    try:
        if os.listdir(top):
            raise WorkspaceError("files are laid out only in an empty directory", where=str(destination))
        for place, mode, inside in _by_folder(tree):
            folder = open_beneath(top, place)
            try:
                for name, path, entry in inside:
                    if entry.kind == "file":
                        keys[path] = _lay(folder, name, entry, blobs)
                    elif entry.kind == "directory":
                        os.mkdir(name, 0o700, dir_fd=folder)
                    else:
                        os.symlink(entry.target or "", name, dir_fd=folder)
                if place and mode != 0o700:
                    os.fchmod(folder, mode)
            finally:
                os.close(folder)
    except StoreError:
        raise
    except OSError as error:
        error.filename = shown(str(destination / place))
        raise
    finally:
        os.close(top)
    return Staged(tree, keys, stamp_clock_ns())


def is_laid(entry: Entry) -> bool:
    """Whether staging lays an entry out: not what is special, and not a file whose content is unknown."""
    return entry.kind in ("directory", "link") or (entry.kind == "file" and entry.digest is not None)


def mode_of(entry: Entry) -> int:
    """The mode that staging gives to an entry: its own, and all rights to the owner, but none to run as another."""
    return entry.mode & 0o777 | (stat.S_IRWXU if entry.kind == "directory" else stat.S_IRUSR | stat.S_IWUSR)


def _by_folder(tree: Tree) -> Iterator[tuple[str, int, list[tuple[str, str, Entry]]]]:
    """Directories, each before those in it, with their modes and with what is to be made in them."""
    found: dict[str, list[tuple[str, str, Entry]]] = {"": []}
    modes: dict[str, int] = {}

    def inside(folder: str) -> list[tuple[str, str, Entry]]:
        known = found.get(folder)
        if known is None:
            above, name = _split(folder)
            inside(above).append((name, folder, Entry("directory", FOLDER_MODE)))
            known = found[folder] = []
        return known

    for path, entry in tree.entries.items():
        if entry.kind == "directory":
            inside(path)
            modes[path] = mode_of(entry)
        elif is_laid(entry):
            above, name = _split(path)
            inside(above).append((name, path, entry))
    for folder, contents in found.items():
        yield folder, modes.get(folder, FOLDER_MODE), contents


def _split(path: str) -> tuple[str, str]:
    above, _, name = path.rpartition("/")
    if name in ("", ".", "..") or "\0" in name or path.startswith("/"):
        raise WorkspaceError(f"{shown(path)} is no path inside a directory")
    return above, name


def _lay(folder: int, name: str, entry: Entry, blobs: BlobStore) -> FileKey:
    assert entry.digest is not None
    mode = mode_of(entry)
    fd = os.open(name, CREATE, mode, dir_fd=folder)
    try:
        blobs.lay(entry.digest, fd, entry.size)
        seen = os.fstat(fd)
        if stat.S_IMODE(seen.st_mode) != mode:
            os.fchmod(fd, mode)
            seen = os.fstat(fd)
        return key_of(seen)
    finally:
        os.close(fd)
