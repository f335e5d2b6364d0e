"""What a driver's experiment policy looks at: options, programs, and what tool servers consist of."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from quintain.contracts.driver import IdentityContext
from quintain.errors import QuintainError

FIRST_LINE_BYTES = 256
"""More of a first line is not heeded by the system."""


def is_option(argument: str, name: str) -> bool:
    """The argument is this option, alone or with its value attached."""
    if argument == name:
        return True
    return argument.startswith(f"{name}=" if name.startswith("--") else name)


def find_program(executable: str, path: str | None) -> Path | None:
    """Where a program lies, links resolved; None if it isn't there.

    Args:
        executable: its path, or a name to search for.
        path: value of PATH to search.
    """
    found = shutil.which(executable, path=path)
    return Path(found).resolve() if found is not None else None


def interpreter_of(program: Path) -> str | None:
    """The interpreter that a script asks for in its first line, or None if it is no script; `env` stands for what it
    looks for. Raises OSError."""
    with program.open("rb") as file:
        line = file.readline(FIRST_LINE_BYTES)
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode("utf-8", "surrogateescape").split()
    if words and PurePath(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


def server_programs(servers: Mapping[str, Any], path: str | None, context: IdentityContext) -> dict[str, Any]:
    """Digests of the programs of tool servers and of the files that their arguments name, by server.

    Args:
        servers: their definitions by name, each with `command` and `args` if a program is started for it.
        path: value of PATH to search.
        context: takes digests.

    Raises:
        QuintainError: a program is not there.
        OSError: a file can't be read.
    """
    return {
        name: {title: context.digest_file(file) for title, file in _files(server, path)}
        for name, server in servers.items()
        if isinstance(server, Mapping)
    }


def _files(server: Mapping[str, Any], path: str | None) -> Iterator[tuple[str, Path]]:
    command = server.get("command")
    if isinstance(command, str):
        program = find_program(command, path)
        if program is None:
            raise QuintainError(f"the tool server's program `{command}` is not there")
        yield PurePath(command).name, program
    arguments = server.get("args")
    for number, part in enumerate(arguments if isinstance(arguments, list | tuple) else (), 1):
        if isinstance(part, str) and PurePath(part).is_absolute() and Path(part).is_file():
            yield f"{number} {PurePath(part).name}", Path(part)


def definition_digest(server: object, secret: Collection[str]) -> str:
    """A digest of a tool server's definition, so that a change of it has its own name.

    Args:
        server: the definition.
        secret: keys of tables whose values may be secret: only their names count.
    """
    if isinstance(server, Mapping):
        server = {
            key: sorted(value) if key in secret and isinstance(value, Mapping) else value
            for key, value in server.items()
        }
    plain = json.dumps(server, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


def digest_if_there(path: Path, context: IdentityContext) -> str | None:
    """Digest of a file that need not be there. Raises OSError."""
    try:
        return context.digest_file(path)
    except FileNotFoundError:
        return None
