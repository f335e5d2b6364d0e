"""The private directories of one attempt: workspace, home and temp.

They lie under a root with a neutral name that no repository and no instruction file of the host surrounds. They are made
when something asks for them, because an agent that touches no file should cost none. While they are in use their root is
locked, so what a killed process left behind can be told from what another process works in.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio.to_thread

from quintain.errors import WorkspaceError
from quintain.identity.cache import settled, stamp_clock_ns
from quintain.identity.flags import DIRECTORY
from quintain.workspace.remove import remove_tree, sweep_trash

PARTS = ("work", "home", "tmp")
SURROUNDING = (".git", ".hg", ".svn", "AGENTS.md")
"""What an agent would find on its way up and take for its own."""

_NAME = "quarters-{}"
_IS_AREA = re.compile(_NAME.format("[0-9a-f]{12}"))
_SETTLED_IN_S = 60.0
"""An area that is younger may not be locked yet by the process that makes it."""


class Areas:
    """Makes areas, and makes one serve again if its trial left nothing in it: making and removing directories is dear.

    Args:
        scratch: directory under which they are made; None for the system's place for temporary files.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self.scratch = scratch or Path(tempfile.gettempdir())
        self._idle: list[Area] = []

    def take(self) -> Area:
        """An area with empty directories."""
        area = self._idle.pop() if self._idle else Area.make(self.scratch)
        area.taken_ns = stamp_clock_ns()
        return area

    def give_back(self, area: Area) -> bool:
        """Keep an area for the next trial if it is as good as new; False if it must be removed."""
        if not area.untouched():
            return False
        self._idle.append(area)
        return True

    def close(self) -> None:
        """Remove what is idle."""
        while self._idle:
            self._idle.pop().remove()


class Area:
    """Three directories in one, with the stamps that they had when they were made.

    Attributes:
        root: the directory that holds them.
        memo: what was derived from their paths, so that it need not be derived again.
        taken_ns: `stamp_clock_ns` before somebody began to work in it.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.memo: dict[object, Any] = {}
        self.taken_ns = 0
        self._lock = os.open(root, DIRECTORY)
        _lock(self._lock)
        self._stamps = {place: _stamp(place) for place in (root, *(f"{root}/{part}" for part in PARTS))}

    @classmethod
    def make(cls, scratch: Path) -> Area:
        """A new one."""
        root = f"{scratch}/{_NAME.format(os.urandom(6).hex())}"
        for place in (root, *(f"{root}/{part}" for part in PARTS)):
            os.mkdir(place, 0o700)  # noqa: PTH102  # a hot path, on text
        return cls(root)

    def untouched(self, part: str | None = None) -> bool:
        """There is nothing in it, or in one part, and no mode was changed. Raises OSError if a part is gone."""
        places = self._stamps if part is None else (f"{self.root}/{part}",)
        return all(self._is_as_made(place) for place in places)

    def _is_as_made(self, place: str) -> bool:
        made, now = self._stamps[place], _stamp(place)
        if settled(made[2], self.taken_ns):
            return now == made
        # Made within the same tick of the clock in which the work began: its stamps may hide a change.
        expected = list(PARTS) if place == self.root else []
        return now[0] == made[0] and sorted(os.listdir(place)) == sorted(expected)

    def remove(self) -> Path | None:
        """Remove it; returns the place of what could not be removed."""
        try:
            return remove_tree(Path(self.root))
        finally:
            os.close(self._lock)


def _stamp(place: str) -> tuple[int, int, int]:
    info = os.stat(place)  # noqa: PTH116
    return info.st_mode, info.st_mtime_ns, info.st_ctime_ns


def _lock(folder: int) -> bool:
    """Lock a directory until it is closed or this process ends; False if another process has it."""
    if sys.platform == "win32":
        return True
    import fcntl  # not on every system

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sweep_leftovers(scratch: Path | None = None) -> tuple[Path, ...]:
    """Remove what killed processes of this user left under a directory, and try again to remove their trash.

    Args:
        scratch: as for `Areas`.

    Returns:
        What is still there.
    """
    place = scratch or Path(tempfile.gettempdir())
    left: list[Path] = []
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(place)):
            if _IS_AREA.fullmatch(name):
                with suppress(OSError):
                    left += _sweep(place / name)
    return (*left, *sweep_trash(place))


def _sweep(root: Path) -> Sequence[Path]:
    seen = root.lstat()
    if seen.st_uid != os.geteuid() or time.time() - seen.st_mtime < _SETTLED_IN_S:
        return ()
    folder = os.open(root, DIRECTORY)
    try:
        if not _lock(folder):
            return ()
        trash = remove_tree(root)
        return () if trash is None else (trash,)
    finally:
        os.close(folder)


class TrialArea:
    """Made for one attempt; leaving the context removes it all, or lets it serve again if it is empty.

    Args:
        areas: where it comes from.
    """

    def __init__(self, areas: Areas) -> None:
        self._areas = areas
        self._area: Area | None = None
        self.trash: Path | None = None

    async def __aenter__(self) -> TrialArea:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._area is None:
            return
        try:
            if self._areas.give_back(self._area):
                return
        except OSError:
            # The agent took its own directories away, or locked them; removing copes with both.
            pass
        with anyio.CancelScope(shield=True):
            self.trash = await anyio.to_thread.run_sync(self._area.remove)

    @property
    def area(self) -> Area:
        """What holds the directories; made when it is first asked for."""
        if self._area is None:
            self._area = self._areas.take()
        return self._area

    @cached_property
    def work(self) -> Path:
        """The workspace."""
        return Path(self.area.root, "work")

    @cached_property
    def home(self) -> Path:
        """The home directory."""
        return Path(self.area.root, "home")

    @cached_property
    def temp(self) -> Path:
        """For temporary files."""
        return Path(self.area.root, "tmp")

    @cached_property
    def subject(self) -> Path:
        """For what is under test, if that has a place of its own; made by who lays it out."""
        return Path(self.area.root, "subject")

    @property
    def worked(self) -> bool:
        """There may be something in the workspace."""
        return self._area is not None

    @property
    def empty(self) -> bool:
        """There is nothing in the workspace."""
        return self._area is None or self._area.untouched("work")

    def made(self) -> Sequence[Path]:
        """What was made, to be measured."""
        return (Path(self._area.root),) if self._area is not None else ()


def refuse_surroundings(scratch: Path | None) -> None:
    """Refuse a place from which an agent would find a repository or instructions that are not its own.

    Args:
        scratch: as for `TrialArea`.

    Raises:
        WorkspaceError: there is such a thing in it or above it, or it can't be used at all.
    """
    place = (scratch or Path(tempfile.gettempdir())).resolve()
    if not place.is_dir():
        raise WorkspaceError("there is no such directory to make workspaces in", where=str(place))
    for folder in (place, *place.parents):
        for name in SURROUNDING:
            if (folder / name).exists():
                raise WorkspaceError(
                    f"workspaces can't be made here: an agent in it would find {folder / name}",
                    where=str(place),
                    hint="set TMPDIR, or scratch, to a directory outside of any repository",
                )
