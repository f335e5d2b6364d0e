"""The one way in which a tree that somebody else made is walked.

Nothing is followed, nothing but directories is opened, and a directory is entered only if it is the one that was listed:
whoever puts a link in its place meanwhile leads nowhere. One directory is open at a time, so depth costs no file handles.
Other file systems that are mounted below are named and not entered.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from pathlib import Path

from attrs import frozen

from quintain.identity.flags import DIRECTORY, NO_FOLLOW, PLACE

ENTER = stat.S_IRUSR | stat.S_IXUSR
"""What it takes to look into a directory."""
_LONGEST_PATH = 3000
"""Bytes of a path that one call takes on every system; the usual bound is 4096."""


@frozen
class Folder:
    """One directory on the way.

    Attributes:
        path: relative to the root; empty for the root itself.
        seen: its own `fstat` before it was listed, or None if it could not be opened.
        fd: the open directory, for looking at what is in it; closed when the walk goes on. -1 if `problem` is set.
        entries: names and their `lstat`, ordered by the names' code points.
        folders: names of the directories among them; take out those that are not to be entered.
        problem: why it can't be looked into, or None.
    """

    path: str
    seen: os.stat_result | None
    fd: int
    entries: list[tuple[str, os.stat_result]]
    folders: list[str]
    problem: str | None = None

    def join(self, name: str) -> str:
        """The path of what is in it."""
        return f"{self.path}/{name}" if self.path else name


def walk(root: Path, *, force: bool = False) -> Generator[Folder, None, None]:
    """All directories of a tree, each before those inside it, in order.

    Args:
        root: a directory.
        force: give oneself the right to enter directories that deny it.

    Raises:
        OSError: the root can't be opened as a directory.
    """
    try:
        top = os.open(root, DIRECTORY)
    except PermissionError:
        if not force:
            raise
        grant(None, str(root), ENTER)
        top = os.open(root, DIRECTORY)
    try:
        own = os.fstat(top)
        device = own.st_dev
        waiting: list[tuple[str, os.stat_result]] = [("", own)]
        while waiting:
            path, seen = waiting.pop()
            try:
                fd, own = _enter(top, path, seen, device, force)
            except OSError as error:
                yield Folder(path, None, -1, [], [], reason_of(error))
                continue
            try:
                entries, folders, problem = _list(fd)
                yield Folder(path, own, fd if problem is None else -1, entries, folders, problem)
            finally:
                if path:
                    os.close(fd)
            if folders:
                found = dict(entries)
                prefix = f"{path}/" if path else ""
                waiting += [(prefix + name, found[name]) for name in reversed(folders)]
    finally:
        os.close(top)


def open_beneath(top: int, path: str, flags: int = DIRECTORY) -> int:
    """Open a path of any length below an open directory.

    Only the last part is safe from links, so compare what was opened with what was to be opened.
    """
    if len(path) * 4 <= _LONGEST_PATH:
        return os.open(path or ".", flags, dir_fd=top)
    fd = os.dup(top)
    try:
        *first, last = _pieces(path)
        for piece in first:
            inner = os.open(piece, PLACE, dir_fd=fd)
            os.close(fd)
            fd = inner
        return os.open(last, flags, dir_fd=fd)
    finally:
        os.close(fd)


def grant(top: int | None, path: str, bits: int, seen: os.stat_result | None = None) -> None:
    """Add permission bits to a file or directory of one's own; links are never followed.

    Raises:
        OSError: it can't be done, or there is something else than what was seen.
    """
    if not hasattr(os, "O_PATH"):
        now = os.stat(path or ".", dir_fd=top, follow_symlinks=False)
        _same(now, seen, path)
        if now.st_mode & bits != bits and not stat.S_ISLNK(now.st_mode):
            os.chmod(path or ".", stat.S_IMODE(now.st_mode) | bits, dir_fd=top, follow_symlinks=False)
        return
    flags = PLACE | NO_FOLLOW
    fd = os.open(path, flags) if top is None else open_beneath(top, path, flags)
    try:
        now = os.fstat(fd)
        _same(now, seen, path)
        if now.st_mode & bits != bits and not stat.S_ISLNK(now.st_mode):
            Path(f"/proc/self/fd/{fd}").chmod(stat.S_IMODE(now.st_mode) | bits)
    finally:
        os.close(fd)


def _same(now: os.stat_result, seen: os.stat_result | None, path: str) -> None:
    if seen is not None and (now.st_ino, now.st_dev) != (seen.st_ino, seen.st_dev):
        raise OSError(errno.ESTALE, "replaced while it was looked at", path)


def _enter(top: int, path: str, seen: os.stat_result, device: int, force: bool) -> tuple[int, os.stat_result]:
    if seen.st_dev != device:
        raise OSError(errno.EXDEV, "on another file system")
    if force and seen.st_mode & ENTER != ENTER:
        with contextlib.suppress(PermissionError):
            grant(top, path, ENTER, seen)
    if not path:
        return top, seen
    fd = open_beneath(top, path)
    own = os.fstat(fd)
    try:
        _same(own, seen, path)
    except OSError:
        os.close(fd)
        raise
    return fd, own


def reason_of(error: OSError) -> str:
    """Why something could not be looked at, without its path."""
    return f"unreadable: {error.strerror}"


def _list(fd: int) -> tuple[list[tuple[str, os.stat_result]], list[str], str | None]:
    entries: list[tuple[str, os.stat_result]] = []
    try:
        with os.scandir(fd) as found:
            for entry in found:
                try:
                    entries.append((entry.name, entry.stat(follow_symlinks=False)))
                except FileNotFoundError:
                    continue
    except OSError as error:
        return [], [], reason_of(error)
    entries.sort(key=_name)
    return entries, [name for name, seen in entries if stat.S_ISDIR(seen.st_mode)], None


def _name(entry: tuple[str, os.stat_result]) -> str:
    return entry[0]


def _pieces(path: str) -> list[str]:
    """A path cut between parts into paths that one call takes each."""
    pieces: list[str] = []
    now: list[str] = []
    size = 0
    for part in path.split("/"):
        taken = len(os.fsencode(part)) + 1
        if now and size + taken > _LONGEST_PATH:
            pieces.append("/".join(now))
            now, size = [], 0
        now.append(part)
        size += taken
    return [*pieces, "/".join(now)]
