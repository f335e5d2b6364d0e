"""The subject as it stands: read once, kept by content, and looked at again before anything is written to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from quintain.candidates._paths import LARGEST_COMPONENT, Scope, text_problem
from quintain.candidates._stage import pending
from quintain.errors import StoreError, WorkspaceError
from quintain.identity.cache import DigestCache
from quintain.identity.files import differing, scan_tree, tree_digest
from quintain.identity.flags import DIRECTORY
from quintain.identity.reading import open_file
from quintain.identity.walk import open_beneath, reason_of
from quintain.model.campaign import Subject
from quintain.model.tree import Tree
from quintain.trial.fixtures import load_record, store_record
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import LinkError, follow, shown

NAMED = 10
"""So many paths are named in one error."""


@frozen
class Captured:
    """A subject at one instant.

    Attributes:
        tree: all of it but what is excluded; contents are in the store.
        components: digest of the content, by path, of the files that candidates may change.
        digest: of the tree.
        context: digest of everything that is no component.
        bytes: size of all components.
        context_bytes: size of all other files.
    """

    tree: Tree
    components: Mapping[str, str]
    digest: str
    context: str
    bytes: int
    context_bytes: int


def capture_subject(subject: Subject, blobs: BlobStore, cache: DigestCache) -> Captured:
    """Read a subject into the store.

    Args:
        subject: what is under test.
        blobs: where contents are kept.
        cache: digests that are known already.

    Raises:
        WorkspaceError: there is no component, a component is no text, a link leads out, something can't be read or
            kept as a file; or an apply was interrupted here and the files may be half of one version.
        StoreError: the contents can't be kept.
    """
    root = _root(subject)
    if pending(root):
        raise WorkspaceError(
            "an apply was interrupted here, so some files may be of one version and some of another",
            where=str(root),
            hint="`quintain apply` puts back what was there before it goes on",
        )
    scope = Scope.of(subject)
    tree = _scan(root, scope, cache)
    problems = list(_unfit(tree))
    if not problems:
        problems = list(_keep(root, tree, blobs))
    components = {
        path: entry.digest
        for path, entry in tree.entries.items()
        if entry.kind == "file" and entry.digest is not None and scope.may_change(path)
    }
    if not problems:
        problems = list(_no_texts(tree, components, blobs))
    if problems:
        raise _refusal(root, problems)
    if not components:
        raise WorkspaceError(
            f"no file fits `mutable` ({', '.join(subject.mutable) or 'which is empty'}), so candidates could not differ",
            where=str(root),
            hint="patterns are relative to this directory; `**` stands for any number of directories",
        )
    sizes = {path: entry.size for path, entry in tree.entries.items() if entry.kind == "file"}
    own = sum(sizes[path] for path in components)
    rest = Tree({path: entry for path, entry in tree.entries.items() if path not in components})
    return Captured(tree, components, tree_digest(tree), tree_digest(rest), own, sum(sizes.values()) - own)


def subject_unchanged(captured: Captured, subject: Subject, cache: DigestCache) -> tuple[str, ...]:
    """What differs in the source from what was captured, path by path; nothing if it is still the same.

    Raises:
        WorkspaceError: the source isn't there any more, or can't be read.
    """
    return differing(captured.tree, _scan(_root(subject), Scope.of(subject), cache))


def store_captured(captured: Captured, blobs: BlobStore) -> str:
    """Keep what was captured; returns its digest, for `captured_of`. Raises StoreError."""
    return store_record(captured, blobs)


def captured_of(stored: str, blobs: BlobStore) -> Captured:
    """What `store_captured` kept. Raises StoreError."""
    return load_record(stored, Captured, blobs)


def _root(subject: Subject) -> Path:
    if not subject.root.is_dir():
        raise WorkspaceError("there is no such directory to test", where=str(subject.root))
    return subject.root.resolve()


def _scan(root: Path, scope: Scope, cache: DigestCache) -> Tree:
    try:
        return scan_tree(root, cache=cache, ignore=scope.ignores)
    except OSError as error:
        raise WorkspaceError(f"it is {reason_of(error)}", where=str(root)) from error


def _unfit(tree: Tree) -> Iterator[tuple[str, str]]:
    for path, entry in tree.entries.items():
        if entry.kind == "special":
            yield path, "it is a FIFO, a socket or a device"
        elif entry.omitted is not None:
            yield path, f"it is {entry.omitted}" if entry.omitted.startswith("un") else entry.omitted
        elif entry.kind == "link":
            try:
                follow(tree.entries, path)
            except LinkError as error:
                if error.outside:
                    yield path, f"it is a link that leads out of the subject, to {shown(entry.target or '')}"


def _keep(root: Path, tree: Tree, blobs: BlobStore) -> Iterator[tuple[str, str]]:
    top = os.open(root, DIRECTORY)
    try:
        for path, entry in tree.entries.items():
            if entry.kind != "file" or entry.digest is None or blobs.has(entry.digest):
                continue
            above, _, name = path.rpartition("/")
            try:
                folder = open_beneath(top, above)
                try:
                    with open_file(name, folder=folder) as (fd, seen):
                        kept = blobs.put_open(fd, seen.st_size)
                finally:
                    os.close(folder)
            except StoreError:
                raise
            except OSError as error:
                yield path, f"it is {reason_of(error)}"
                continue
            except WorkspaceError as error:
                yield path, error.message
                continue
            if kept is None or kept[0] != entry.digest:
                yield path, "it changed while it was read"
    finally:
        os.close(top)


def _no_texts(tree: Tree, components: Mapping[str, str], blobs: BlobStore) -> Iterator[tuple[str, str]]:
    for path, digest in components.items():
        size = tree.entries[path].size
        if size > LARGEST_COMPONENT:
            yield path, f"has {size} bytes; a component has at most {LARGEST_COMPONENT}"
            continue
        problem = text_problem(blobs.read(digest))
        if problem is not None:
            yield path, f"it {problem}; a component is a text"


def _refusal(root: Path, problems: list[tuple[str, str]]) -> WorkspaceError:
    hint = "mend what is named, or leave it out by `exclude` or by a narrower `mutable`"
    if len(problems) == 1:
        ((path, why),) = problems
        return WorkspaceError(f"{why}; it can't be part of a subject", where=shown(str(root / path)), hint=hint)
    lines = [f"  {shown(path)}: {why}" for path, why in problems[:NAMED]]
    if len(problems) > NAMED:
        lines.append(f"  and {len(problems) - NAMED} more")
    message = "\n".join((f"{len(problems)} things in it can't be part of a subject", *lines))
    return WorkspaceError(message, where=shown(str(root)), hint=hint)
