"""What is to be run, and everything that can be known to be wrong with it before anything is started."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import field, frozen

from quintain.errors import LaunchError
from quintain.process._sandbox import Sandbox, confine

ARGUMENT_BYTES = 128 * 1024 - 1
"""The longest single argument or variable that Linux passes to a program; its end mark needs one more byte."""


@frozen
class Limits:
    """How long and how much; all seconds are measured on a monotonic clock.

    Attributes:
        line_bytes: the longest line of output that is kept whole.
        stderr_head: bytes kept of the beginning of the error output.
        stderr_tail: bytes kept of its end.
        stdin_close_s: after the input of a process that is to stop was closed, before it is asked by signal.
        grace_s: after that signal, before the whole tree is killed.
        linger_s: after a process has closed its output, before `lines()` ends without waiting for its exit.
        settle_s: after a process has ended, before what is left of its tree is killed; long enough for a filter at
            the end of a pipe to write its last lines.
    """

    line_bytes: int = 64 * 1024 * 1024
    stderr_head: int = 64 * 1024
    stderr_tail: int = 64 * 1024
    stdin_close_s: float = 0.25
    grace_s: float = 3.0
    linger_s: float = 5.0
    settle_s: float = 0.2


def _strings(argv: object) -> tuple[str, ...]:
    if isinstance(argv, str | bytes):
        raise TypeError("argv is a sequence of arguments, not one string; nothing here is split by a shell")
    return tuple(str(part) for part in argv)  # type: ignore[attr-defined]  # a converter is given anything


@frozen
class Command:
    """One program with all that it is given.

    Attributes:
        argv: the program and its arguments. A program without a slash is searched for on the PATH of `env`; one with
            a slash that isn't absolute starts at `cwd`.
        cwd: working directory.
        env: all of its environment; nothing is inherited.
        stdin: "pipe" for a protocol that needs it; with "null" it finds its input at the end.
        marker: name and value of a variable that every descendant carries, for `sweep`.
        sandbox: to run it in, or None.
        limits: see there.
    """

    argv: tuple[str, ...] = field(converter=_strings)
    cwd: Path
    env: Mapping[str, str]
    stdin: Literal["pipe", "null"] = "null"
    marker: tuple[str, str] | None = None
    sandbox: Sandbox | None = None
    limits: Limits = Limits()


@frozen
class Prepared:
    """A command in the words of the system."""

    executable: bytes
    argv: list[bytes]
    env: dict[bytes, bytes]
    cwd: bytes


def find_executable(name: str, *, path: str | None, cwd: Path) -> Path:
    """Find a program as `execvp` would, but relative to the directory where it will run.

    Args:
        name: a path if there is a slash in it, otherwise a name to search for.
        path: directories separated by colons, or None for the system's default.
        cwd: where relative paths start.

    Raises:
        LaunchError: there is no such program, or it may not be executed; says where it was looked for.
    """
    if not name:
        raise LaunchError("the name of the program is empty")
    if os.sep in name:
        folders, places = [], [_under(cwd, name)]
    else:
        folders = [folder for folder in (os.defpath if path is None else path).split(os.pathsep) if folder]
        places = [_under(cwd, f"{folder}/{name}") for folder in folders]
    there = [place for place in places if os.access(place, os.F_OK) and Path(place).is_file()]
    for place in there:
        if os.access(place, os.X_OK):
            return Path(place)
    if there:
        raise LaunchError(f"{there[0]} is not executable", hint=f"chmod +x {there[0]}")
    if os.sep in name:
        raise LaunchError(f"there is no program {places[0]}")
    looked = f"looked on PATH: {', '.join(folders)}" if folders else "PATH is empty"
    raise LaunchError(f"there is no program `{name}`", hint=looked)


def _under(cwd: Path, place: str) -> str:
    return place if place.startswith(os.sep) else f"{cwd}/{place}"


def prepare(command: Command) -> Prepared:
    """Check a command and resolve its program, so that most mistakes are told before anything runs.

    Raises:
        LaunchError: see the message.
        SandboxUnavailable: a sandbox is asked for and its program isn't there.
    """
    if not command.argv:
        raise LaunchError("the command is empty")
    if not command.cwd.is_dir():
        raise LaunchError(f"the working directory {command.cwd} does not exist")
    env = dict(command.env)
    if command.marker is not None:
        env[command.marker[0]] = command.marker[1]
    executable = find_executable(command.argv[0], path=env.get("PATH"), cwd=command.cwd)
    argv = command.argv
    if command.sandbox is not None:
        argv = confine(command.sandbox, executable, argv[1:], cwd=command.cwd)
        executable = Path(argv[0])
    return Prepared(
        os.fsencode(executable),
        [_argument(place, part) for place, part in enumerate(argv)],
        {_name(name): _value(name, value) for name, value in env.items()},
        os.fsencode(command.cwd),
    )


def _argument(place: int, part: str) -> bytes:
    data = os.fsencode(part)
    what = f"argument {place} ({_quoted(part)})"
    if b"\0" in data:
        raise LaunchError(f"{what} has a zero byte in it, which no program can be given")
    if len(data) > ARGUMENT_BYTES:
        raise LaunchError(
            f"{what} has {len(data)} bytes; the system passes at most {ARGUMENT_BYTES} in one argument",
            hint="pass long texts by standard input or in a file",
        )
    return data


def _name(name: str) -> bytes:
    if not name or "=" in name or "\0" in name:
        raise LaunchError(f"{_quoted(name)} can't be the name of an environment variable")
    return os.fsencode(name)


def _value(name: str, value: str) -> bytes:
    data = os.fsencode(value)
    if b"\0" in data:
        raise LaunchError(f"the environment variable {name} has a zero byte in it")
    if len(os.fsencode(name)) + 1 + len(data) > ARGUMENT_BYTES:
        raise LaunchError(
            f"the environment variable {name} has {len(data)} bytes; the system passes at most {ARGUMENT_BYTES} "
            "in a name and its value",
            hint="pass long texts by standard input or in a file",
        )
    return data


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def explain(command: Command, prepared: Prepared, number: int, reason: str) -> LaunchError:
    """Why the system refused to start a command that looked right.

    Args:
        command: as it was given.
        prepared: the same in the system's words.
        number: errno.
        reason: the system's own words.
    """
    program = Path(os.fsdecode(prepared.executable))
    size = sum(map(len, prepared.argv)) + sum(len(name) + len(value) for name, value in prepared.env.items())
    first = _first_line(program)
    if number == errno.E2BIG:
        return LaunchError(
            f"the arguments and the environment of {program} have {size} bytes together, more than the system passes",
            hint="pass long texts by standard input or in a file",
        )
    if number == errno.ENOENT and first.startswith(b"#!"):
        interpreter = first[2:].strip().decode("utf-8", "replace")
        return LaunchError(f"{program} can't be started: its first line asks for `{interpreter}`, which is not there")
    if number == errno.ENOEXEC:
        return LaunchError(f"{program} is neither a program for this machine nor a script with a first line `#!...`")
    return LaunchError(f"{program} can't be started in {command.cwd}: {reason}")


def _first_line(program: Path) -> bytes:
    try:
        with program.open("rb") as file:
            return file.readline(256)
    except OSError:  # a program may be executable and yet not readable
        return b""
