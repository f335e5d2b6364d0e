"""The private home of one trial: what Claude Code reads there, and nothing else of the user's.

Trials that shared a directory of settings would write over each other, and each would see what the others did.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen
from quintain import Launch, QuintainError

from quintain_driver_claude_code._errors import NotLoggedIn
from quintain_driver_claude_code._user import (
    CREDENTIALS,
    FILES,
    FOLDER,
    FOLDERS,
    SETTINGS,
    enabled_plugins,
    loaded,
    user_servers,
)

if TYPE_CHECKING:
    from quintain_driver_claude_code._config import ClaudeCodeConfig

TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"


@frozen
class Home:
    """A home that was made.

    Attributes:
        place: directory of Claude Code's settings.
        mcp: file with the tool servers.
        plugins: directories of plugins.
        servers: names of the tool servers that have to start.
        env: variables with credentials.
    """

    place: Path
    mcp: Path
    plugins: tuple[Path, ...]
    servers: tuple[str, ...]
    env: Mapping[str, str]


def lay_out(config: ClaudeCodeConfig, launch: Launch, user: Path) -> Home:
    """Make the private home.

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
        servers: dict[str, Any] = {}
        plugins = {Path(plugin).name: Path(plugin) for plugin in config.plugins}
        if config.isolation == "user":
            _copy_user(user, place)
            servers |= user_servers(user)
            plugins = {**enabled_plugins(user), **plugins}
        servers |= {name: dict(server) for name, server in config.mcp_servers.items()}
        for skill in config.skills:
            _copy_folder(Path(skill), place / "skills" / Path(skill).name)
        copies = []
        for number, (id, plugin) in enumerate(plugins.items()):
            # The name of the directory is that of the plugin if it doesn't say another.
            copies.append(launch.home / "plugins" / str(number) / id.partition("@")[0])
            _copy_folder(plugin, copies[-1])
        mcp = launch.home / "mcp.json"
        _write(mcp, json.dumps({"mcpServers": servers}))
        env = _login(user) if config.credentials == "login" else {}
    except OSError as error:
        raise QuintainError(f"Claude Code's home can't be made: {error.strerror}: {error.filename}") from error
    return Home(place, mcp, tuple(copies), tuple(config.mcp_servers), env)


def _copy_user(user: Path, place: Path) -> None:
    for name in FILES:
        if not (user / name).is_file():
            continue
        if name == SETTINGS:
            # Its plugins are given by their directories, so that nothing is looked for or installed meanwhile.
            kept = {key: value for key, value in loaded(user / name).items() if key != "enabledPlugins"}
            _write(place / name, json.dumps(kept))
        else:
            shutil.copyfile(user / name, place / name)
    for name in FOLDERS:
        if (user / name).is_dir():
            _copy_folder(user / name, place / name)


def _copy_folder(source: Path, target: Path) -> None:
    if not source.is_dir():
        raise QuintainError(f"{source} is no directory")
    shutil.copytree(source, target, ignore_dangling_symlinks=True, dirs_exist_ok=True)


def _login(user: Path) -> dict[str, str]:
    """The user's login as a variable: a copy of the file would let a trial renew it and so end the user's own."""
    try:
        handle = os.open(user / CREDENTIALS, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NotLoggedIn(f"there is no login of Claude Code: {user / CREDENTIALS} is not there") from error
    with os.fdopen(handle, "r", encoding="utf-8") as file:
        try:
            login = json.load(file).get("claudeAiOauth", {})
            token, expires = login["accessToken"], login.get("expiresAt")
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise NotLoggedIn(f"{user / CREDENTIALS} holds no login that is known") from error
    if isinstance(expires, int | float) and expires / 1000 < time.time():
        raise NotLoggedIn("the login of Claude Code has expired")
    return {TOKEN: str(token)}


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, "utf-8")
