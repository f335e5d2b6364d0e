"""Components laid over the rest of a subject, and a subject laid into the files of a case."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve

from quintain.candidates._capture import Captured
from quintain.errors import AuthoringError, WorkspaceError
from quintain.identity.canonical import digest
from quintain.model.campaign import BASELINE, Candidate
from quintain.model.tree import Entry, Tree
from quintain.trial.fixtures import Fixtures, store_record
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import clean, parents, shown
from quintain.workspace.staging import FILE_MODE, FOLDER_MODE


def components_digest(components: Mapping[str, str]) -> str:
    """The digest that makes two candidates one: of the paths of their components and of what is in them."""
    return digest(dict(components))


def baseline(captured: Captured) -> Candidate:
    """The candidate that is the source as it stands."""
    return Candidate(
        BASELINE,
        components_digest(captured.components),
        dict(captured.components),
        rationale="the source as it stands",
        bytes=captured.bytes,
    )


def materialise(candidate: Candidate, captured: Captured, blobs: BlobStore) -> Tree:
    """The whole subject with the components of a candidate, ready to be staged; files keep their modes.

    Args:
        candidate: the version.
        captured: the subject that it is a version of.
        blobs: where the contents are, to know their sizes.

    Raises:
        StoreError: a content isn't in the store.
    """
    entries = {path: entry for path, entry in captured.tree.entries.items() if path not in captured.components}
    for path, content in candidate.components.items():
        known = captured.tree.entries.get(path)
        if known is not None and known.digest == content:
            entries[path] = known
            continue
        for above in parents(path):
            entries.setdefault(above, Entry("directory", FOLDER_MODE))
        mode = known.mode if known is not None else FILE_MODE
        entries[path] = Entry("file", mode, len(blobs.read(content)), content)
    return Tree(dict(sorted(entries.items())))


def refuse_duplicates(candidates: Iterable[Candidate]) -> None:
    """Refuse two candidates with the same components; for anything but a comparison of the baseline with itself.

    Raises:
        AuthoringError: names both.
    """
    seen: dict[str, str] = {}
    for candidate in candidates:
        other = seen.setdefault(candidate.digest, candidate.id)
        if other != candidate.id:
            raise AuthoringError(
                f"the candidates `{other}` and `{candidate.id}` are the same: no component differs",
                hint="take one out; --aa compares the baseline with itself",
            )


def collisions(added: Iterable[str], tree: Tree, components: Iterable[str]) -> Iterator[str]:
    """What is wrong with the places of components that the subject doesn't have.

    Args:
        added: their paths.
        tree: the subject.
        components: paths of all components of the candidate.
    """
    added = sorted(added)
    context = tree.entries
    files = set(components)
    folded: dict[str, set[str]] = {}
    for path in (*context, *files):
        for one in (path, *parents(path)):
            folded.setdefault(_folded(one), set()).add(one)
    for path in added:
        known = context.get(path)
        if known is not None and known.kind != "file":
            yield f"{shown(path)} is a {known.kind} in the subject"
        for above in parents(path):
            if above in files or (above in context and context[above].kind != "directory"):
                yield f"{shown(path)} lies below {shown(above)}, which is no directory"
        for one in (path, *parents(path)):
            others = folded[_folded(one)] - {one}
            if others:
                yield f"{shown(path)} and {shown(min(others))} are one file where capitals don't count"
                break


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def staged_fixtures(fixtures: Fixtures, tree: Tree, into: str, blobs: BlobStore) -> Fixtures:
    """The files of a case with a subject laid into them.

    Args:
        fixtures: of the case.
        tree: the subject, from `materialise`.
        into: directory within the workspace, `.` for the workspace itself.
        blobs: where the merged tree is kept.

    Raises:
        WorkspaceError: a path is in both, or one is in the way of the other; it is named for both.
        StoreError: the tree can't be kept.
    """
    place = clean(into)
    entries = dict(fixtures.visible.entries) if fixtures.visible is not None else {}
    for path in tuple(entries):
        for above in parents(path):
            entries.setdefault(above, Entry("directory", FOLDER_MODE))
    own = set(entries)
    laid = {f"{place}/{path}" if place else path: entry for path, entry in tree.entries.items()}
    if place:
        laid.setdefault(place, Entry("directory", FOLDER_MODE))
    for path, entry in sorted(laid.items()):
        for one in (path, *parents(path)):
            known = entries.get(one)
            wants_folder = one != path or entry.kind == "directory"
            if known is not None and one in own and not (wants_folder and known.kind == "directory"):
                inner = one.removeprefix(f"{place}/") if place else one
                raise WorkspaceError(
                    f"{shown(one)} is in the fixtures of the case, and {shown(inner)} of the subject would lie there",
                    hint="rename one of them, or set `into` in [subject] to a directory that no case has",
                )
        for above in parents(path):
            entries.setdefault(above, Entry("directory", FOLDER_MODE))
        if path not in own:
            entries[path] = entry
    merged = Tree(dict(sorted(entries.items())))
    return evolve(fixtures, visible=merged, visible_digest=store_record(merged, blobs))
