"""What an experiment demands of a program, and what its agent consists of besides its own bytes.

The core takes the digest of the program itself. What a program reads while it runs nobody can know; so in an experiment
all that steers it has to be in one file that is named by its absolute path.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, Protocol, TypeVar

from quintain import IdentityContext, PolicyViolation, QuintainError
from quintain.driving import interpreter_of

MOST_INTERPRETERS = 4
"""An interpreter may be a script with an interpreter of its own, but not for ever."""


class _Config(Protocol):
    @property
    def command(self) -> tuple[str, ...]: ...

    @property
    def cwd(self) -> str | None: ...

    @property
    def env(self) -> Any: ...


C = TypeVar("C", bound=_Config)


def prepare(config: C) -> C:
    """Refuse a program whose behaviour would not be known by a digest. Raises PolicyViolation."""
    wrapper = (
        "write a small executable script that does it (`#!/bin/sh`, then `exec ...`), and name that script: "
        '`command = ["{project}/agent.sh"]`'
    )
    program = config.command[0]
    if not PurePath(program).is_absolute():
        raise PolicyViolation(
            f"`command` names the program `{program}`; an experiment needs its absolute path, so that always the same "
            "file is run and its digest can be taken",
            where="command",
            hint=f'write `command = ["/path/to/{PurePath(program).name}"]`; `{{project}}` stands for the project\'s folder',
        )
    if len(config.command) > 1:
        raise PolicyViolation(
            f"`command` has arguments ({' '.join(config.command[1:])}), and what they name is in no digest",
            where="command",
            hint=wrapper,
        )
    if config.cwd is not None:
        raise PolicyViolation(
            "`cwd` makes the agent start elsewhere than in the workspace",
            where="cwd",
            hint="take `cwd` out and lay out the fixtures as the agent should find them",
        )
    if config.env:
        raise PolicyViolation(
            f"`env` sets {', '.join(sorted(config.env))}, which is in no digest",
            where="env",
            hint=f"{wrapper}; pass credentials by the profile's `secrets`",
        )
    return config


async def identity(config: _Config, context: IdentityContext) -> dict[str, Any]:
    """What runs the program if it is a script, and outside of experiments the files that its arguments name.

    Raises:
        QuintainError: an interpreter can't be found.
        OSError: one can't be read.
    """
    found: dict[str, Any] = {}
    path = context.environment.get("PATH")
    program = shutil.which(config.command[0], path=path)
    if program is not None:
        interpreters = {name: context.digest_file(place) for name, place in _interpreters(Path(program), path)}
        if interpreters:
            found["interpreter"] = interpreters
    arguments: dict[str, str] = {}
    for number, part in enumerate(config.command[1:], 1):
        if PurePath(part).is_absolute() and Path(part).is_file():
            name = PurePath(part).name
            arguments[name if name not in arguments else f"{name} {number}"] = context.digest_file(Path(part))
    if arguments:
        found["arguments"] = arguments
    return found


def _interpreters(program: Path, path: str | None) -> Iterator[tuple[str, Path]]:
    """Names and places of what runs a script, as its first line says, and of what runs that if it is a script, too."""
    for _ in range(MOST_INTERPRETERS):
        asked = _asked(program)
        if asked is None:
            return
        place = shutil.which(asked, path=path)
        if place is None:
            raise QuintainError(f"the first line of {program} asks for `{asked}`, which is not there")
        program = Path(place)
        yield PurePath(asked).name, program


def _asked(program: Path) -> str | None:
    try:
        return interpreter_of(program)
    except OSError:  # it may be executed and not be read; the core says so
        return None
