"""Where a user's own settings of Codex are, and which of them change what it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = ".codex"
CONFIG = "config.toml"
USER_FILES = ("AGENTS.md", "AGENTS.override.md", "hooks.json")
USER_FOLDERS = ("prompts", "skills", "rules", "agents")


def user_home(environment: Mapping[str, str], home: Path) -> Path:
    """The directory of a user's settings.

    Args:
        environment: the host's variables.
        home: home directory of the user.
    """
    return Path(environment.get("CODEX_HOME") or home / FOLDER)
