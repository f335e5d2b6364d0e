"""A tree that is looked at again and again, and ought to be what it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from quintain.identity.cache import DigestCache, FileKey, key_of, settled, stamp_clock_ns
from quintain.identity.files import differing, folders_of, scan_tree, tree_digest
from quintain.identity.flags import DIRECTORY
from quintain.model.tree import Tree

_Sealed: TypeAlias = list[tuple[str, FileKey, list[tuple[str, FileKey]]]]
"""Of each directory its path, its key, and the names in it that are no directories, with theirs."""


class TreeSeal:
    """Tells what changed in a tree since it was sealed; one `stat` a file if nothing did.

    Args:
        root: the directory.
        cache: digests that are known already.
        ignore: tells of a path whether it is left out with all that is in it.

    Raises:
        WorkspaceError: the root is no directory.
        OSError: it can't be opened.

    Attributes:
        root: the directory.
        ignore: as given.
        tree: what was in it when the seal was made.
        digest: of that.
    """

    def __init__(
        self, root: Path, cache: DigestCache | None = None, *, ignore: Callable[[str], bool] | None = None
    ) -> None:
        self.root = root
        self._cache = cache if cache is not None else DigestCache()
        self.ignore = ignore
        self.tree, self._keys = self._scan()
        self.digest = tree_digest(self.tree)

    def changed(self) -> tuple[str, ...]:
        """Paths that were added, deleted or are not what they were when the seal was made.

        Raises:
            WorkspaceError: there is no such directory any more.
            OSError: it can't be opened any more.
        """
        if self._keys is not None and _untouched(self._keys):
            return ()
        tree, keys = self._scan()
        found = differing(self.tree, tree)
        if not found:
            self._keys = keys
        return found

    def _scan(self) -> tuple[Tree, _Sealed | None]:
        keys = self._look(stamp_clock_ns())
        tree = scan_tree(self.root, cache=self._cache, ignore=self.ignore)
        # Only what was the same before and after the files were read stands for what was read.
        return tree, keys if keys is not None and _untouched(keys) else None

    def _look(self, clock_ns: int) -> _Sealed | None:
        """The keys of everything, or None if something is so fresh that a later change could go unnoticed."""
        found: _Sealed = []
        skipped = self.ignore or _nothing
        with closing(folders_of(self.root)) as folders:
            for folder in folders:
                if folder.seen is None or folder.problem is not None:
                    return None
                own = key_of(folder.seen)
                inside = set(folder.folders)
                folder.folders[:] = [name for name in folder.folders if not skipped(folder.join(name))]
                names = [
                    (name, key_of(seen))
                    for name, seen in folder.entries
                    if name not in inside and not skipped(folder.join(name))
                ]
                if not all(settled(key[4], clock_ns) for key in (own, *(key for _, key in names))):
                    return None
                found.append((f"{self.root}/{folder.path}", own, names))
        return found


def _nothing(path: str) -> bool:
    return False


def _untouched(sealed: _Sealed) -> bool:
    look, key = os.stat, key_of
    try:
        for path, own, names in sealed:
            fd = os.open(path, DIRECTORY)
            try:
                if key(os.fstat(fd)) != own:
                    return False
                for name, seen in names:
                    if key(look(name, dir_fd=fd, follow_symlinks=False)) != seen:
                        return False
            finally:
                os.close(fd)
    except OSError:
        return False
    return True
