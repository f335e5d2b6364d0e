"""The project file: where the cases are and how they are run.

`open_project(start)` is what a command calls: it looks for `quintain.toml` in a folder and those above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from quintain.authoring._document import Document, is_folder, read_toml, shown
from quintain.authoring._lines import Key
from quintain.authoring._profiles import Inheritance, ProfileTable, make_profiles
from quintain.authoring._structure import nearest, structure
from quintain.errors import AuthoringError, UsageError, raise_all
from quintain.model.bounds import at_least
from quintain.model.plain import Plug, quoted
from quintain.model.project import Profile, Project
from quintain.plugins import KINDS

PROJECT_FILE = "quintain.toml"

_CHOICE = re.compile(r"([^:]+):(.+)")


@frozen
class ProjectTable:
    """`[project]`."""

    name: str | None = None
    cases: tuple[str, ...] = ("cases",)
    store: str = ".quintain"
    plugins: Mapping[str, str] = field(factory=dict)


@frozen
class DefaultsTable:
    """`[defaults]`."""

    profile: str | None = None
    repeat: int = field(default=1, validator=at_least(1))
    concurrency: int = field(default=4, validator=at_least(1))


@frozen
class ProjectFile:
    """The whole file."""

    project: ProjectTable = field(factory=ProjectTable)
    defaults: DefaultsTable = field(factory=DefaultsTable)
    profiles: Mapping[str, ProfileTable] = field(factory=dict)
    sinks: tuple[Plug, ...] = ()


@frozen
class ProjectSources:
    """Where a project says what it says.

    Attributes:
        file: the project file, or None if there is none.
    """

    file: Path | None = None
    _document: Document | None = None
    _inheritance: Inheritance | None = None

    def where(self, key: Key = ()) -> str:
        """File, line and key, for people; for what a profile inherits, the place that it inherits it from.

        Args:
            key: as in the file: `("profiles", "fast", "driver", "config", "mode")`.
        """
        if self._document is None:
            return ".".join(str(part) for part in key)
        return self._document.where(self._inheritance.origin(key) if self._inheritance else key)


@frozen
class Opened:
    """A project and where it says what it says."""

    project: Project
    sources: ProjectSources


def find_project(start: Path | str) -> Path | None:
    """The project file in a folder or in the nearest one above it, or None.

    Args:
        start: a folder, or a file in it.
    """
    return next((file for folder in _upward(start) if (file := folder / PROJECT_FILE).is_file()), None)


def open_project(start: Path | str, *, required: bool = False) -> Opened:
    """The project that a folder belongs to; one with defaults if it has no file.

    Args:
        start: a folder, or a file in it.
        required: refuse a project without a file.

    Raises:
        AuthoringError: the file says something it can't say, or there is none and it is required.
        AuthoringErrors: several such things.
        UsageError: there is no such folder.
    """
    file = find_project(start)
    if file is not None:
        return load_project(file)
    folders = list(_upward(start))
    if required:
        raise AuthoringError(
            f"there is no {PROJECT_FILE} in {shown(folders[0])} or in a folder above it",
            hint=f"looked in {', '.join(map(str, folders))}; `quintain init` makes a project",
        )
    root = folders[0]
    cases = root / "cases"
    roots = (cases if cases.is_dir() else root,)
    return Opened(Project(root, root.name, roots, root / ".quintain"), ProjectSources())


def load_project(file: Path | str) -> Opened:
    """Read a project file.

    Raises:
        AuthoringError: it says something it can't say, with file, line and key.
        AuthoringErrors: several such things.
    """
    path = Path(file)
    path = path.parent.resolve() / path.name
    document = read_toml(path)
    errors: list[AuthoringError] = []
    content = structure(document.data, ProjectFile, document.where, errors)
    if content is None:
        raise_all(errors)
    assert content is not None
    root = path.parent
    inheritance = Inheritance(document)
    profiles = make_profiles(content.profiles, inheritance, root, errors)
    roots = _case_roots(root, content.project.cases, document, errors)
    store = _store(root, content.project.store, roots, document, errors)
    errors.extend(_wrong_choices(content.project.plugins, document))
    default = _default_profile(content.defaults.profile, profiles, document, errors)
    raise_all(errors)
    project = Project(
        root=root,
        name=content.project.name or root.name,
        case_roots=roots,
        store=store,
        profiles=profiles,
        default_profile=default,
        repeat=content.defaults.repeat,
        concurrency=content.defaults.concurrency,
        sinks=content.sinks,
        choices=content.project.plugins,
    )
    return Opened(project, ProjectSources(path, document, inheritance))


def _upward(start: Path | str) -> Iterator[Path]:
    path = Path(start).resolve()
    if not path.exists():
        raise UsageError(f"there is no file or folder {shown(path)}")
    folder = path if path.is_dir() else path.parent
    yield folder
    yield from folder.parents


def _case_roots(
    root: Path, stated: Sequence[str], document: Document, errors: list[AuthoringError]
) -> tuple[Path, ...]:
    roots = []
    for number, text in enumerate(stated):
        key: Key = ("project", "cases", number)
        # Without cases yet, a project is still a project: only what the file names must be there.
        if is_folder(root / text) or not document.has(key):
            roots.append((root / text).resolve())
        else:
            errors.append(AuthoringError(f"`{text}` is no folder here", where=document.where(key)))
    return tuple(roots)


def _store(
    root: Path, stated: str, case_roots: Sequence[Path], document: Document, errors: list[AuthoringError]
) -> Path:
    where = document.where(("project", "store"))
    try:
        store = (root / stated).resolve()
    except (OSError, ValueError) as error:
        errors.append(AuthoringError(f"{quoted(stated)} can't be a folder: {error}", where=where))
        return root
    if any(folder.is_relative_to(store) for folder in (root, *case_roots)):
        hint = "keep runs in a folder of their own"
        errors.append(AuthoringError(f"`{stated}` holds the project or its cases", where=where, hint=hint))
    return store


def _wrong_choices(choices: Mapping[str, str], document: Document) -> Iterator[AuthoringError]:
    for name in choices:
        found = _CHOICE.fullmatch(name)
        if found is None or found[1] not in KINDS:
            hint = nearest(found[1], KINDS) if found else f"the kinds are {', '.join(KINDS)}"
            yield AuthoringError(
                f"`{name}` is no kind and name of a plugin, as `driver:name`",
                where=document.where(("project", "plugins", name)),
                hint=hint,
            )


def _default_profile(
    stated: str | None, profiles: Mapping[str, Profile], document: Document, errors: list[AuthoringError]
) -> str | None:
    if stated is None:
        return next((name for name in profiles if name == "default" or len(profiles) == 1), None)
    # Of a profile that is wrong itself nothing more needs to be said.
    if stated not in profiles and not errors:
        where = document.where(("defaults", "profile"))
        errors.append(AuthoringError(f"there is no profile `{stated}`", where=where, hint=nearest(stated, profiles)))
    return stated


def profile_of(project: Project, name: str | None = None) -> Profile:
    """The profile of that name, or the one that runs if none is asked for.

    Raises:
        UsageError: there is none, or it isn't clear which one is meant.
    """
    if name is not None and name in project.profiles:
        return project.profiles[name]
    if name is not None:
        raise UsageError(f"there is no profile `{name}`", hint=nearest(name, project.profiles))
    if project.default_profile is not None:
        return project.profiles[project.default_profile]
    if not project.profiles:
        raise UsageError("no profile says how to run cases", hint=f"add [profiles.default] to {PROJECT_FILE}")
    raise UsageError(
        "it isn't clear which profile to run",
        hint=f"choose one of {', '.join(project.profiles)}, call one `default`, or set [defaults] profile",
    )
