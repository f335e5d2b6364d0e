"""The private home of one trial: what Codex reads there, and nothing else of the user's.

Codex keeps its settings, credentials and sessions under CODEX_HOME. Trials that shared one would write over each other.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain import Failure, Launch, QuintainError
from quintain.driving import HomeError

from quintain_driver_codex._config import BASE_URL, KEY, CodexConfig
from quintain_driver_codex._toml import dumps, merged
from quintain_driver_codex._user import FOLDER, USER_FILES, USER_FOLDERS

QUIET: Mapping[str, Any] = {
    "analytics": {"enabled": False},
    "check_for_update_on_startup": False,
    "suppress_unstable_features_warning": True,
    "history": {"persistence": "none"},
    "cli_auth_credentials_store": "file",
}
CLEAN: Mapping[str, Any] = {
    # They would look for things in the network at each start.
    "features": {"plugins": False, "apps": False},
    # Without it, instruction files above the workspace would be taken for the project's.
    "project_root_markers": [],
    # Other trials may lie there.
    "sandbox_workspace_write": {"exclude_slash_tmp": True},
}


class NoCredentials(QuintainError):
    """There is no key and no login."""

    failure = Failure.AUTH


def lay_out(config: CodexConfig, launch: Launch, user: Path) -> dict[str, str]:
    """Make the private home.

    Args:
        config: what was asked for.
        launch: the attempt.
        user: where the user's own settings are.

    Returns:
        Variables that the process needs on top of its environment.

    Raises:
        QuintainError: something that it needs can't be read or written.
    """
    place = launch.home / FOLDER
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        of_user = _user_settings(user) if config.isolation == "user" else {}
        environment = {**launch.environment, **config.env}
        found = settings(config, of_user, environment.get(BASE_URL))
        _write(place / "config.toml", dumps({**found, "projects": _trust(config, launch.workspace)}))
        if config.isolation == "user":
            _copy_user(user, place)
        for skill in config.skills:
            _copy_folder(Path(skill), place / "skills" / Path(skill).name)
        if config.provider is None:
            _credentials(config, environment, user, place)
    except OSError as error:
        raise HomeError("Codex", error) from error
    return {**config.env, "CODEX_HOME": str(place)}


def settings(config: CodexConfig, of_user: Mapping[str, Any], base_url: str | None = None) -> dict[str, Any]:
    """All that stands in the trial's `config.toml`.

    Args:
        config: what was asked for.
        of_user: the user's own settings.
        base_url: of another server, as the environment says it.
    """
    found = merged(of_user, QUIET)
    if config.isolation == "clean":
        found = merged(found, CLEAN)
    asked: dict[str, Any] = {
        # The agent's commands have no business with the key that it thinks with.
        "shell_environment_policy": {"exclude": [config.key_variable or KEY]},
        "features": {"default_mode_request_user_input": config.questions},
        "sandbox_workspace_write": {"network_access": config.network},
        "mcp_servers": {name: {"required": True, **server} for name, server in config.mcp_servers.items()},
    }
    if config.effort is not None:
        asked["model_reasoning_effort"] = config.effort
    url = config.base_url or (base_url if "model_provider" not in config.config else None)
    if url is not None:
        asked["model_provider"] = "endpoint"
        asked["model_providers"] = {"endpoint": _endpoint(url)}
    return merged(merged(found, asked), config.config)


def _trust(config: CodexConfig, workspace: Path) -> dict[str, Any]:
    """Say it, because otherwise it depends on the sandbox whether Codex trusts where it works."""
    level = "trusted" if config.trust else "untrusted"
    return {place: {"trust_level": level} for place in sorted({str(workspace), str(workspace.resolve())})}


def _endpoint(url: str) -> dict[str, Any]:
    return {"name": "endpoint", "base_url": url, "wire_api": "responses", "env_key": KEY}


def _user_settings(user: Path) -> dict[str, Any]:
    path = user / "config.toml"
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise QuintainError(
            f"{path} is no valid TOML: {error}", hint="correct it, or set `isolation` to `clean`"
        ) from error
    found.pop("projects", None)  # it names places of this machine, and the workspace is none of them
    return found


def _copy_user(user: Path, place: Path) -> None:
    for name in USER_FILES:
        if (user / name).is_file():
            shutil.copyfile(user / name, place / name)
    for name in USER_FOLDERS:
        if (user / name).is_dir():
            _copy_folder(user / name, place / name)


def _copy_folder(source: Path, target: Path) -> None:
    if not source.is_dir():
        raise QuintainError(f"{source} is no directory")
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".system"))


def _credentials(config: CodexConfig, environment: Mapping[str, str], user: Path, place: Path) -> None:
    """Give it the key, or the login of the user; a copy, so that trials can't spoil it."""
    if config.key_variable is not None:
        key = environment.get(config.key_variable)
        if not key:
            hint = f'set {config.key_variable}, or write `credentials = "login"`'
            raise NoCredentials(f"the agent's environment has no {config.key_variable}", hint=hint)
        _write(place / "auth.json", json.dumps({"OPENAI_API_KEY": key}))
        return
    try:
        handle = os.open(user / "auth.json", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NoCredentials(
            f"nobody is logged in: there is no {user / 'auth.json'}", hint="run `codex login`"
        ) from None
    with os.fdopen(handle, "r", encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NoCredentials(f"{user / 'auth.json'} is no file")
        _write(place / "auth.json", file.read())


def _write(path: Path, text: str) -> None:
    path.write_bytes(b"")
    path.chmod(0o600)
    path.write_text(text, "utf-8")
