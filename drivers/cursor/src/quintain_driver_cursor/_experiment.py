"""What an experiment demands of a configuration, and what Cursor consists of and reads besides it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quintain import IdentityContext, PolicyViolation, QuintainError
from quintain.driving import digest_if_there, find_program, is_option, server_programs

from quintain_driver_cursor._user import SERVERS, USER_FILES, USER_FOLDERS, user_home

if TYPE_CHECKING:
    from quintain_driver_cursor._config import CursorConfig

FORBIDDEN_ARGUMENTS: Mapping[str, str] = {
    "--resume": "leave it out: each trial begins anew",
    "--continue": "leave it out: each trial begins anew",
    "--workspace": "lay out the fixtures as the agent should find them",
    "--worktree": "lay out the fixtures as the agent should find them",
    "-w": "lay out the fixtures as the agent should find them",
    "--cloud": "leave it out: what runs elsewhere can't be known",
    "-c": "leave it out: what runs elsewhere can't be known",
    "--endpoint": "leave it out: what runs elsewhere can't be known",
    "-e": "leave it out: what runs elsewhere can't be known",
    "--header": "leave it out",
    "-H": "leave it out",
    "--api-key": "set CURSOR_API_KEY in the environment",
    "--auth-token": "set CURSOR_AUTH_TOKEN in the environment",
    "--model": "use the key `model`",
    "--mode": "use the key `mode`",
    "--plan": "use the key `mode`",
    "--force": "use the key `force`",
    "--yolo": "use the key `force`",
    "-f": "use the key `force`",
    "--sandbox": "use the key `sandbox`",
}
FORBIDDEN_VARIABLES = frozenset({"PATH", "PATHEXT", "LD_PRELOAD", "LD_LIBRARY_PATH"})


def prepare(config: CursorConfig) -> CursorConfig:
    """Refuse what can't be reproduced. Raises PolicyViolation."""
    if config.isolation == "user":
        raise PolicyViolation(
            "`isolation` is `user`, and a user's own settings are not those of an experiment",
            where="isolation",
            hint='write `isolation = "clean"`, and what you need of your settings in `allow`, `deny` and `mcp_servers`',
        )
    for name in config.env:
        if name.upper() in FORBIDDEN_VARIABLES:
            raise PolicyViolation(
                f"`env.{name}` decides which program is run, and its digest would be that of another",
                where=f"env.{name}",
                hint="take it out and name the program with `executable`",
            )
    for argument in config.extra_args:
        for name, instead in FORBIDDEN_ARGUMENTS.items():
            if is_option(argument, name):
                raise PolicyViolation(
                    f"`extra_args` has `{argument}`, which brings in what an experiment can't know",
                    where="extra_args",
                    hint=instead,
                )
    return config


async def identity(config: CursorConfig, context: IdentityContext) -> dict[str, Any]:
    """What Cursor consists of and reads.

    Raises:
        QuintainError: something that it reads is not there or no valid file.
        OSError: something can't be read.
    """
    path = config.env.get("PATH", context.environment.get("PATH"))
    found: dict[str, Any] = {}
    program = find_program(config.executable, path)
    if program is not None and (program.parent / "index.js").is_file():
        # The program is a few lines of shell that start what lies beside it.
        found["package"] = _package(program.parent, context)
    if config.mcp_servers:
        found["mcp_servers"] = server_programs(config.mcp_servers, path, context)
    if config.isolation == "user":
        found["user"] = _user(user_home(context.environment, context.home), path, context)
    return found


def _package(folder: Path, context: IdentityContext) -> str | dict[str, str]:
    """The digest of all that is installed; file by file if a link in it makes it no tree that can be known as a whole."""
    try:
        return context.digest_tree(folder)
    except QuintainError:
        return {one.name: context.digest_file(one) for one in sorted(folder.iterdir()) if one.is_file()}


def _user(home: Path, path: str | None, context: IdentityContext) -> dict[str, Any]:
    """The user's own settings: what is there, each by its name."""
    found: dict[str, Any] = {}
    for name in USER_FILES:
        found[name] = digest_if_there(home / name, context)
    for name in USER_FOLDERS:
        if (home / name).is_dir():
            found[name] = {
                one.name: context.digest_tree(one) if one.is_dir() else context.digest_file(one)
                for one in sorted((home / name).iterdir())
            }
    if found[SERVERS] is not None:
        try:
            servers = json.loads((home / SERVERS).read_text("utf-8")).get("mcpServers")
        except (ValueError, AttributeError) as error:
            raise QuintainError(f"{SERVERS} of the user is no valid JSON object: {error}") from error
        if isinstance(servers, dict) and servers:
            found["mcp_servers"] = server_programs(servers, path, context)
    return found
