"""The copy that is graded, and what an agent did to the files that have a say in grading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from attrs import frozen

from quintain.model.tree import Change, ChangeKind, ChangeSet, Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.collect import BULK
from quintain.workspace.evidence import Files
from quintain.workspace.paths import matcher
from quintain.workspace.staging import overlay, stage

STEERING = (
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    ".coveragerc",
    "jest.config.*",
    "vitest.config.*",
    "karma.conf.*",
    ".mocharc*",
    ".rspec",
    "phpunit.xml*",
)
"""Files that do little else than deciding which tests run and how; a new one is told too."""

PROJECT = (
    "pyproject.toml",
    "setup.py",
    "package.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Cargo.toml",
    "build.gradle*",
    "pom.xml",
)
"""Files that can do so among other things; told if the agent found them there, because making one is ordinary work."""


@frozen
class Tamper:
    """A change to a file that has a say in grading. It may be rightful, so it is told beside the score and no more."""

    path: str
    kind: ChangeKind
    why: str


def grading_copy(files: Files, blobs: BlobStore, hidden: Tree | None, destination: Path) -> Path:
    """Lay out the workspace as the agent left it, with the hidden fixtures over it.

    The two are joined before anything is written, so a link that the agent put in the way of a hidden file is replaced
    and can't lead it elsewhere. Special files, and files whose content was not kept, are left out.

    Args:
        files: the workspace.
        blobs: where contents are.
        hidden: laid over it.
        destination: a directory that is empty or isn't there.

    Raises:
        WorkspaceError, StoreError, OSError: as of `stage`.
    """
    left = Tree(files.entries)
    stage(left if hidden is None else overlay(left, hidden), blobs, destination)
    return destination


def tampering(baseline: Tree, changes: ChangeSet, hidden: Tree | None, protected: Sequence[str]) -> tuple[Tamper, ...]:
    """What the agent did to files that grade it, in order of their paths.

    Args:
        baseline: the workspace as the agent found it.
        changes: what it did.
        hidden: fixtures that are laid over the grading copy.
        protected: patterns of files that an agent must not change; wildcards match leading dots too.
    """
    if not changes.changes:
        return ()
    return tuple(_tampering(baseline, changes, hidden, protected))


def _tampering(baseline: Tree, changes: ChangeSet, hidden: Tree | None, protected: Sequence[str]) -> Iterator[Tamper]:
    patterns = [(pattern, matcher(pattern, dots=True)) for pattern in protected]
    covered = hidden.entries if hidden is not None else {}
    for change in changes.changes:
        if _is_folder(change):
            continue
        pattern = next((pattern for pattern, fits in patterns if fits.fullmatch(change.path)), None)
        cover = covered.get(change.path)
        if pattern is not None:
            yield Tamper(change.path, change.kind, f"it is protected by `{pattern}`")
        elif cover is not None and (cover.kind != "directory" or change.kind != "deleted"):
            yield Tamper(change.path, change.kind, "hidden fixtures take its place")
        elif _steers(change, change.path in baseline.entries):
            yield Tamper(change.path, change.kind, "it can decide which tests run and how")


def _is_folder(change: Change) -> bool:
    return all(entry is None or entry.kind == "directory" for entry in (change.before, change.after))


def _steers(change: Change, was_there: bool) -> bool:
    *folders, name = change.path.split("/")
    names = (*STEERING, *PROJECT) if was_there else STEERING
    if not was_there and not BULK.isdisjoint(folders):
        # What a package manager unpacks is full of such files.
        return False
    return any(fnmatchcase(name, pattern) for pattern in names)
