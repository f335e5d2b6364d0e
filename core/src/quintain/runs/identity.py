"""What a run depends on, written beside its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio.to_thread

from quintain.conditions import TemplateLike, conditions_of, project_salt
from quintain.errors import QuintainError, StoreError
from quintain.identity.cache import DigestCache
from quintain.identity.lock import LOCK, write_lock
from quintain.plugins import Plugins

CACHE = "digests.json"
"""Digests of files that were read before, in the store."""


async def record_identity(
    templates: Sequence[TemplateLike],
    plugins: Plugins,
    host: Mapping[str, str],
    *,
    store: Path,
    directory: Path,
    root: Path,
) -> str | None:
    """Write `identity.lock` into the directory of a run, which runs without it if need be.

    Args:
        templates: what will run, as it is configured: no driver is asked to bind or refuse anything.
        plugins: where plugins come from.
        host: variables of the host.
        store: directory that holds runs.
        directory: of this run.
        root: the project's folder.

    Returns:
        Why there is none, or None.

    Raises:
        StoreError: the disk takes nothing.
    """
    salt = project_salt(store)
    cache = DigestCache.load(store / CACHE)
    known = cache.files
    try:
        conditions = await conditions_of(templates, plugins, host, cache, salt, root=root, experiment=False)
        await anyio.to_thread.run_sync(write_lock, directory / LOCK, conditions.tree)
    except StoreError:
        raise
    except QuintainError as error:
        return f"there is no {LOCK}: {error}"
    if cache.files != known:
        _keep(cache, store / CACHE)
    return None


def _keep(cache: DigestCache, path: Path) -> None:
    try:
        cache.save(path)
    except OSError as error:
        raise StoreError(f"can't be written: {error.strerror}", where=str(path)) from error
