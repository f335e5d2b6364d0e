"""What an experiment demands of a configuration, and what Claude Code consists of and reads besides it.

In an experiment everything that steers Claude Code is either a key of the configuration or has a digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from attrs import evolve
from quintain import IdentityContext, PolicyViolation
from quintain.driving import definition_digest, find_program, is_option, server_programs

from quintain_driver_claude_code._binary import chain
from quintain_driver_claude_code._user import (
    FILES,
    FOLDERS,
    INSTALLED,
    MANAGED,
    MANAGED_FILES,
    enabled_plugins,
    user_home,
    user_servers,
)

if TYPE_CHECKING:
    from quintain_driver_claude_code._config import ClaudeCodeConfig

FORBIDDEN_ARGUMENTS: Mapping[str, str] = {
    "--continue": "leave it out: each trial is a new session",
    "-c": "leave it out: each trial is a new session",
    "--resume": "leave it out: each trial is a new session",
    "-r": "leave it out: each trial is a new session",
    "--fork-session": "leave it out: each trial is a new session",
    "--from-pr": "leave it out: each trial is a new session",
    "--add-dir": "lay out what it needs as fixtures",
    "--append-system-prompt-file": "write the text as `append_system_prompt`",
    "--system-prompt-file": "write the text as `system_prompt`",
    "--mcp-config": "write the servers under `mcp_servers`",
    "--plugin-dir": "name the directories in `plugins`",
    "--plugin-url": "name directories in `plugins`",
    "--settings": "write them under `settings`",
    "--setting-sources": "write `isolation` and `workspace_settings`",
    "--file": "lay out what it needs as fixtures",
    "--fallback-model": "leave it out: another model would be measured",
    "--ide": "leave it out",
    "--chrome": "leave it out",
    "--worktree": "leave it out: the workspace is the trial's own",
    "-w": "leave it out: the workspace is the trial's own",
}
FORBIDDEN_VARIABLES = frozenset({"PATH", "PATHEXT", "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "BUN_OPTIONS"})
FORBIDDEN_SETTINGS = re.compile(
    r"^(?:hooks|statusLine|subagentStatusLine|fileSuggestion|\w+Helper|aws\w+|gcp\w+|enabledPlugins|pluginConfigs"
    r"|extraKnownMarketplaces|additionalDirectories|autoMemoryDirectory|plansDirectory|fallbackModel\w*|env"
    r"|enable\w*Mcp\w*|\w*mcp\w*Servers|autoUpdatesChannel)$",
    re.IGNORECASE,
)
_SECRET = ("env", "headers")
"""Tables of a server's definition whose values may be secret: only their names count here."""


def prepare(config: ClaudeCodeConfig) -> ClaudeCodeConfig:
    """Refuse what can't be reproduced and bind what can. Raises PolicyViolation."""
    for name in config.env:
        if name.upper() in FORBIDDEN_VARIABLES:
            raise _violation(
                f"`env.{name}` decides what is run, and the digest would be that of something else",
                f"env.{name}",
                "take it out and name the program with `executable`",
            )
    for argument in config.extra_args:
        for name, instead in FORBIDDEN_ARGUMENTS.items():
            if is_option(argument, name):
                raise _violation(
                    f"`extra_args` has `{argument}`, which brings in what is in no digest", "extra_args", instead
                )
    for path in _settings(config.settings):
        raise _violation(
            f"`settings.{path}` points at what is in no digest",
            f"settings.{path}",
            "use `env`, `plugins` and `mcp_servers`, and leave out the rest",
        )
    if config.model is None or config.exact_model is None:
        said = "is not given" if config.model is None else f"is `{config.model}`, a short name"
        raise _violation(
            f"`model` {said}, and which model that is changes from time to time",
            "model",
            'write the id of the model, as in `model = "claude-sonnet-4-5"`',
        )
    return evolve(config, hooks=False, background=False)


def _violation(message: str, where: str, hint: str) -> PolicyViolation:
    return PolicyViolation(message, where=where, hint=hint)


def _settings(data: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Paths of settings that an experiment can't have, at any depth."""
    for key, value in data.items():
        path = f"{above}.{key}" if above else key
        if FORBIDDEN_SETTINGS.search(key):
            yield path
        elif isinstance(value, Mapping):
            yield from _settings(value, path)


async def identity(config: ClaudeCodeConfig, context: IdentityContext) -> dict[str, Any]:
    """What Claude Code consists of and reads.

    Raises:
        QuintainError: something that it reads is not there or no valid file.
        OSError: something can't be read.
    """
    path = config.env.get("PATH", context.environment.get("PATH"))
    found: dict[str, Any] = {}
    program = find_program(config.executable, path)
    if program is not None:
        behind = {place.name: context.digest_file(place) for place in chain(program, path)}
        if behind:
            found["behind"] = behind
    found["managed"] = {
        name: digest
        for place in MANAGED
        for name in MANAGED_FILES
        if (digest := _if_there(place / name, context)) is not None
    }
    for key in ("skills", "plugins"):
        places = getattr(config, key)
        if places:
            found[key] = {PurePath(place).name: context.digest_tree(Path(place)) for place in places}
    if config.mcp_servers:
        found["mcp_servers"] = server_programs(config.mcp_servers, path, context)
    if config.isolation == "user":
        found["user"] = _user(user_home(context.environment, context.home), path, context)
    return found


def _if_there(path: Path, context: IdentityContext) -> str | None:
    try:
        return context.digest_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _user(home: Path, path: str | None, context: IdentityContext) -> dict[str, Any]:
    """The user's own settings: what is there, each by its name."""
    found: dict[str, Any] = {name: _if_there(home / name, context) for name in FILES}
    for name in FOLDERS:
        if (home / name).is_dir():
            found[name] = context.digest_tree(home / name)
    plugins = enabled_plugins(home)
    if plugins:
        found[INSTALLED] = _if_there(home / INSTALLED, context)
        found["plugins"] = {id: context.digest_tree(place) for id, place in plugins.items()}
    servers = user_servers(home)
    if servers:
        files = server_programs(servers, path, context)
        found["mcp_servers"] = {
            name: {"definition": definition_digest(server, _SECRET), "files": files.get(name)}
            for name, server in servers.items()
        }
    return found
