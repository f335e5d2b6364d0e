"""What an agent changed, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from quintain.errors import StoreError
from quintain.model.tree import Change, ChangeSet, Entry, Tree
from quintain.reporting.text import clean, clean_lines
from quintain.workspace.blobs import BlobStore

LINES = 400
"""A longer diff of one file is cut, and says so."""


def diff_lines(baseline: Tree | None, changes: ChangeSet, blobs: BlobStore) -> Iterator[str]:
    """The changes of one trial, file by file."""
    for change in changes.changes:
        entry = change.after or change.before
        if entry is None or (entry.kind == "directory" and change.kind == "added"):
            continue
        yield f"{change.kind} {clean(change.path)}{_mode(change)}"
        yield from _content(change, blobs)
    if changes.unlisted:
        yield f"{changes.unlisted} more paths were not listed"


def _mode(change: Change) -> str:
    before, after = change.before, change.after
    if before is None or after is None or before.mode == after.mode:
        return ""
    return f" (mode {before.mode:o} -> {after.mode:o})"


def _content(change: Change, blobs: BlobStore) -> Iterator[str]:
    for entry in (change.before, change.after):
        if entry is not None and entry.kind == "file" and entry.digest is None:
            yield f"    its content was not kept: {entry.omitted} ({entry.size} bytes)"
            return
        if entry is not None and entry.kind in ("link", "special"):
            yield f"    a {entry.kind}{f' to {clean(entry.target)}' if entry.target else ''}"
            return
    before, after = _lines(change.before, blobs), _lines(change.after, blobs)
    if before is None or after is None:
        yield "    binary"
        return
    shown = 0
    for line in difflib.unified_diff(before, after, lineterm="", n=3):
        if line.startswith(("---", "+++")):
            continue
        if shown == LINES:
            yield "    ... the diff goes on"
            return
        shown += 1
        yield f"    {clean_lines(line)[0]}"


def _lines(entry: Entry | None, blobs: BlobStore) -> list[str] | None:
    if entry is None or entry.digest is None:
        return []
    try:
        text = blobs.read(entry.digest).decode()
    except (UnicodeDecodeError, StoreError):
        return None
    return None if "\0" in text else text.splitlines()
