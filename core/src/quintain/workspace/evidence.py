"""A tree of files to look at, out of the store: the workspace as the agent left it, or as it found it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from quintain.contracts.assertion import Content
from quintain.errors import StoreError, WorkspaceError
from quintain.model.tree import ChangeSet, Entry, Tree
from quintain.workspace.blobs import BlobStore

LINKS = 40
"""So many links in a row are followed, as the system does."""


class Files:
    """Implements `contracts.assertion.Files`.

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
        """What is at a path, or None."""
        return self.entries.get(clean(path))

    def read(self, path: str, *, limit: int | None = None) -> Content:
        """The bytes of a regular file."""
        place = self._follow(clean(path))
        entry = self.entries.get(place) if place is not None else None
        if place is None:
            return Content(None, f"{path} is a link that leads nowhere inside the workspace")
        if entry is None:
            return Content(None, f"there is no {path}", missing=True)
        if entry.kind != "file":
            return Content(None, f"{path} is a {entry.kind}, no file")
        if entry.digest is None:
            return Content(None, f"the content of {path} was not kept: {entry.omitted}")
        if limit is not None and entry.size > limit:
            return Content(None, f"{path} has {entry.size} bytes, more than {limit}")
        try:
            return Content(self._blobs.read(entry.digest))
        except StoreError as error:
            return Content(None, str(error))

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Paths of files and links that match."""
        matches = matcher(pattern)
        return tuple(
            path for path, entry in self.entries.items() if entry.kind in ("file", "link") and matches.fullmatch(path)
        )

    def _follow(self, path: str) -> str | None:
        """Where a path leads, links inside the tree followed part by part; None if it leads out or in circles."""
        done: list[str] = []
        ahead = path.split("/")
        for _ in range(LINKS + len(ahead)):
            if not ahead:
                return "/".join(done)
            part = ahead.pop(0)
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            if part in ("", "."):
                continue
            entry = self.entries.get("/".join((*done, part)))
            if entry is None or entry.kind != "link":
                done.append(part)
                continue
            target = entry.target or ""
            if target.startswith("/"):
                return None
            ahead = target.split("/") + ahead
        return None


def clean(path: str) -> str:
    """A path in its one spelling. Raises WorkspaceError for one that leaves the tree."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise WorkspaceError(f"{path!r} is no path inside the workspace", hint="paths are relative, without `..`")
    return "/".join(parts)


def matcher(pattern: str) -> re.Pattern[str]:
    """A regular expression for a glob pattern.

    `*` and `?` don't span directories, `**` does, `[...]` is one of several characters. As in a shell, a part that
    begins with a dot is matched only by one that is written with it.
    """
    parts = clean(pattern).split("/")
    out = []
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            out.append(r"(?:(?!\.)[^/]+/)*" + (r"(?!\.)[^/]+" if last else ""))
        else:
            hidden = "" if part.startswith(".") else r"(?!\.)"
            out.append(hidden + _part(part) + ("" if last else "/"))
    return re.compile("".join(out), re.DOTALL)


def _part(part: str) -> str:
    out, at = [], 0
    while at < len(part):
        char = part[at]
        end = part.find("]", at + 2) if char == "[" else -1
        if end != -1:
            inside = part[at + 1 : end].replace("\\", r"\\")
            out.append(f"[{'^' + inside[1:] if inside[0] == '!' else inside}]")
            at = end + 1
            continue
        out.append({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)))
        at += 1
    return "".join(out)
