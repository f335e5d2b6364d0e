"""The small task by which Claude Code shows that it works."""

from __future__ import annotations

from quintain import Case, small_task

from quintain_driver_claude_code._config import ClaudeCodeConfig


def preflight(config: ClaudeCodeConfig) -> Case:
    """A task for which the configuration asks nobody's permission: what it doesn't allow says nothing of the machine."""
    return small_task(
        writes=_may(config, "Write", always=("acceptEdits", "bypassPermissions", "auto")),
        runs=_may(config, "Bash", always=("bypassPermissions", "auto")),
    )


def _may(config: ClaudeCodeConfig, tool: str, *, always: tuple[str, ...]) -> bool:
    there = config.tools is None or tool in config.tools
    # A rule such as `Write(*.key)` may or may not hit the task.
    denied = any(one.partition("(")[0] == tool for one in config.denied_tools)
    allowed = config.permission_mode in always or tool in config.allowed_tools
    return there and allowed and not denied and config.permission_mode != "plan"
