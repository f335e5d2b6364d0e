"""Whether anything has happened in directories since somebody last asked, told by the system instead of looked for.

A `stat` of each of 5,000 files takes 20 ms and more; reading one file descriptor takes microseconds. Linux queues an
event (inotify) for every write, truncation, creation, removal, renaming and change of mode in a watched directory before
the call that did it returns, so an empty queue says that none of them happened.

What it does not tell, and what those who use it must therefore look for now and then with a full pass:

- writes into memory that a file is mapped to, until the mapping is gone;
- changes made by other machines on a shared file system: such are not watched at all (`LOCAL`);
- renaming what lies above the root: look whether the root is still the same.

Each file is watched itself, too: whoever writes through another name of it (a hard link) disturbs no directory of ours,
and that another name is made somewhere is told to nobody.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
_ONLY_DIRECTORY, _DONT_FOLLOW = 0x01000000, 0x02000000

_CONTENT = _MODIFY | _ATTRIB | _CLOSE_WRITE
_FOLDER = _CONTENT | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF

LOCAL = frozenset({0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x858458F6, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E})
"""File systems that nobody but this system writes to: ext, xfs, btrfs, tmpfs, ramfs, f2fs, zfs, bcachefs."""

MOST_WATCHES = 20_000
"""Each takes about a kilobyte of the kernel's memory."""


class Notices:
    """Events in directories, queued by the system.

    Raises:
        OSError: the system has no such thing, or has no more of them to give.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "events of the file system are only read on Linux")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._called(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._watches: set[int] = set()
        self._close = weakref.finalize(self, os.close, self._fd)

    def close(self) -> None:
        """Watch nothing any more; harmless if repeated."""
        self._close()

    def watch(self, root: Path, *, ignore: Callable[[str], bool] | None = None) -> bool:
        """Watch a directory and all directories in it; again for those that are new.

        Whoever looks at the tree after this and finds `quiet` later has seen it as it is then.

        Args:
            root: the directory; it may be a link to one.
            ignore: tells of a path whether it is left out with all that is in it.

        Returns:
            False if not everything in it can be watched.
        """
        try:
            place = root.resolve(strict=True)
            if self._type_of(place) not in LOCAL:
                return False
            device = place.stat().st_dev
            for path, mask in _worth_watching(place, device, ignore):
                watch = self._libc.inotify_add_watch(self._fd, os.fsencode(path), mask | _DONT_FOLLOW)
                self._watches.add(self._called(watch))
                if len(self._watches) > MOST_WATCHES:
                    return False
        except OSError:
            return False
        return True

    def quiet(self) -> bool:
        """Whether nothing has happened in anything watched since this was asked last."""
        quiet = True
        while True:
            try:
                quiet = not os.read(self._fd, 64 * 1024)
            except BlockingIOError:
                return quiet

    def _called(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def _type_of(self, place: Path) -> int:
        """The magic number of the file system that a path lies on."""
        buffer = ctypes.create_string_buffer(512)
        self._called(self._libc.statfs(os.fsencode(place), buffer))
        number: int = struct.unpack_from("@l", buffer)[0]
        return number & 0xFFFFFFFF


def _worth_watching(root: Path, device: int, ignore: Callable[[str], bool] | None) -> Iterator[tuple[str, int]]:
    """Directories, each before it is listed, so that what is made in it meanwhile is told; and files."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        place = f"{root}/{folder}" if folder else str(root)
        yield place, _FOLDER | _ONLY_DIRECTORY
        with os.scandir(place) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if ignore is not None and ignore(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.stat(follow_symlinks=False).st_dev != device:
                        raise OSError(errno.EXDEV, "on another file system", entry.path)
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path, _CONTENT
