"""The small task by which Codex shows that it works."""

from __future__ import annotations

from quintain import Case, small_task

from quintain_driver_codex._config import CodexConfig


def preflight(config: CodexConfig) -> Case:
    """A task for which the configuration asks nobody's permission; its command runs in the sandbox of all others."""
    return small_task(writes=config.sandbox != "read-only" and config.approval != "untrusted")
