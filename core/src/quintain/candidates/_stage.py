"""What an apply keeps beside the files that it changes, so that it can be undone whenever it is cut off.

    <root>/.quintain/apply/new/<n>      contents to come
    <root>/.quintain/apply/old/<n>      what was there: the very files, by a second name
    <root>/.quintain/apply/journal      what is to be done; while it is there, what was done is undone
    <root>/.quintain/apply/done         the same after all was done; what is left is to be removed

`.quintain` is part of no subject. It lies in the root so that a rename from there never crosses file systems.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import field, frozen

from quintain.errors import UsageError, WorkspaceError
from quintain.identity.flags import CREATE, DIRECTORY
from quintain.identity.reading import open_file, sha256_of
from quintain.model.codec import from_plain, to_plain
from quintain.model.plain import Json
from quintain.workspace.copying import copy_content, write_all
from quintain.workspace.paths import shown

STORE, PLACE = ".quintain", "apply"
JOURNAL, DONE = "journal", "done"

Step = Callable[[str], None]
"""Told before each step that changes something on the disk; for tests."""


@frozen
class Write:
    """One component that is to change.

    Attributes:
        path: relative to the root.
        old: digest of what is there, or None if nothing is.
        new: digest of what is to be there, or None if nothing is.
        mode: permission bits of what is to be there.
    """

    path: str
    old: str | None
    new: str | None
    mode: int


@frozen
class Journal:
    """What is to be done.

    Attributes:
        candidate: that is applied.
        writes: in order.
        folders: directories that have to be made, each before those in it.
    """

    candidate: str
    writes: tuple[Write, ...]
    folders: tuple[str, ...] = ()
    format: int = field(default=1)


def pending(root: Path) -> bool:
    """Whether an apply was cut off here, so that files may be of two versions."""
    return (root / STORE / PLACE / JOURNAL).exists()


@contextmanager
def locked(root: Path) -> Iterator[int]:
    """The open root, locked against other applies until the context is left or this process ends.

    Raises:
        UsageError: another process is at it.
        WorkspaceError: it can't be opened.
    """
    store = root / STORE
    if store.is_symlink() or (store.exists() and not store.is_dir()):
        raise WorkspaceError(
            "it is no directory of its own; what an apply may have to put back is kept in it, on the subject's file system",
            where=shown(str(store)),
            hint="move it away while you apply",
        )
    try:
        top = os.open(root, DIRECTORY)
    except OSError as error:
        raise WorkspaceError(f"the subject can't be opened: {error.strerror}", where=str(root)) from error
    try:
        if sys.platform != "win32":
            import fcntl  # not on every system

            try:
                fcntl.flock(top, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError("another process applies a candidate here", where=str(root)) from error
        yield top
    finally:
        os.close(top)


def enter(top: int, path: str) -> int:
    """Open a directory below an open one, following no link on the whole way. Raises OSError."""
    fd = os.dup(top)
    try:
        for part in path.split("/") if path else ():
            inner = os.open(part, DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = inner
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextmanager
def entered(top: int, path: str) -> Iterator[int]:
    """`enter` for the length of a context."""
    fd = enter(top, path)
    try:
        yield fd
    finally:
        os.close(fd)


def split(path: str) -> tuple[str, str]:
    """The directory of a path, and its name in it."""
    above, _, name = path.rpartition("/")
    return above, name


def content_at(top: int, path: str) -> str | None:
    """Digest of the regular file at a path, or None if nothing is there; `other` for what is no such file."""
    above, name = split(path)
    try:
        with entered(top, above) as folder, open_file(name, folder=folder) as (fd, seen):
            return sha256_of(fd, seen.st_size)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return "other"
    except WorkspaceError:
        return "other"
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return "other"
        raise


def make_place(top: int) -> None:
    """Make the directories of an apply; what an earlier one left without a journal goes. Raises OSError."""
    clear_place(top)
    with suppress(FileExistsError):
        os.mkdir(STORE, 0o700, dir_fd=top)
    with entered(top, STORE) as store:
        os.mkdir(PLACE, 0o700, dir_fd=store)
        with entered(store, PLACE) as place:
            os.mkdir("new", 0o700, dir_fd=place)
            os.mkdir("old", 0o700, dir_fd=place)


def clear_place(top: int) -> None:
    """Remove the directories of an apply, and `.quintain` if it was there for nothing else. Raises OSError."""
    with suppress(FileNotFoundError):
        with entered(top, f"{STORE}/{PLACE}") as place:
            for part in ("new", "old"):
                with suppress(FileNotFoundError):
                    with entered(place, part) as folder:
                        for name in os.listdir(folder):
                            os.unlink(name, dir_fd=folder)
                    os.rmdir(part, dir_fd=place)
            for name in (DONE, f"{JOURNAL}.part"):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=place)
        with entered(top, STORE) as store:
            os.rmdir(PLACE, dir_fd=store)
    try:
        os.rmdir(STORE, dir_fd=top)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
            raise


def put_new(top: int, number: int, data: bytes, mode: int) -> None:
    """Lay a content beside, safely on the disk. Raises OSError."""
    with entered(top, f"{STORE}/{PLACE}/new") as folder:
        fd = os.open(str(number), CREATE, 0o600, dir_fd=folder)
        try:
            write_all(fd, data)
            os.fchmod(fd, mode)
            os.fsync(fd)
        finally:
            os.close(fd)


def keep_old(top: int, number: int, path: str) -> None:
    """Give a file a second name; a copy where that can't be done. Raises OSError."""
    above, name = split(path)
    with entered(top, above) as folder, entered(top, f"{STORE}/{PLACE}/old") as old:
        try:
            os.link(name, str(number), src_dir_fd=folder, dst_dir_fd=old, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS):
                raise
            with open_file(name, folder=folder) as (source, seen):
                fd = os.open(str(number), CREATE, 0o600, dir_fd=old)
                try:
                    copy_content(source, fd)
                    os.fchmod(fd, stat.S_IMODE(seen.st_mode))
                    os.fsync(fd)
                finally:
                    os.close(fd)


def write_journal(top: int, journal: Journal) -> None:
    """From now on what is done will be undone. Raises OSError."""
    data = json.dumps(to_plain(journal)).encode()
    with entered(top, f"{STORE}/{PLACE}") as place:
        for part in ("new", "old"):
            with entered(place, part) as folder:
                os.fsync(folder)
        fd = os.open(f"{JOURNAL}.part", CREATE, 0o600, dir_fd=place)
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(f"{JOURNAL}.part", JOURNAL, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)
    with entered(top, STORE) as store:
        os.fsync(store)
    os.fsync(top)


def end_journal(top: int) -> None:
    """From now on what was done stays. Raises OSError."""
    with entered(top, f"{STORE}/{PLACE}") as place:
        os.rename(JOURNAL, DONE, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)


def read_journal(top: int, root: Path) -> Journal | None:
    """The journal of an apply that was cut off, or None.

    Raises:
        WorkspaceError: it can't be understood.
    """
    try:
        with entered(top, f"{STORE}/{PLACE}") as place, open_file(JOURNAL, folder=place) as (fd, seen):
            data = os.read(fd, seen.st_size + 1)
    except FileNotFoundError:
        return None
    where = str(root / STORE / PLACE / JOURNAL)
    try:
        plain: Mapping[str, Json] = json.loads(data)
        return from_plain(plain, Journal)
    except Exception as error:
        raise WorkspaceError(
            f"the journal of an apply that was cut off can't be read: {error}",
            where=shown(where),
            hint="the files that it kept are in `old` beside it; put back what you need and remove the directory",
        ) from error
