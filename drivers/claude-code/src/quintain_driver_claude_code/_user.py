"""Where a user's own settings of Claude Code are, and which of them change what it does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain import QuintainError

FOLDER = ".claude"
STATE = ".claude.json"
SETTINGS = "settings.json"
CREDENTIALS = ".credentials.json"
INSTALLED = "plugins/installed_plugins.json"
FILES = (SETTINGS, "CLAUDE.md")
FOLDERS = ("rules", "output-styles", "agents", "commands", "skills")

MANAGED = (Path("/etc/claude-code"), Path("/Library/Application Support/ClaudeCode"))
"""Where an administrator's settings are, which win over all others."""
MANAGED_FILES = ("managed-settings.json", "managed-mcp.json", "CLAUDE.md")


def user_home(environment: Mapping[str, str], home: Path) -> Path:
    """The directory of a user's settings. Raises QuintainError.

    Args:
        environment: the host's variables.
        home: home directory of the user.
    """
    place = environment.get("CLAUDE_CONFIG_DIR")
    if place and not Path(place).is_absolute():
        raise QuintainError(
            f"CLAUDE_CONFIG_DIR is {place!r}, which is no absolute path", hint="set it to an absolute one, or unset it"
        )
    return Path(place) if place else home / FOLDER


def state_file(user: Path) -> Path:
    """Where a user's tool servers are defined: beside the directory, unless that has a place of its own."""
    return user / STATE if user.name != FOLDER or (user / STATE).exists() else user.parent / STATE


def loaded(path: Path) -> dict[str, Any]:
    """A file of settings; empty if there is none. Raises QuintainError, OSError."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise QuintainError(
            f"{path} is no valid JSON: {error}", hint='correct it, or write `isolation = "clean"`'
        ) from error
    if not isinstance(found, dict):
        raise QuintainError(f"{path} holds no JSON object", hint='correct it, or write `isolation = "clean"`')
    return found


def user_servers(user: Path) -> dict[str, Any]:
    """A user's own tool servers by name. Raises QuintainError, OSError."""
    servers = loaded(state_file(user)).get("mcpServers")
    return servers if isinstance(servers, dict) else {}


def enabled_plugins(user: Path) -> dict[str, Path]:
    """Where the plugins lie that a user has enabled, by their ids. Raises QuintainError, OSError."""
    enabled = loaded(user / SETTINGS).get("enabledPlugins", {})
    if not isinstance(enabled, dict):
        raise QuintainError(f"`enabledPlugins` in {user / SETTINGS} is no JSON object")
    ids = sorted(id for id, on in enabled.items() if on is True or isinstance(on, list))
    if not ids:
        return {}
    plugins = loaded(user / INSTALLED).get("plugins")
    found: dict[str, Path] = {}
    for id in ids:
        records = plugins.get(id) if isinstance(plugins, dict) else None
        record = records[0] if isinstance(records, list) and records else records
        place = record.get("installPath") if isinstance(record, dict) else None
        if not isinstance(place, str) or not Path(place).is_dir():
            raise QuintainError(
                f"the plugin `{id}` is enabled and has no installed content",
                hint='install it, disable it, or write `isolation = "clean"`',
            )
        found[id] = Path(place)
    return found
