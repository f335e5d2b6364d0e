"""Taking a directory away, whatever an agent left in it."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from quintain.identity.flags import DIRECTORY
from quintain.identity.walk import grant, open_beneath

TRASH = "q-trash-"
"""Begins the names of what could not be removed; `sweep_trash` tries again."""

_DEEP = 50
_TRASH_NAME = re.compile(rf"{TRASH}[0-9a-f]{{16}}")


def remove_tree(root: Path) -> Path | None:
    """Remove a directory and all that is in it, or a single file.

    Rights that its owner took away are given back; links are removed and never followed; what is mounted in it is not
    entered. Nothing outside of it is touched.

    Returns:
        None if it is gone; else the place where what could not be removed now lies, labelled as trash.
    """
    if _removed(root):
        return None
    trash = root.with_name(f"{TRASH}{secrets.token_hex(8)}")
    try:
        root.rename(trash)
    except OSError:
        return root
    return trash


def sweep_trash(folder: Path) -> tuple[Path, ...]:
    """Try again to remove what could not be removed from a directory, by this user; returns what is still there."""
    left = []
    with suppress(FileNotFoundError):
        for place in sorted(folder.iterdir()):
            if _TRASH_NAME.fullmatch(place.name) and _is_mine(place) and not _removed(place):
                left.append(place)
    return tuple(left)


def _is_mine(place: Path) -> bool:
    try:
        return place.lstat().st_uid == os.geteuid()
    except FileNotFoundError:
        return False


def _removed(root: Path) -> bool:
    try:
        if stat.S_ISDIR(root.lstat().st_mode):
            _empty(root)
            root.rmdir()
        else:
            root.unlink()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _empty(root: Path) -> None:
    """Remove all that can be removed. What remains makes removing the directory above it fail, and so is noticed."""
    try:
        top = os.open(root, DIRECTORY)
    except PermissionError:
        grant(None, str(root), stat.S_IRWXU)
        top = os.open(root, DIRECTORY)
    try:
        seen = {"": os.fstat(top)}
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            with suppress(OSError), _entered(top, folder, seen) as fd:
                for name, inside in _empty_one(fd):
                    path = f"{folder}/{name}" if folder else name
                    if path.count("/") >= _DEEP:
                        path = _lifted(top, fd, name) or path
                    seen[path] = inside
                    waiting.append(path)
        for folder in reversed(tuple(seen)[1:]):
            above, _, name = folder.rpartition("/")
            with suppress(OSError), _entered(top, above, seen) as fd:
                os.rmdir(name, dir_fd=fd)
    finally:
        os.close(top)


def _lifted(top: int, folder: int, name: str) -> str | None:
    """Move a deep directory up to the root, so that reaching what is in it does not take longer and longer."""
    place = f"q-{secrets.token_hex(8)}"
    try:
        os.rename(name, place, src_dir_fd=folder, dst_dir_fd=top)
    except OSError:
        return None
    return place


@contextmanager
def _entered(top: int, folder: str, seen: Mapping[str, os.stat_result]) -> Iterator[int]:
    """A directory, open and writable; only the one that was seen there, on the file system of the root."""
    try:
        fd = open_beneath(top, folder) if folder else os.dup(top)
    except PermissionError:
        grant(top, folder, stat.S_IRWXU, seen[folder])
        fd = open_beneath(top, folder)
    try:
        now = os.fstat(fd)
        if (now.st_dev, now.st_ino) != (seen[""].st_dev, seen[folder].st_ino):
            raise OSError(errno.EXDEV, "it is not the directory that was to be emptied", folder)
        if now.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(fd, stat.S_IMODE(now.st_mode) | stat.S_IRWXU)
        yield fd
    finally:
        os.close(fd)


def _empty_one(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """Remove the files in a directory; yields the directories in it."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield entry.name, entry.stat(follow_symlinks=False)
        else:
            with suppress(OSError):
                os.unlink(entry.name, dir_fd=folder)
