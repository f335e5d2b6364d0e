"""The system's table of processes. Used by the keeper, and so as light to import as that."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Row:
    """One process in the system's table."""

    __slots__ = ("cpu_s", "dead", "group", "parent", "pid", "session", "started")

    def __init__(
        self,
        pid: int,
        parent: int,
        group: int,
        session: int = 0,
        dead: bool = False,
        cpu_s: float = 0,
        started: int = 0,
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.dead = dead
        self.cpu_s = cpu_s
        self.started = started


def table() -> dict[int, Row]:
    """All processes that we may see, by id."""
    rows = _proc_rows() if sys.platform == "linux" else _ps_rows()
    return {row.pid: row for row in rows}


def _proc_rows() -> Iterator[Row]:
    tick = os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            stat = read_small(f"/proc/{name}/stat")
        except OSError:  # it has ended since the listing
            continue
        # the second field is the program's name in brackets and may itself hold brackets and spaces
        fields = stat[stat.rindex(b")") + 2 :].split()
        yield Row(
            pid=int(name),
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            dead=fields[0] in b"ZX",
            cpu_s=sum(map(int, fields[11:15])) / tick,
            started=int(fields[19]),
        )


def _ps_rows() -> Iterator[Row]:
    import subprocess

    with subprocess.Popen(["ps", "-axo", "pid=,ppid=,pgid=,stat=,time="], stdout=subprocess.PIPE) as ps:
        listing, _ = ps.communicate()
    for line in listing.decode("ascii", "replace").splitlines():
        pid, parent, group, state, clock = line.split()[:5]
        if int(pid) == ps.pid:
            continue
        days, _, hours = clock.rpartition("-")
        seconds = 0.0
        for part in hours.split(":"):
            seconds = seconds * 60 + float(part)
        cpu_s = seconds + 86400 * int(days or 0)
        yield Row(int(pid), int(parent), int(group), dead=state[0] == "Z", cpu_s=cpu_s)


def read_small(path: str) -> bytes:
    """A file of /proc, with as few system calls as can be."""
    fd = os.open(path, os.O_RDONLY)
    try:
        data = os.read(fd, 65536)
        while len(data) % 4096 == 0 and (more := os.read(fd, 65536)):
            data += more
        return data
    finally:
        os.close(fd)


def below(rows: dict[int, Row], top: int, depth: int = 0) -> Iterator[Row]:
    """Those that descend from `top`, at least `depth` generations under its children; zombies left out."""
    children: dict[int, list[Row]] = {}
    for row in rows.values():
        children.setdefault(row.parent, []).append(row)
    waiting = [(top, -1)]
    while waiting:
        pid, level = waiting.pop()
        for row in children.get(pid, ()):
            waiting.append((row.pid, level + 1))
            if level + 1 >= depth and not row.dead:
                yield row


def send_signal(number: int, pid: int = 0, group: int = 0) -> None:
    """Send it to a process or to a group, if it is there."""
    try:
        if group:
            os.killpg(group, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):  # gone already, or another user's: what lives on is reported
        pass
