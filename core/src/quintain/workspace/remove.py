"""Taking a directory away, whatever an agent left in it."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)


def remove_tree(root: Path) -> Path | None:
    """Remove a directory and all that is in it; links are removed, never followed.

    Returns:
        None if it is gone; else the place where what could not be removed now lies, labelled as trash.
    """
    try:
        _empty(root)
        root.rmdir()
    except FileNotFoundError:
        return None
    except OSError:
        trash = Path(tempfile.gettempdir()) / f"quintain-trash-{secrets.token_hex(6)}"
        try:
            root.rename(trash)
        except OSError:
            return root
        return trash
    return None


def _empty(root: Path) -> None:
    folder = os.open(root, _DIRECTORY)
    try:
        _empty_descriptor(folder)
    finally:
        os.close(folder)


def _empty_descriptor(folder: int) -> None:
    for name in os.listdir(folder):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            continue
        try:
            below = os.open(name, _DIRECTORY, dir_fd=folder)
        except PermissionError:
            os.chmod(name, stat.S_IRWXU, dir_fd=folder)
            below = os.open(name, _DIRECTORY, dir_fd=folder)
        try:
            if not os.fstat(below).st_mode & stat.S_IWUSR:
                os.fchmod(below, stat.S_IRWXU)
            _empty_descriptor(below)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=folder)
