"""Agents for the tests of the process room: small scripts, and ways to see what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from quintain.process import Command

MARKER = "QUINTAIN_TEST_MARKER"


class Agents(Protocol):
    """Makes the command of an agent that runs some Python code."""

    def __call__(self, code: str, *arguments: str, **fields: Any) -> Command: ...


@contextmanager
def bystander(*argv: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that no keeper knows of, in a session of its own."""
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """It runs; a zombie doesn't."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def carriers(marker: tuple[str, str]) -> list[int]:
    """Living processes that carry the marker."""
    entry = f"{marker[0]}={marker[1]}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if entry in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
        except OSError:
            continue
    return [pid for pid in found if alive(pid)]


def eventually(condition: Callable[[], bool], within_s: float = 20.0) -> bool:
    """Wait for something that other processes do."""
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
