"""The small task by which Cursor's command line shows that it works."""

from __future__ import annotations

from quintain import Case, small_task

from quintain_driver_cursor._config import CursorConfig


def preflight(config: CursorConfig) -> Case:
    """A task that the configuration permits: Cursor can't ask, and refuses what it would have to ask for."""
    works = config.mode == "agent"
    writes = works and (config.force or _named(config.allow, "Write")) and not _named(config.deny, "Write")
    command = "Shell(cp)" if writes else "Shell(echo)"
    runs = works and (config.force or command in config.allow) and not _named(config.deny, "Shell")
    return small_task(writes=writes, runs=runs)


def _named(permissions: tuple[str, ...], kind: str) -> bool:
    """Some permission is of a kind; which files or commands it means is Cursor's to say."""
    return any(one.partition("(")[0] == kind for one in permissions)
