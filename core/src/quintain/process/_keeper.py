"""The keeper: a small program that starts one command at a time and answers for every process that comes of it.

Why another process between us and an agent: on Linux a keeper is a *child subreaper*. Whatever an agent starts, in
whatever session, with whatever environment, after whatever double fork, ends up below its keeper and below no other. So
"does anything of this agent still run?" is one `waitpid` call, "which processes are its?" has an exact answer, the
kernel's exit status can't be stolen by other code in our process, and if our process is killed, even with signal 9, the
keeper finds its control socket at the end, kills the tree and goes.

It is run as `python -I -S`, imports only a few modules of the standard library, holds no environment of ours and
listens on a socket that it has as standard input. Both ends speak frames: four bytes of length, then a
`marshal`ed tuple (both ends are the same interpreter). The other end is `_keepers.py`.

What an agent asks another service to start (a container engine, cron) is nobody's descendant and not found.

On systems without subreapers (macOS) the tree is found by `ps`: the command's process group, and what descends from the
keeper. A process that leaves the group *and* loses its parent before it is looked at escapes there.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable
    from typing import Any

    from quintain.process._frames import KILL_S, pack, unpack
    from quintain.process._table import Row, below, send_signal, table
else:
    # it runs outside of the package; and the modules in C come without enumerations, which are half of its start
    import _signal as signal
    import _socket as socket

    from _frames import KILL_S, pack, unpack
    from _table import below, send_signal, table

PR_SET_CHILD_SUBREAPER = 36
PARENT_CHECK_S = 5.0
WRAPPER_DEPTH = 2
"""A sandbox puts two processes of its own, an outer and an inner one, above the command."""


class Keeper:
    """Its state and its loop."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.parent = os.getppid()
        self.control = socket.socket(fileno=os.dup(0))
        self.received = bytearray()
        self.handed: list[int] = []
        self.root = 0
        self.status: int | None = None
        self.settle_s = 0.0
        self.settled_at = 0.0
        self.sent = 0
        self.wrapped = False
        self.cpu_before = 0.0
        self.exact = _become_subreaper()
        self.wake, wake = os.pipe()
        for fd in (self.wake, wake):
            os.set_blocking(fd, False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # its life is bound to the control socket, and to nothing else
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self.defaults = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
        self.poll = select.poll()
        self.poll.register(self.control, select.POLLIN)
        self.poll.register(self.wake, select.POLLIN)
        self.answers: dict[str, Callable[..., None]] = {
            "spawn": self.on_spawn,
            "term": self.on_term,
            "kill": self.on_kill,
            "activity": self.on_activity,
        }

    def serve(self) -> None:
        """Do what the frames say until the other end is gone."""
        while self.pause() and os.getppid() == self.parent:
            while frame := unpack(self.received):
                self.answers[frame[0]](*frame[1:])
            self.reap()

    def pause(self) -> bool:
        """Wait for a frame, a dead child or the end of the settling time; False if the other end is gone."""
        timeout_s = PARENT_CHECK_S if self.status is None else max(0.0, self.settled_at - time.monotonic())
        for fd, _ in self.poll.poll(timeout_s * 1000):
            if fd == self.wake:
                os.read(self.wake, 4096)
            elif not self.receive():
                return False
        return True

    def receive(self) -> bool:
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        try:
            data, extra, _, _ = self.control.recvmsg(1 << 18, socket.CMSG_SPACE(3 * 4), flags)
        except ConnectionError:
            return False
        for level, kind, handles in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self.handed += memoryview(handles).cast("i")
        for fd in () if flags else self.handed:
            os.set_inheritable(fd, False)
        self.received += data
        return bool(data)

    def tell(self, *frame: Any) -> None:
        try:
            self.control.sendall(pack(*frame))
        except OSError:  # the other end is gone; the next read says so too
            return

    def on_spawn(
        self,
        executable: bytes,
        argv: list[bytes],
        env: dict[bytes, bytes],
        cwd: bytes,
        settle_s: float,
        wrapped: bool,
    ) -> None:
        """Start a command; the descriptors for its output, errors and perhaps input have come with the frame."""
        output, errors, *inputs = self.handed
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, errors, 2)]
        if inputs:
            actions.append((os.POSIX_SPAWN_DUP2, inputs[0], 0))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        self.status, self.sent, self.settle_s, self.wrapped = None, 0, settle_s, wrapped
        self.cpu_before = _cpu_of_reaped()
        try:
            os.chdir(cwd)
            self.root = os.posix_spawn(
                executable, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=self.defaults
            )
        except OSError as error:
            self.tell("failed", error.errno, str(error.strerror))
        else:
            self.tell("spawned", self.root)
        finally:
            os.chdir("/")  # a keeper must not keep a directory from being removed
            while self.handed:
                os.close(self.handed.pop())

    def on_term(self) -> None:
        """Ask the command to end: its group, or what runs inside its sandbox, whose own processes must outlive it."""
        if not self.root:
            return
        self.sent = max(self.sent, int(signal.SIGTERM))
        inner = list(below(table(), self.pid, WRAPPER_DEPTH)) if self.wrapped else []
        for number in (signal.SIGTERM, signal.SIGCONT):  # one that is suspended has to wake up to hear it
            for row in inner:
                send_signal(number, pid=row.pid)
            if not inner:
                send_signal(number, group=self.root)

    def on_kill(self) -> None:
        """Kill the command, then without delay whatever is left of it."""
        self.settle_s = self.settled_at = 0.0
        if not self.exact:  # what the command's death orphans is not found again
            for row in self.tree():
                send_signal(signal.SIGKILL, pid=row.pid)
        if self.root:
            self.sent = int(signal.SIGKILL)
            send_signal(signal.SIGKILL, pid=self.root)

    def on_activity(self) -> None:
        """Say how much the tree has worked and how many it are."""
        rows = self.tree()
        self.tell("activity", self.cpu_s() + sum(row.cpu_s for row in rows), len(rows))

    def cpu_s(self) -> float:
        return _cpu_of_reaped() - self.cpu_before

    def tree(self) -> list[Row]:
        """All living processes that came of the command."""
        rows = table()
        found = {row.pid: row for row in below(rows, self.pid)}
        if not self.exact and self.root:
            found.update((row.pid, row) for row in rows.values() if row.group == self.root and not row.dead)
        return list(found.values())

    def reap(self) -> None:
        """Collect the dead; once the command is among them and nothing is left of it, report its end."""
        alone = self.collect()
        if self.status is None:
            return
        left: list[int] = []
        killed = 0
        if not (alone if self.exact else not self.tree()):
            if time.monotonic() < self.settled_at:
                return
            killed, left = self.kill_tree()
        status, self.status, self.root = self.status, None, 0
        self.tell("ended", status, self.sent, killed, left, self.cpu_s())

    def collect(self) -> bool:
        """Reap what can be reaped; True if no child is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.root:
                    self.status = status
                    self.settled_at = time.monotonic() + self.settle_s
        except ChildProcessError:
            return True

    def kill_tree(self) -> tuple[int, list[int]]:
        """Kill all that is left; how many it were, and those that can't be killed."""
        victims: set[tuple[int, int]] = set()
        give_up = time.monotonic() + KILL_S
        while True:
            alone = self.collect()
            alive = [] if alone and self.exact else self.tree()
            if not alive and (alone or not self.exact):
                return len(victims), []
            if time.monotonic() > give_up:
                return len(victims), [row.pid for row in alive]
            before = len(victims)
            victims.update((row.pid, row.started) for row in alive)
            # a whole group dies at once, so that a process which keeps forking can't run away from single shots
            for group in {row.group for row in alive} - {0, 1, os.getpgrp()}:
                send_signal(signal.SIGKILL, group=group)
            for row in alive:
                send_signal(signal.SIGKILL, pid=row.pid)
            if len(victims) == before and select.select((self.wake,), (), (), 0.002)[0]:
                os.read(self.wake, 4096)

    def end(self) -> None:
        """Leave nothing behind."""
        self.on_kill()
        self.kill_tree()


def _become_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _cpu_of_reaped() -> float:
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    """Serve until our parent is gone."""
    keeper = Keeper()
    status = 1
    try:
        keeper.serve()
        status = 0
    except Exception as error:
        keeper.tell("crashed", f"{type(error).__name__}: {error}")
        raise
    finally:
        keeper.end()
        os._exit(status)  # there is nothing to tidy up, and that takes its time
