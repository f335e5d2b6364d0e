"""The command line and the variables of one trial. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quintain_driver_claude_code._control import ASK

if TYPE_CHECKING:
    from quintain_driver_claude_code._config import ClaudeCodeConfig

QUIET: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "CLAUDE_CODE_AUTO_CONNECT_IDE": "false",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_BUG_COMMAND": "1",
}
"""Nothing looks for anything in the network but the model, nothing is remembered from trial to trial."""

_FIXED = (
    "--print",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--include-partial-messages",  # without them the tokens of a call are only known when the whole run has ended
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--no-session-persistence",
    "--strict-mcp-config",
)


def arguments(
    config: ClaudeCodeConfig, *, mcp: Path, plugins: Sequence[Path], above: Sequence[Path], usd: float | None
) -> tuple[str, ...]:
    """All arguments after the program.

    Args:
        config: what was asked for.
        mcp: the file with the tool servers.
        plugins: directories of plugins.
        above: directories above the workspace, whose instructions are not the case's.
        usd: what the trial may spend.
    """
    sources = "user,project,local" if config.workspace_settings else "user"
    return (
        *_FIXED,
        *("--setting-sources", sources),
        *("--settings", json.dumps(settings(config, above))),
        *("--mcp-config", str(mcp)),
        *_tools(config),
        *_valued(config, usd),
        *(part for plugin in plugins for part in ("--plugin-dir", str(plugin))),
        *config.extra_args,
    )


def settings(config: ClaudeCodeConfig, above: Sequence[Path]) -> dict[str, Any]:
    """Settings that win over those in files."""
    found: dict[str, Any] = dict(config.settings)
    if not config.hooks:
        found["disableAllHooks"] = True
    names = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/**")
    excluded = [str(place / name) for place in above for name in names]
    if excluded:
        found["claudeMdExcludes"] = [*found.get("claudeMdExcludes", ()), *excluded]
    return found


def _tools(config: ClaudeCodeConfig) -> Iterator[str]:
    denied = (*config.denied_tools, *(() if config.questions else (ASK,)))
    if config.tools is not None:
        yield from ("--tools", *(config.tools or ("",)))
    if config.allowed_tools:
        yield from ("--allowed-tools", *config.allowed_tools)
    if denied:
        yield from ("--disallowed-tools", *denied)


def _valued(config: ClaudeCodeConfig, usd: float | None) -> Iterator[str]:
    limits = [limit for limit in (config.max_budget_usd, usd) if limit is not None]
    values: Mapping[str, object] = {
        "--permission-mode": config.permission_mode,
        "--model": config.model,
        "--effort": config.effort,
        "--system-prompt": config.system_prompt,
        "--append-system-prompt": config.append_system_prompt,
        "--agent": config.agent,
        "--agents": json.dumps({name: dict(one) for name, one in config.agents.items()}) if config.agents else None,
        "--max-turns": config.max_turns,
        "--max-budget-usd": min(limits) if limits else None,
    }
    for name, value in values.items():
        if value is not None:
            yield from (name, str(value))


def variables(config: ClaudeCodeConfig, home: Path, temp: Path) -> dict[str, str]:
    """Variables on top of the trial's environment.

    Args:
        config: what was asked for.
        home: the private directory of Claude Code's settings.
        temp: the private directory for temporary files.
    """
    found = {**QUIET, "CLAUDE_CONFIG_DIR": str(home), "CLAUDE_CODE_TMPDIR": str(temp)}
    if not config.background:
        found["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
    if not config.workspace_settings and config.isolation == "clean":
        found["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] = "1"
    if config.max_retries is not None:
        found["CLAUDE_CODE_MAX_RETRIES"] = str(config.max_retries)
    if config.base_url is not None:
        found["ANTHROPIC_BASE_URL"] = config.base_url
    return {**found, **config.env}
