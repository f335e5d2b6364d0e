"""What an experiment demands of a server: that all that steers it has a digest."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePath
from typing import Any

from quintain import IdentityContext, PolicyViolation, QuintainError
from quintain.driving import interpreter_of

from quintain_driver_mcp_probe._config import ProbeConfig


def prepare(config: ProbeConfig) -> ProbeConfig:
    """Refuse a server whose behaviour would not be known by a digest. Raises PolicyViolation."""
    script = 'put it into one executable file and name that: `command = ["{project}/server.sh"]`'
    if not PurePath(config.command[0]).is_absolute():
        raise PolicyViolation(
            f"`command` names `{config.command[0]}`, which may be another program elsewhere; an experiment needs an "
            "absolute path",
            where="command",
            hint=script,
        )
    if len(config.command) > 1:
        raise PolicyViolation(
            "`command` has arguments, and what they name is in no digest", where="command", hint=script
        )
    if config.env:
        raise PolicyViolation(
            f"`env` sets {', '.join(sorted(config.env))}, which is in no digest", where="env", hint=script
        )
    return config


async def identity(config: ProbeConfig, context: IdentityContext) -> dict[str, Any]:
    """What interprets the server if it is a script, and the local files that its arguments name.

    Raises:
        QuintainError: the interpreter can't be found.
        OSError: a file can't be read.
    """
    found: dict[str, Any] = {}
    path = context.environment.get("PATH")
    program = shutil.which(config.command[0], path=path)
    asked = None if program is None else interpreter_of(Path(program))
    if asked is not None:
        place = shutil.which(asked, path=path)
        if place is None:
            raise QuintainError(f"the first line of {program} asks for `{asked}`, which is not there")
        found["interpreter"] = {PurePath(asked).name: context.digest_file(Path(place))}
    files = {
        f"{number} {PurePath(part).name}": context.digest_file(Path(part))
        for number, part in enumerate(config.command[1:], 1)
        if PurePath(part).is_absolute() and Path(part).is_file()
    }
    if files:
        found["arguments"] = files
    return found
