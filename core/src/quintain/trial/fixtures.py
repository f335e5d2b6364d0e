"""The files of a case as stored trees: what an agent finds, and what is laid over the grading copy."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from attrs import frozen

from quintain.identity.canonical import canonical_json
from quintain.model.case import Case
from quintain.model.codec import from_plain, to_plain
from quintain.model.tree import Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.staging import capture_fixtures

T = TypeVar("T")

_CANARY = re.compile(rb"quintain-canary-[A-Za-z0-9]{8,64}")


@frozen
class Fixtures:
    """Trees of one case.

    Attributes:
        visible: laid out as the workspace, or None.
        visible_digest: digest of that tree as it is stored.
        hidden: laid over the grading copy, or None.
        hidden_digest: digest of that tree as it is stored.
        canaries: words in hidden files that nobody but their author can know; if they turn up in a trace, the agent
            has seen what it must not see.
    """

    visible: Tree | None = None
    visible_digest: str | None = None
    hidden: Tree | None = None
    hidden_digest: str | None = None
    canaries: tuple[str, ...] = ()

    @classmethod
    def capture(cls, case: Case, blobs: BlobStore) -> Fixtures:
        """Read a case's fixtures into the store. Raises WorkspaceError for what can't be staged safely."""
        visible = capture_fixtures(case.fixtures, blobs) if case.fixtures is not None else None
        hidden = capture_fixtures(case.hidden, blobs) if case.hidden is not None else None
        return cls._of(visible, hidden, blobs)

    @classmethod
    def stored(cls, visible: str | None, hidden: str | None, blobs: BlobStore) -> Fixtures:
        """The fixtures of an order, from the store."""
        return cls._of(
            load_record(visible, Tree, blobs) if visible else None,
            load_record(hidden, Tree, blobs) if hidden else None,
            blobs,
        )

    @classmethod
    def _of(cls, visible: Tree | None, hidden: Tree | None, blobs: BlobStore) -> Fixtures:
        return cls(
            visible,
            store_record(visible, blobs) if visible is not None else None,
            hidden,
            store_record(hidden, blobs) if hidden is not None else None,
            _canaries(hidden, blobs),
        )


def store_record(record: Any, blobs: BlobStore) -> str:
    """Keep a record among the file contents; returns its digest."""
    return blobs.put_bytes(canonical_json(to_plain(record)))


def load_record(digest: str, cls: type[T], blobs: BlobStore) -> T:
    """A record that was kept by `store_record`."""
    return from_plain(json.loads(blobs.read(digest)), cls)


def _canaries(tree: Tree | None, blobs: BlobStore) -> tuple[str, ...]:
    if tree is None:
        return ()
    found: set[bytes] = set()
    for entry in tree.entries.values():
        if entry.kind == "file" and entry.digest is not None:
            found.update(_CANARY.findall(blobs.read(entry.digest)))
    return tuple(sorted(word.decode() for word in found))
