"""Trees of files on disk for tests, and a child process that is an ordinary user."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

NOBODY = 65534
_SET_DUMPABLE = 4


def plant(root: Path, files: Mapping[str, str | bytes | None]) -> Path:
    """Make files under a directory; None makes a directory, `-> x` a link to x."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            place.mkdir(exist_ok=True)
        elif isinstance(content, str) and content.startswith("-> "):
            place.symlink_to(content[3:])
        else:
            place.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def deep(root: Path, levels: int, name: str = "d") -> None:
    """Make a chain of directories of any length, with a file at its end."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("end.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


@contextmanager
def ground() -> Iterator[Path]:
    """A directory that an ordinary user owns and can reach."""
    place = Path(tempfile.mkdtemp(prefix="q-ground-"))
    try:
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def as_ordinary_user(function: Callable[[], T]) -> T:
    """Call a function in a child process that permissions hold for, and hand back what it returns."""

    def ordinary() -> T:
        _drop_rights()
        return function()

    return in_child(ordinary)


def in_child(function: Callable[[], T]) -> T:
    """Call a function in a child process, and hand back what it returns; what it raises fails the test."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.close(read)
            try:
                answer = pickle.dumps((True, function()))
            except BaseException:  # noqa: BLE001  # it is handed to the parent, which fails the test
                answer = pickle.dumps((False, traceback.format_exc()))
            with os.fdopen(write, "wb") as file:
                file.write(answer)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    good, found = pickle.loads(data)
    assert good, found
    result: T = found
    return result


def _drop_rights() -> None:
    if os.geteuid() != 0:
        return
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    if sys.platform == "linux":
        # A process that gave up its rights may not look at itself in /proc, as one that was started without them may.
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)
