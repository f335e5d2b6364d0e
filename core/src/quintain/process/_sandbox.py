"""Run a command where it can see the system, its own folders, and nothing else.

Read-only system directories, an empty private /tmp, no home directories, its own /proc and process ids, no network
unless allowed. What isn't named isn't there: that is stronger than forbidding. Done by bubblewrap (`bwrap`), Linux only.

Two things are different for a sandboxed command: its first argument is the resolved path of the program, and if a
signal ends it, its exit status is 128 plus the signal's number.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from attrs import frozen

from quintain.errors import LaunchError, SandboxUnavailable

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store")
RESOLVER = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Where /etc/resolv.conf may be a link to."""

INSTALL = (
    "install bubblewrap (the package is called so on Debian, Ubuntu, Fedora, Arch and Alpine), or turn the sandbox off"
)


@frozen
class Sandbox:
    """What a command may see and change.

    Attributes:
        kind: the means; there is one.
        network: it may use the network of the host.
        writable: folders that it may change, at their own paths; its workspace, home and temporary folder.
        readable: folders and files that it may read, beside the system's.
        hidden: folders and files inside those that it must not see.
    """

    kind: Literal["bwrap"] = "bwrap"
    network: bool = False
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()


def locate_bwrap() -> str:
    """Path of the sandbox program, found on our own PATH, not on that of the command.

    Raises:
        SandboxUnavailable: it isn't there.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable("a sandbox was asked for, and the program `bwrap` is not on PATH", hint=INSTALL)
    return found


def confine(sandbox: Sandbox, executable: Path, arguments: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
    """The command that runs `executable` inside a sandbox.

    Raises:
        LaunchError: the program, the working directory or a named folder would not be there inside.
        SandboxUnavailable: there is no `bwrap`.
    """
    shown = [Path(folder) for folder in SYSTEM] + [*sandbox.readable, *sandbox.writable]
    _demand_visible(executable, shown, "the program")
    _demand_visible(cwd, shown, "the working directory")
    options = [
        "--die-with-parent",
        "--unshare-user-try",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        *(() if sandbox.network else ("--unshare-net",)),
        *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run", "--dir", "/var/tmp"),
        *_mounts(sandbox),
        *("--chdir", str(cwd), "--"),
    ]
    return (locate_bwrap(), *options, str(executable), *arguments)


def _mounts(sandbox: Sandbox) -> Iterator[str]:
    for folder in SYSTEM + (RESOLVER if sandbox.network else ()):
        yield from ("--ro-bind-try", folder, folder)
    for path in sandbox.readable:
        yield from ("--ro-bind", *_twice(path))
    for path in sandbox.writable:
        yield from ("--bind", *_twice(path))
    for path in sandbox.hidden:
        if path.is_dir():
            yield from ("--tmpfs", str(path))
        elif path.exists():
            yield from ("--ro-bind", os.devnull, str(path))


def _twice(path: Path) -> tuple[str, str]:
    if not path.is_absolute() or not path.exists():
        raise LaunchError(f"{path} can't be shown to a sandboxed command: it is not an absolute path that exists")
    return str(path), str(path)


def _demand_visible(path: Path, shown: Sequence[Path], what: str) -> None:
    for place in {path, path.resolve()}:
        if not any(place.is_relative_to(folder) for folder in shown):
            raise LaunchError(
                f"{what} {place} is not visible inside the sandbox",
                hint="add its folder to `readable`, or to `writable` if it is to be changed",
            )
