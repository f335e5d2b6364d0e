"""Watching that nothing of an identity changes while trials run, at a price that can be paid before and after each."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
from attrs import define, frozen

from quintain.conditions._names import tree_differences
from quintain.conditions._parts import TemplateLike
from quintain.conditions._programs import Program, find_program
from quintain.conditions._sources import WatchedFile, WatchedTree
from quintain.errors import LaunchError, QuintainError, WorkspaceError
from quintain.identity.cache import DigestCache, FileKey, key_of
from quintain.identity.files import scan_tree
from quintain.identity.notices import Notices
from quintain.identity.seal import TreeSeal
from quintain.identity.tree import Difference, DifferenceKind, Sources, difference
from quintain.model.tree import Tree

FULL_PASS_S = 60.0
"""At least so often every file is looked at, whatever the system's events say."""


def _git(path: str) -> bool:
    return path == ".git" or path.endswith("/.git")


@define
class _File:
    """A file that ought to be what it was, wherever its name leads; `digest` is None for one that isn't there."""

    name: str
    place: Callable[[], Path]
    digest: str | None
    key: FileKey | None = None


@frozen
class FixtureTree:
    """A directory that was captured, and ought to stay as it was then."""

    name: str
    root: Path
    captured: Tree


def fixture_trees(templates: Iterable[TemplateLike], cache: DigestCache) -> Iterator[FixtureTree]:
    """The directories that cases were captured from, each under the name of the first case that has it."""
    seen: set[Path] = set()
    for template in templates:
        case, fixtures = template.order.case, template.fixtures
        for word, root, tree in (
            ("fixtures", case.fixtures, fixtures.visible),
            ("grader.hidden", case.hidden, fixtures.hidden),
        ):
            if root is not None and tree is not None and root not in seen:
                seen.add(root)
                yield FixtureTree(f"cases.{case.id}.{word}", root, tree)


def case_files(templates: Iterable[TemplateLike], root: Path | None, cache: DigestCache) -> Iterator[WatchedFile]:
    """The files that cases were read from, as they are now, each under its path in the project."""
    seen: set[str] = set()
    for template in templates if root is not None else ():
        name, _, line = (template.order.case.source or "").rpartition(":")
        if root is not None and line.isdigit() and name not in seen:
            seen.add(name)
            path = root / name
            if path.is_file():
                yield WatchedFile(name, path, cache.digest_file(path))


class Watch:
    """Tells what of an identity is not any more what it was; made by `Conditions.seal`.

    What has once been found stays found: nobody can tell what ran between a change and its undoing.

    Args:
        tree: the identity.
        watched: files and directories in it.
        programs: executables in it, by name.
        host: variables of the host.
        cache: digests that are known already.
        files: more files, by name.
        trees: more directories, by name.
        again: makes the identity again.
    """

    def __init__(
        self,
        tree: Sources,
        watched: Sequence[WatchedFile | WatchedTree | FixtureTree],
        programs: Mapping[str, Program],
        host: Mapping[str, str],
        cache: DigestCache,
        files: Mapping[str, Path],
        trees: Mapping[str, TreeSeal],
        again: Callable[[], Awaitable[Sources]],
    ) -> None:
        self._tree = tree
        self._cache = cache
        self._again = again
        self._found: dict[str, Difference] = {}
        self._files = [_File(name, _always(path), self._digest(path)) for name, path in files.items()]
        self._files += [_program(name, one, host) for name, one in programs.items() if one.path is not None]
        self._seals = {seal.root: (name, seal) for name, seal in trees.items()}
        for one in watched:
            if isinstance(one, WatchedFile):
                self._files.append(_File(one.name, _always(one.path), one.digest))
            elif isinstance(one, WatchedTree):
                self._seals.setdefault(one.seal.root, (one.name, one.seal))
            else:
                self._seal_fixtures(one)
        self._roots = {root: _place_of(root) for root in self._seals}
        self._notices = _notices()
        self._eventful = False
        self._appeared = False
        self._looked_at = 0.0
        # Who takes events out of the queue raises the alarm, and only a pass that began later may end it.
        self._alarms = self._handled = 0
        self._lock = anyio.Lock()
        self._look()

    def close(self) -> None:
        """Stop watching; harmless if repeated."""
        if self._notices is not None:
            self._notices.close()
            self._notices = None

    async def changed(self) -> tuple[Difference, ...]:
        """What is not what it was. If nothing is, this takes a `stat` for each program, single file and directory root.

        On Linux, directories are watched by events; elsewhere, and at least every minute, each file in them is looked at.
        """
        if self._looks_untouched():
            return tuple(self._found.values())
        async with self._lock:
            await anyio.to_thread.run_sync(self._look)
            if self._appeared:
                # Only the driver knows what it means that a file is there now.
                await self._ask_again()
        return tuple(self._found.values())

    async def verify(self) -> tuple[Difference, ...]:
        """`changed`, sparing nothing: every file is looked at, drivers are asked again, programs say their versions.

        For the end of a campaign; its beginning, and taking it up again, make the conditions anew anyway.
        """
        async with self._lock:
            await anyio.to_thread.run_sync(self._look)
            await self._ask_again()
        return tuple(self._found.values())

    async def _ask_again(self) -> None:
        self._appeared = False
        self._note_all(difference(self._tree, await self._again()))

    def _looks_untouched(self) -> bool:
        if self._notices is None or not self._eventful or self._alarms != self._handled:
            return False
        if time.monotonic() - self._looked_at > FULL_PASS_S:
            return False
        for root, place in self._roots.items():
            if place is None or _place_of(root) != place:
                return False
        for file in self._files:
            if file.name not in self._found and not self._is_untouched(file):
                return False
        if self._notices.quiet():
            return True
        self._alarms += 1
        return False

    def _is_untouched(self, file: _File) -> bool:
        try:
            seen = file.place().stat()
        except (OSError, LaunchError):
            return file.digest is None
        return file.key is not None and file.key == key_of(seen)

    def _look(self) -> None:
        """The full pass."""
        self._looked_at, alarms = time.monotonic(), self._alarms
        if self._notices is not None:
            # Whatever happens from here on is told, whether or not the pass below still sees it.
            self._notices.quiet()
            self._eventful = all(self._notices.watch(seal.root, ignore=seal.ignore) for _, seal in self._seals.values())
        for file in self._files:
            self._look_at_file(file)
        for root, (name, seal) in self._seals.items():
            self._look_at_tree(root, name, seal)
        self._handled = alarms

    def _look_at_file(self, file: _File) -> None:
        try:
            path = file.place()
            seen = path.stat()
            if file.key == key_of(seen):
                return
            now: str | None = self._cache.digest_file(path)
            # A file so fresh that a later write could leave the same stamp is read again next time.
            file.key = key_of(seen) if self._cache.find(seen) is not None else None
        except (OSError, LaunchError, WorkspaceError):
            now = None
        if file.digest is None and now is not None:
            file.digest, self._appeared = now, True
        elif now != file.digest:
            self._note(file.name, file.digest, now)

    def _look_at_tree(self, root: Path, name: str, seal: TreeSeal) -> None:
        try:
            if not seal.changed():
                return
            now = scan_tree(root, cache=self._cache, ignore=seal.ignore)
        except (WorkspaceError, OSError):
            self._note(name, seal.digest, None)
            return
        self._note_all(tree_differences(name, seal.tree, now))

    def _note_all(self, differences: Iterable[Difference]) -> None:
        for one in differences:
            self._found.setdefault(one.name, one)

    def _note(self, name: str, before: str | None, after: str | None) -> None:
        kind: DifferenceKind = "added" if before is None else "removed" if after is None else "changed"
        self._found.setdefault(name, Difference(name, before, after, kind))

    def _seal_fixtures(self, fixtures: FixtureTree) -> None:
        if fixtures.root in self._seals:
            return
        try:
            seal = TreeSeal(fixtures.root, self._cache, ignore=_git)
        except (WorkspaceError, OSError):
            self._note(fixtures.name, "the directory", None)
            return
        self._seals[fixtures.root] = fixtures.name, seal
        self._note_all(tree_differences(fixtures.name, fixtures.captured, seal.tree))

    def _digest(self, path: Path) -> str:
        try:
            return self._cache.digest_file(path)
        except OSError as error:
            raise QuintainError(f"can't be read: {error.strerror}", where=str(path)) from error


def _always(path: Path) -> Callable[[], Path]:
    return lambda: path


def _program(name: str, program: Program, host: Mapping[str, str]) -> _File:
    """A program is looked for again each time, so that another one of its name earlier on PATH is noticed."""
    return _File(f"{name}.digest", lambda: find_program(program.asked.name, host), program.digest)


def _place_of(root: Path) -> tuple[int, int] | None:
    try:
        seen = root.stat()
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


def _notices() -> Notices | None:
    try:
        return Notices()
    except OSError:
        return None
