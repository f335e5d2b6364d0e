"""Finding and reading the cases of a project.

A case file is called `something.case.toml` or `something.case.py`; nothing else is looked at. Files and folders whose
names begin with `.` or `_` are passed over, and so is whatever lies in a folder that a case lays out as fixtures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from quintain.authoring._case_file import CaseFile, Found, read_cases
from quintain.authoring._document import Document, is_folder, read_toml, shown
from quintain.authoring._folders import FOLDERS
from quintain.authoring._profiles import surroundings
from quintain.authoring._python_file import python_cases
from quintain.authoring.sources import Sources
from quintain.errors import AuthoringError, QuintainError, UsageError, flatten, raise_all
from quintain.model.case import Case
from quintain.model.project import Project

TOML, PYTHON = ".case.toml", ".case.py"


@frozen
class Discovered:
    """Cases, ordered by id, and where each was read."""

    cases: tuple[Case, ...] = ()
    sources: Sources = field(factory=Sources)


@frozen
class _Read:
    """What one file gave.

    Attributes:
        laid_out: folders that its cases name, those of wrong cases too.
    """

    path: Path
    found: list[Found]
    errors: list[AuthoringError]
    laid_out: set[Path]


def discover(paths: Sequence[Path | str], project: Project) -> Discovered:
    """Find and read cases.

    Args:
        paths: case files and folders; the project's case folders if there is none, or for the project's own folder.
        project: the project; an id is the path from the case folder that the file lies in.

    Returns:
        The cases; none if nothing was found.

    Raises:
        UsageError: a path doesn't exist or can't hold cases.
        AuthoringError: a file says something it can't say, with file, line and key.
        AuthoringErrors: several such things, in all files.
    """
    files = _files(paths, project)
    named = {Path(path).resolve() for path in paths}
    read: list[_Read] = []
    # Python files come last: they are run only when it is known that they are no fixtures.
    for suffix in (TOML, PYTHON):
        laid_out = _laid_out(read)
        for file, base in files.items():
            if file.name.endswith(suffix) and (file in named or _apart(file, laid_out)):
                read.append(_read(file, base, project))
                _note(laid_out, read[-1])
        read = [one for one in read if one.path in named or _apart(one.path, laid_out)]
    read.sort(key=lambda one: one.path)
    errors: list[QuintainError] = [error for one in read for error in one.errors]
    found: dict[str, Found] = {}
    for case in (case for one in read for case in one.found):
        other = found.setdefault(case.case.id, case)
        if other is not case:
            errors.append(
                AuthoringError(f"the case id `{case.case.id}` is used in {other.place} too", where=case.place)
            )
    raise_all(errors)
    ordered = [found[id] for id in sorted(found)]
    return Discovered(tuple(one.case for one in ordered), Sources({one.case.id: one.origin for one in ordered}))


def _laid_out(read: Iterable[_Read]) -> dict[Path, set[Path]]:
    """The folders that cases lay out, each with the files of those cases."""
    found: dict[Path, set[Path]] = {}
    for one in read:
        _note(found, one)
    return found


def _note(laid_out: dict[Path, set[Path]], one: _Read) -> None:
    for folder in one.laid_out:
        laid_out.setdefault(folder, set()).add(one.path)


def _apart(path: Path, laid_out: Mapping[Path, set[Path]]) -> bool:
    """Whether a file lies in no folder that the cases of another file lay out."""
    return not any(laid_out.get(folder, set()) - {path} for folder in path.parents)


def _read(path: Path, base: Path, project: Project) -> _Read:
    name = _name(path, base)
    source = (path.relative_to(project.root) if path.is_relative_to(project.root) else path).as_posix()
    errors: list[AuthoringError] = []
    found: list[Found] = []
    stated: set[Path] = set()
    if path.name.endswith(PYTHON):
        found = python_cases(path, name, source, errors)
    else:
        try:
            document = read_toml(path)
        except QuintainError as error:
            errors.extend(one for one in flatten([error]) if isinstance(one, AuthoringError))
        else:
            found = read_cases(CaseFile(document, name, source, surroundings(project.root), errors))
            stated = set(_stated_folders(document))
    folders = (getattr(one.case, key) for one in found for key in FOLDERS)
    named = (folder for folder in folders if folder is not None)
    return _Read(path, found, errors, stated.union(named))


def _stated_folders(document: Document) -> Iterator[Path]:
    tables = document.data.get("case", [])
    for table in (document.data, *(tables if isinstance(tables, list) else ())):
        for key in FOLDERS:
            stated = table.get(key) if isinstance(table, dict) else None
            if isinstance(stated, str) and is_folder(folder := document.path.parent / stated):
                yield folder.resolve()


def _name(path: Path, base: Path) -> str:
    relative = path.relative_to(base)
    for suffix in (TOML, PYTHON):
        if relative.name.endswith(suffix):
            relative = relative.with_name(relative.name.removesuffix(suffix))
    return relative.as_posix()


def _files(paths: Sequence[Path | str], project: Project) -> dict[Path, Path]:
    """All case files, each with the folder that its id starts from; folders that hold others come first."""
    found: dict[Path, Path] = {}
    places = [Path(path).resolve() for path in paths]
    if not places or project.root in places:
        places = [*(root for root in project.case_roots if root.is_dir()), *places]
    for given in places:
        if given == project.root and given not in project.case_roots:
            continue
        if given.is_dir():
            for file in _walk(given, project.store):
                found.setdefault(file, _base(file, given, project))
        elif not given.exists():
            raise UsageError(f"there is no file or folder {shown(given)}")
        elif given.name.endswith((TOML, PYTHON)):
            found.setdefault(given, _base(given, given.parent, project))
        else:
            raise UsageError(f"{shown(given)} is no case file", hint=f"case files end in {TOML} or {PYTHON}")
    return dict(sorted(found.items(), key=lambda item: (len(item[0].parts), item[0])))


def _base(file: Path, given: Path, project: Project) -> Path:
    for root in (*project.case_roots, project.root):
        if file.is_relative_to(root):
            return root
    return given


def _walk(folder: Path, store: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(name for name in folders if name[0] not in "._" and here / name != store)
        for name in sorted(names):
            if name[0] not in "._" and name.endswith((TOML, PYTHON)):
                yield here / name
