"""Where a user's own settings of Cursor are, and which of them change what it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = ".cursor"
SETTINGS = "cli-config.json"
SERVERS = "mcp.json"
USER_FILES = (SETTINGS, SERVERS, "hooks.json")
USER_FOLDERS = ("rules", "commands", "skills", "agents")


def user_home(environment: Mapping[str, str], home: Path) -> Path:
    """The directory of a user's settings.

    Args:
        environment: the host's variables.
        home: home directory of the user.
    """
    return Path(environment.get("CURSOR_CONFIG_DIR") or home / FOLDER)
