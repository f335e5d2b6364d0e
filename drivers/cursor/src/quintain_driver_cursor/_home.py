"""The private home of one trial: Cursor keeps settings, chats and trust there, and trials must not share them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from quintain import Launch, QuintainError
from quintain.driving import HomeError

from quintain_driver_cursor._config import CursorConfig
from quintain_driver_cursor._user import FOLDER, SERVERS, SETTINGS, USER_FILES, USER_FOLDERS


def lay_out(config: CursorConfig, launch: Launch, user: Path) -> dict[str, str]:
    """Make the private home; variables that the process needs come back.

    Args:
        config: what was asked for.
        launch: the attempt.
        user: where the user's own settings are.

    Raises:
        QuintainError: something that it needs can't be read or written.
    """
    place = launch.home / FOLDER
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if config.isolation == "user":
            _copy(user, place)
        _write(place / SETTINGS, _settings(config, _read(place / SETTINGS)))
        if config.mcp_servers:
            declared = _read(place / SERVERS)
            servers = declared.get("mcpServers")
            both = {**(servers if isinstance(servers, dict) else {}), **config.mcp_servers}
            _write(place / SERVERS, {**declared, "mcpServers": both})
    except OSError as error:
        raise HomeError("Cursor", error) from error
    return {**config.env, "CURSOR_CONFIG_DIR": str(place)}


def _settings(config: CursorConfig, found: dict[str, Any]) -> dict[str, Any]:
    given = found.get("permissions")
    permissions = given if isinstance(given, dict) else {}
    asked = {
        key: [*_texts(permissions.get(key)), *added] for key, added in (("allow", config.allow), ("deny", config.deny))
    }
    return {"version": 1, **found, "permissions": {**permissions, **asked}}


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _copy(user: Path, place: Path) -> None:
    for name in USER_FILES:
        if (user / name).is_file():
            shutil.copyfile(user / name, place / name)
    for name in USER_FOLDERS:
        if (user / name).is_dir():
            shutil.copytree(user / name, place / name, symlinks=True, dirs_exist_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise QuintainError(
            f"{path.name} of the user is no valid JSON: {error}", hint="correct it, or set `isolation` to `clean`"
        ) from error
    if not isinstance(found, dict):
        raise QuintainError(f"{path.name} of the user is no JSON object")
    return found


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_bytes(b"")
    path.chmod(0o600)
    path.write_text(json.dumps(data, indent=2), "utf-8")
