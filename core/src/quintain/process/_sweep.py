"""Find and kill processes that nobody answers for: leftovers of a killed harness, strays of a killed keeper.

Only for accidents. While a keeper lives it knows its processes exactly; here they are recognised by the marker variable
in their environment or by the session they were started in, and one that shed both is not found.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

import anyio

from quintain.process._table import read_small, send_signal, table

PATIENCE_S = 5.0
PAUSE_S = 0.01


def sweep(marker_name: str, is_orphan: Callable[[str], bool]) -> int:
    """Kill processes whose environment holds a marker, for the start of a run after one that was killed.

    Args:
        marker_name: the variable that commands were started with.
        is_orphan: whether the value of the marker belongs to a run that is no more. Must not start anything.

    Returns:
        How many processes were killed.
    """
    killed: set[int] = set()
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        found = {pid for pid, value in _marked(marker_name) if pid != os.getpid() and is_orphan(value)}
        if not found:
            break
        _kill(found)
        killed |= found
        time.sleep(PAUSE_S)
    return len(killed)


async def kill_strays(session: int, marker: tuple[str, str] | None) -> set[int]:
    """Kill what is left of a command whose keeper is dead.

    Args:
        session: process id of the command, which was the leader of its session and of its group.
        marker: that it was started with.

    Returns:
        The processes that were killed.
    """
    killed: set[int] = set()
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        found = {row.pid for row in table().values() if session in (row.session, row.group) and not row.dead}
        if marker is not None:
            found |= {pid for pid, value in _marked(marker[0]) if value == marker[1] and pid != os.getpid()}
        if not found:
            break
        _kill(found)
        killed |= found
        await anyio.sleep(PAUSE_S)
    return killed


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        send_signal(signal.SIGKILL, pid=pid)


def _marked(name: str) -> Iterable[tuple[int, str]]:
    """Living processes that carry the variable, with its value."""
    return _marked_in_proc(name) if sys.platform == "linux" else _marked_by_ps(name)


def _marked_in_proc(name: str) -> Iterable[tuple[int, str]]:
    start = os.fsencode(name) + b"="
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            environment = read_small(f"/proc/{pid}/environ")
        except OSError:  # gone, or not ours
            continue
        for entry in environment.split(b"\0"):
            if entry.startswith(start):
                yield int(pid), os.fsdecode(entry[len(start) :])
                break


def _marked_by_ps(name: str) -> Iterable[tuple[int, str]]:
    # `-E` shows the environment after the command, without quoting: a marker's value must not have spaces in it
    listing = subprocess.run(["ps", "-axwwE", "-o", "pid=,command="], capture_output=True, check=True).stdout
    pattern = re.compile(rf"\s{re.escape(name)}=(\S*)")
    for line in listing.decode("utf-8", "replace").splitlines():
        pid, _, command = line.strip().partition(" ")
        if found := pattern.search(command):
            yield int(pid), found[1]
