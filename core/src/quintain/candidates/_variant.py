"""What a person wrote as a variant, made into a candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from quintain.candidates._capture import Captured
from quintain.candidates._git import components_at
from quintain.candidates._merge import collisions, components_digest
from quintain.candidates._paths import LARGEST_COMPONENT, Scope, component_path, text_problem
from quintain.errors import AuthoringError, QuintainError, WorkspaceError, raise_all
from quintain.identity.files import scan_tree
from quintain.identity.reading import open_file, read_all
from quintain.identity.walk import reason_of
from quintain.model.campaign import Candidate, Subject, Variant
from quintain.model.tree import Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import shown


def candidate_of(variant: Variant, captured: Captured, subject: Subject, blobs: BlobStore) -> Candidate:
    """Make a candidate of a variant; what the variant doesn't mention is as in what was captured.

    Git is run in this thread, for a few tens of milliseconds: call it in a worker thread of a program that does more.

    Args:
        variant: as it was written.
        captured: the subject that it changes.
        subject: says what may change.
        blobs: where contents are kept.

    Raises:
        AuthoringError: it changes, adds or deletes what it may not, holds what is no text, or changes nothing.
        AuthoringErrors: several such things.
        WorkspaceError: git, a directory or a file can't be read.
        StoreError: the contents can't be kept.
    """
    scope = Scope.of(subject)
    where = f"variant {variant.id}"
    components = dict(captured.components)
    errors: list[QuintainError] = []
    for source in _sources(variant, captured, subject, scope, where):
        for path, data in source.items():
            if data is None:
                components.pop(path, None)
                continue
            problem = text_problem(data)
            if problem is not None:
                errors.append(AuthoringError(f"{shown(path)} {problem}", where=where))
                continue
            components[path] = blobs.put_bytes(data)
    errors += [AuthoringError(problem, where=where) for problem in _forbidden(components, captured, subject, scope)]
    raise_all(errors)
    sizes = {path: captured.tree.entries[path].size for path in captured.components}
    size = sum(
        sizes[path] if captured.components.get(path) == content else blobs.path(content).stat().st_size
        for path, content in components.items()
    )
    return Candidate(
        id=variant.id,
        digest=components_digest(components),
        components=dict(sorted(components.items())),
        parents=variant.parents,
        rationale=variant.rationale,
        bytes=size,
    )


def _sources(
    variant: Variant, captured: Captured, subject: Subject, scope: Scope, where: str
) -> Iterator[Mapping[str, bytes | None]]:
    """New contents by path, source by source; None stands for a deletion."""
    if variant.revision is not None:
        yield components_at(variant.revision, subject, scope, captured, where)
    if variant.directory is not None:
        yield _of_directory(variant.directory, scope, where)
    yield _named({path: _of_file(file, where) for path, file in variant.files.items()}, where)
    yield _named({path: _encoded(path, text, where) for path, text in variant.text.items()}, where)
    deleted = _named(dict.fromkeys(variant.delete), where)
    for path in deleted:
        if path not in captured.components:
            raise AuthoringError(f"{shown(path)} is no component, so it can't be deleted", where=where)
    yield deleted


def _named(contents: Mapping[str, bytes | None], where: str) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for path, data in contents.items():
        try:
            one = component_path(path)
        except AuthoringError as error:
            raise AuthoringError(error.message, where=where, hint=error.hint) from error
        if one in found:
            raise AuthoringError(f"{shown(one)} is named twice", where=where)
        found[one] = data
    return found


def _encoded(path: str, text: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise AuthoringError(f"the text of {shown(path)} can't be written as UTF-8", where=where) from error


def _of_file(file: Path, where: str) -> bytes:
    try:
        with open_file(file, follow=True) as (fd, seen):
            data = read_all(fd, seen.st_size, LARGEST_COMPONENT)
    except OSError as error:
        raise WorkspaceError(f"the file {shown(str(file))} is {reason_of(error)}", where=where) from error
    except WorkspaceError as error:
        raise WorkspaceError(f"{shown(str(file))}: {error.message}", where=where) from error
    if data is None:
        raise WorkspaceError(f"the file {shown(str(file))} has more than {LARGEST_COMPONENT} bytes", where=where)
    return data


def _of_directory(directory: Path, scope: Scope, where: str) -> dict[str, bytes | None]:
    try:
        tree = scan_tree(directory, ignore=scope.ignores)
    except OSError as error:
        raise WorkspaceError(f"the directory {shown(str(directory))} is {reason_of(error)}", where=where) from error
    except WorkspaceError as error:
        raise WorkspaceError(f"{shown(str(directory))}: {error.message}", where=where) from error
    found: dict[str, bytes | None] = {}
    for path, entry in tree.entries.items():
        if entry.kind == "file":
            found[path] = _of_file(directory / path, where)
        elif entry.kind != "directory":
            raise AuthoringError(
                f"{shown(path)} in {shown(str(directory))} is a {entry.kind}; components are files", where=where
            )
    if not found:
        raise AuthoringError(f"there is no file in {shown(str(directory))}", where=where)
    return found


def _forbidden(components: Mapping[str, str], captured: Captured, subject: Subject, scope: Scope) -> Iterator[str]:
    added = sorted(components.keys() - captured.components.keys())
    for path in added:
        if not scope.may_change(path):
            why = "is excluded from the subject" if scope.excludes(path) else "doesn't fit `mutable`"
            yield f"{shown(path)} {why}, so a candidate can't have it"
        elif not subject.may_add:
            yield f"{shown(path)} is no component of the subject; `may_add = true` lets candidates add files"
    deleted = sorted(captured.components.keys() - components.keys())
    if not subject.may_delete:
        for path in deleted:
            yield f"{shown(path)} would be deleted; `may_delete = true` lets candidates delete files"
    if not components:
        yield "no component would be left"
    rest = {path: entry for path, entry in captured.tree.entries.items() if path not in captured.components}
    yield from collisions(added, Tree(rest), components)
