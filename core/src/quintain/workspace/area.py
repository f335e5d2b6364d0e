"""The private directories of one attempt: workspace, home and temp.

They lie under a root with a neutral name that no repository and no instruction file of the host surrounds. They are made
when something asks for them, because an agent that touches no file should cost none.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType

import anyio.to_thread

from quintain.errors import WorkspaceError
from quintain.workspace.remove import remove_tree

SURROUNDING = (".git", ".hg", ".svn", "AGENTS.md")
"""What an agent would find on its way up and take for its own."""


class TrialArea:
    """Made for one attempt; leaving the context removes it all.

    Args:
        scratch: directory under which it is made; None for the system's place for temporary files.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch or Path(tempfile.gettempdir())
        self._root: Path | None = None
        self.trash: Path | None = None

    async def __aenter__(self) -> TrialArea:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._root is None:
            return
        root = self._root
        with anyio.CancelScope(shield=True):
            if any(os.listdir(root / name) for name in ("work", "home", "tmp")):
                self.trash = await anyio.to_thread.run_sync(remove_tree, root)
            else:
                self.trash = remove_tree(root)

    @property
    def root(self) -> Path:
        """The directory that holds the others."""
        if self._root is None:
            root = self._scratch / f"q{os.urandom(6).hex()}"
            for place in (root, root / "work", root / "home", root / "tmp"):
                place.mkdir(0o700)
            self._root = root
        return self._root

    @cached_property
    def work(self) -> Path:
        """The workspace."""
        return self.root / "work"

    @cached_property
    def home(self) -> Path:
        """The home directory."""
        return self.root / "home"

    @cached_property
    def temp(self) -> Path:
        """For temporary files."""
        return self.root / "tmp"

    @property
    def worked(self) -> bool:
        """The workspace was made, so there may be something in it."""
        return self._root is not None

    def made(self) -> Sequence[Path]:
        """What was made, to be measured."""
        return (self._root,) if self._root is not None else ()


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
