"""Files to look at, out of the store: the workspace as the agent left it, or as it found it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from quintain.contracts.assertion import Content
from quintain.errors import StoreError
from quintain.model.tree import ChangeSet, Entry, Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import LinkError, clean, follow, matcher, shown

__all__ = ["Files", "matcher"]


class Files:
    """Implements `contracts.assertion.Files`: a view that says the same while a trial is graded and years later.

    Links are followed inside the tree only, so nothing of the host can be reached through it.

    Args:
        baseline: the tree that was staged.
        changes: what happened to it.
        blobs: where contents are.
    """

    def __init__(self, baseline: Tree, changes: ChangeSet, blobs: BlobStore) -> None:
        self._baseline = baseline
        self._changes = changes
        self._blobs = blobs

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """All paths, in order."""
        if not self._changes.changes:
            return self._baseline.entries
        entries = dict(self._baseline.entries)
        for change in self._changes.changes:
            if change.after is None:
                entries.pop(change.path, None)
            else:
                entries[change.path] = change.after
        return dict(sorted(entries.items()))

    def entry(self, path: str) -> Entry | None:
        """What is at a path, or None; links on the way are followed, a link in the last place is told as one.

        Raises:
            WorkspaceError: the path is absolute, goes up or holds a NUL.
        """
        try:
            return self.entries.get(follow(self.entries, clean(path), last=False))
        except LinkError:
            return None

    def read(self, path: str, *, limit: int | None = None) -> Content:
        """The bytes of a regular file, or why they can't be had.

        Args:
            path: relative, with `/`; links are followed.
            limit: bytes from which a file is refused.

        Raises:
            WorkspaceError: the path is absolute, goes up or holds a NUL.
        """
        try:
            place = follow(self.entries, clean(path))
        except LinkError as error:
            return Content(None, error.message)
        entry = self.entries.get(place)
        if entry is None:
            return self._missing(path)
        if entry.kind != "file":
            kind = "special file, such as a FIFO" if entry.kind == "special" else entry.kind
            return Content(None, f"{shown(path)} is a {kind}")
        if entry.digest is None:
            return Content(None, f"the content of {shown(path)} was not kept: {entry.omitted}")
        if limit is not None and entry.size > limit:
            return Content(None, f"{shown(path)} has {entry.size} bytes, more than {limit}")
        try:
            return Content(self._blobs.read(entry.digest))
        except StoreError as error:
            return Content(None, str(error))

    def _missing(self, path: str) -> Content:
        unlisted = self._changes.unlisted
        if unlisted:
            # It may be among them: that is unknown, not missing.
            return Content(None, f"{shown(path)} is not among the files that were listed; {unlisted} more were not")
        return Content(None, f"there is no {shown(path)}", missing=True)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Paths of files and links that match, in order; see `workspace.paths.matcher` for the patterns.

        Raises:
            WorkspaceError: the pattern is no relative path.
        """
        fits = matcher(pattern).fullmatch
        return tuple(path for path, entry in self.entries.items() if entry.kind in ("file", "link") and fits(path))
