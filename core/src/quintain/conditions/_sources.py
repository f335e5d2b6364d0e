"""What a driver says its agent reads: files and directories, remembered so that they can be looked at again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from quintain.errors import WorkspaceError
from quintain.identity.cache import DigestCache
from quintain.identity.seal import TreeSeal
from quintain.identity.tree import safe_name
from quintain.model.plain import Json
from quintain.model.tree import Entry, Tree

MOST_FILES = 10_000
"""Files in one directory that a driver may make part of an identity."""
MOST_BYTES = 512 * 1024 * 1024
LISTED = 1_000
"""A directory with no more files than this is listed file by file, so that a comparison can name the one that changed."""


@frozen
class WatchedFile:
    """A file that ought to stay what it is; `digest` is None if it was not there."""

    name: str
    path: Path
    digest: str | None


@frozen
class WatchedTree:
    """A directory that ought to stay what it is."""

    name: str
    seal: TreeSeal


class Recorder:
    """The digests that a driver takes, remembered.

    Args:
        cache: digests that are known already.
    """

    def __init__(self, cache: DigestCache) -> None:
        self._cache = cache
        self.files: dict[Path, str | None] = {}
        self.trees: dict[Path, TreeSeal] = {}

    def file(self, path: Path) -> str:
        """Digest of a file; that it isn't there is remembered, too. Raises WorkspaceError, OSError."""
        try:
            digest = self._cache.digest_file(path)
        except FileNotFoundError:
            self.files[path] = None
            raise
        self.files[path] = digest
        return digest

    def tree(self, path: Path) -> str:
        """Digest of a directory. Raises WorkspaceError for what can't be known or is too much, OSError."""
        try:
            seal = TreeSeal(path, self._cache)
        except WorkspaceError:
            if not path.exists():
                self.files[path] = None
            raise
        _refuse(path, seal.tree)
        self.trees[path] = seal
        return seal.digest

    def named(
        self, prefix: str, sources: Mapping[str, Json]
    ) -> tuple[dict[Path, str], list[WatchedFile | WatchedTree]]:
        """Under which names of an identity the files and directories stand.

        Args:
            prefix: dotted, before each name.
            sources: what the driver said, with the digests that it took.
        """
        known = [(path, digest) for path, digest in self.files.items() if digest is not None]
        known += [(path, seal.digest) for path, seal in self.trees.items()]
        places: dict[str, list[str]] = {}
        for name, value in _leaves(sources, ""):
            if isinstance(value, str):
                places.setdefault(value, []).append(name)
        names: dict[Path, str] = {}
        for path, digest in known:
            waiting = places.get(digest, [])
            # Two of the same content are the same to the agent; each still gets a name while there are any.
            names[path] = (waiting.pop(0) if len(waiting) > 1 else waiting[0]) if waiting else safe_name(path.name)
        watched: list[WatchedFile | WatchedTree] = [
            WatchedFile(f"{prefix}.{names.get(path, safe_name(path.name))}", path, digest)
            for path, digest in self.files.items()
        ]
        watched += [WatchedTree(f"{prefix}.{names[path]}", seal) for path, seal in self.trees.items()]
        return names, watched

    def listed(self, sources: Mapping[str, Json]) -> dict[str, Json]:
        """The same sources with the files of directories in the place of the directories' digests."""
        trees = {seal.digest: seal.tree for seal in self.trees.values() if len(seal.tree.entries) <= LISTED}
        found: dict[str, Json] = {}
        for name, value in sources.items():
            if isinstance(value, Mapping):
                found[name] = self.listed(value)
            elif isinstance(value, str) and value in trees:
                found |= {f"{name}/{path}": digest for path, digest in file_digests(trees[value]).items()}
            else:
                found[name] = value
        return found


def file_digests(tree: Tree) -> dict[str, str]:
    """What is in a directory, file by file; of directories only those that are empty."""
    full = {path.rpartition("/")[0] for path in tree.entries}
    return {
        safe_name(path): meaning(entry)
        for path, entry in tree.entries.items()
        if entry.kind != "directory" or path not in full
    }


def meaning(entry: Entry) -> str:
    """What makes a path of a directory what it is, in one text."""
    if entry.kind == "file":
        return f"{entry.digest or entry.omitted}{' executable' if entry.mode & 0o100 else ''}"
    return f"link to {entry.target}" if entry.kind == "link" else entry.kind


def _refuse(root: Path, tree: Tree) -> None:
    for path, entry in tree.entries.items():
        if entry.kind == "link":
            raise WorkspaceError("it is a link, and what it leads to is in no digest", where=f"{root}/{path}")
        if entry.kind == "special" or entry.omitted is not None:
            raise WorkspaceError(f"its content can't be known: {entry.omitted or entry.kind}", where=f"{root}/{path}")
    sizes = [entry.size for entry in tree.entries.values() if entry.kind == "file"]
    if len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES:
        raise WorkspaceError(
            f"it has {len(sizes)} files with {sum(sizes)} bytes; what an agent reads has at most {MOST_FILES} files "
            f"with {MOST_BYTES} bytes",
            where=str(root),
        )


def _leaves(sources: Mapping[str, Json], prefix: str) -> Iterator[tuple[str, Json]]:
    for name, value in sources.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
