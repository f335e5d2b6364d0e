"""Files as data: trees, their entries, and what changed between two of them.

A path is relative, with `/` between its parts, and may hold any byte that the file system allows: bytes that are not
UTF-8 are kept as surrogate escapes (as `os.fsdecode` makes them), so that it can be turned back losslessly; the codec
escapes them in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

EntryKind = Literal["file", "directory", "link", "special"]
ChangeKind = Literal["added", "modified", "deleted"]


@frozen
class Entry:
    """One path of a tree.

    Attributes:
        kind: "special" is a FIFO, socket or device; such an entry is listed and never opened.
        mode: permission bits, 0 to 0o7777.
        size: apparent size in bytes of a file; 0 for anything else.
        digest: `sha256:<hex>` of a file's bytes, or None if it was not read.
        target: what a link points to, as stored.
        allocated: bytes that the file really takes on disk, where that was looked at.
        omitted: why the content was not read or not kept (`over the limit`, `unreadable`, ...), or None.
        redacted: secrets were taken out of the content, so `digest` is of what is kept, not of what was there.
    """

    kind: EntryKind
    mode: int
    size: int = 0
    digest: str | None = None
    target: str | None = None
    allocated: int | None = None
    omitted: str | None = None
    redacted: bool = False


@frozen
class Tree:
    """A set of entries by path, in the order of the paths' code points."""

    entries: Mapping[str, Entry] = field(factory=dict)


@frozen
class Change:
    """One path that differs from the staged baseline; `before` is None for an addition, `after` for a deletion."""

    path: str
    kind: ChangeKind
    before: Entry | None = None
    after: Entry | None = None


@frozen
class ChangeSet:
    """All that an agent changed in its workspace.

    Attributes:
        changes: ordered by path.
        omitted_files: changed files whose content was not kept (each has `after.omitted` set).
        omitted_bytes: apparent bytes of those files.
        unlisted: added paths beyond the limit on the number of changes, which were counted but not listed.
    """

    changes: tuple[Change, ...] = ()
    omitted_files: int = 0
    omitted_bytes: int = 0
    unlisted: int = 0
