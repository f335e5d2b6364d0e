"""What an experiment demands of a configuration, and what Codex consists of and reads besides it.

In an experiment everything that steers Codex is either a key of the configuration or has a digest: nothing of the
user's own settings, nothing that an argument brings in from elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from quintain import IdentityContext, PolicyViolation, QuintainError
from quintain.driving import definition_digest, digest_if_there, find_program, is_option, server_programs

from quintain_driver_codex._binary import behind
from quintain_driver_codex._user import CONFIG, USER_FILES, USER_FOLDERS, user_home

if TYPE_CHECKING:
    from quintain_driver_codex._config import CodexConfig

FORBIDDEN_ARGUMENTS: Mapping[str, str] = {
    "--add-dir": "lay out what it needs as fixtures",
    "--cd": "lay out the fixtures as the agent should find them",
    "-C": "lay out the fixtures as the agent should find them",
    "--config": "write it under `config`",
    "-c": "write it under `config`",
    "--profile": "write its settings under `config`",
    "-p": "write its settings under `config`",
    "--enable": "write `config.features`",
    "--disable": "write `config.features`",
    "--cloud-skills-snapshot": "name directories in `skills`",
    "--code-mode-host": "leave it out",
    "--remote": "leave it out",
}
FORBIDDEN_VARIABLES = frozenset({"PATH", "PATHEXT", "LD_PRELOAD", "LD_LIBRARY_PATH"})
FORBIDDEN_SETTINGS = re.compile(r"mcp_servers|instructions_file|notify|project_doc|^profiles?$", re.IGNORECASE)
HELPERS = ("bin/codex-code-mode-host", "codex-path/rg", "codex-resources/bwrap")
"""Programs of the package that the real one starts."""


def prepare(config: CodexConfig) -> CodexConfig:
    """Refuse what can't be reproduced. Raises PolicyViolation."""
    if config.isolation == "user":
        raise _violation(
            "`isolation` is `user`, and a user's own settings are not those of an experiment",
            "isolation",
            'write `isolation = "clean"`, and what you need of your settings under `config`, `instructions`, '
            "`mcp_servers` and `skills`",
        )
    if not config.ephemeral:
        raise _violation("`ephemeral` is false, and an experiment keeps no sessions", "ephemeral", "leave it out")
    for name in config.env:
        if name.upper() in FORBIDDEN_VARIABLES:
            raise _violation(
                f"`env.{name}` decides which program is run, and its digest would be that of another",
                f"env.{name}",
                "take it out and name the program with `executable`",
            )
    for argument in config.extra_args:
        for name, instead in FORBIDDEN_ARGUMENTS.items():
            if is_option(argument, name):
                raise _violation(
                    f"`extra_args` has `{argument}`, which brings in what is in no digest", "extra_args", instead
                )
    for path in _settings(config.config):
        raise _violation(
            f"`config.{path}` points at what is in no digest",
            f"config.{path}",
            "use `mcp_servers` for tool servers and `instructions` for instructions, and leave out the rest",
        )
    return config


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
        elif isinstance(value, list | tuple):
            for one in value:
                if isinstance(one, Mapping):
                    yield from _settings(one, path)


async def identity(config: CodexConfig, context: IdentityContext) -> dict[str, Any]:
    """What Codex consists of and reads.

    Raises:
        QuintainError: something that it reads is not there or no valid file.
        OSError: something can't be read.
    """
    path = config.env.get("PATH", context.environment.get("PATH"))
    found: dict[str, Any] = {}
    program = find_program(config.executable, path)
    if program is not None and (binary := behind(program)) != program:
        found["binary"] = context.digest_file(binary)
        helpers = {Path(name).name: binary.parent.parent / name for name in HELPERS}
        found["helpers"] = {name: context.digest_file(place) for name, place in helpers.items() if place.is_file()}
    if config.mcp_servers:
        found["mcp_servers"] = server_programs(config.mcp_servers, path, context)
    if config.skills:
        found["skills"] = {PurePath(skill).name: context.digest_tree(Path(skill)) for skill in config.skills}
    if config.isolation == "user":
        found["user"] = _user(user_home(context.environment, context.home), path, context)
    return found


def _user(home: Path, path: str | None, context: IdentityContext) -> dict[str, Any]:
    """The user's own settings: what is there, each by its name."""
    found: dict[str, Any] = {}
    for name in (CONFIG, *USER_FILES):
        found[name] = digest_if_there(home / name, context)
    for name in USER_FOLDERS:
        if (home / name).is_dir():
            found[name] = _entries(home / name, context)
    try:
        settings = tomllib.loads((home / CONFIG).read_text("utf-8"))
    except FileNotFoundError:
        return found
    except ValueError as error:
        raise QuintainError(f"{home / CONFIG} is no valid TOML: {error}") from error
    servers = settings.get("mcp_servers")
    if isinstance(servers, dict) and servers:
        files = server_programs(servers, path, context)
        found["mcp_servers"] = {
            name: {"definition": definition_digest(server, _SECRET), "files": files.get(name)}
            for name, server in servers.items()
        }
    return found


def _entries(folder: Path, context: IdentityContext) -> dict[str, str]:
    """Digests of what a folder holds, by name; what Codex lays out there itself begins with a dot."""
    return {
        entry.name: context.digest_tree(entry) if entry.is_dir() else context.digest_file(entry)
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith(".")
    }


_SECRET = ("env", "http_headers")
"""Tables of a server's definition whose values may be secret: only their names count here."""
