"""Our end of the keepers (see `_keeper.py`): start them, talk to them, use them again.

A keeper takes some 20 ms to start and is then good for any number of commands, one at a time. Whoever runs many
commands opens `Keepers` around them and passes it to `spawn` and `run`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio

from quintain.errors import LaunchError
from quintain.process._frames import KILL_S, pack, unpack

if TYPE_CHECKING:
    from quintain.process._frames import Frame

_BOOT = "import sys; sys.path.append(sys.argv[1]); import _keeper; _keeper.main()"
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Without these some builds of the interpreter don't start; the keeper doesn't pass them on."""

_ANSWERS = {"spawn": 2, "activity": 1}
"""How many frames come back: of a command its start and its end, or only that it can't be started."""

ANSWER_S = KILL_S + 2.0
"""How long a keeper may need for anything; longer means that it is stopped or dead."""


class KeeperGone(Exception):
    """The keeper has ended, crashed, or doesn't answer. Private: becomes an unknown exit status."""


class Keeper:
    """A running keeper."""

    def __init__(self) -> None:
        if not hasattr(os, "posix_spawn") or not hasattr(socket, "SCM_RIGHTS"):
            raise LaunchError(
                "processes can't be run on this system: it has no POSIX sessions, process groups and signals",
                hint="on Windows, use the Windows Subsystem for Linux",
            )
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._received = bytearray()
        self._owed = 0
        here = str(Path(__file__).parent)
        with theirs:
            try:
                self._program = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _BOOT, here],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={name: os.environ[name] for name in _NEEDED if name in os.environ},
                    start_new_session=True,
                )
            except OSError as error:
                self._socket.close()
                raise LaunchError(f"the interpreter {sys.executable!r} can't be started: {error.strerror}") from error

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._program.pid

    @property
    def alive(self) -> bool:
        """It runs."""
        return self._program.poll() is None

    @property
    def idle(self) -> bool:
        """It has answered everything it was asked, so that it can be used again."""
        return self._owed == 0

    async def send(self, *frame: Any, descriptors: Sequence[int] = ()) -> None:
        """Send a frame, with descriptors if need be. Raises KeeperGone."""
        self._owed += _ANSWERS.get(str(frame[0]), 0)
        data = memoryview(pack(*frame))
        handles = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))] if descriptors else []
        while data:
            try:
                data = data[self._socket.sendmsg([data], handles) :]
                handles = []
            except BlockingIOError:
                with anyio.move_on_after(ANSWER_S) as scope:
                    await anyio.wait_writable(self._socket)
                if scope.cancelled_caught:
                    raise KeeperGone("it doesn't take orders") from None
            except OSError as error:
                raise KeeperGone(str(error)) from error

    async def receive(self) -> Frame:
        """Wait for a frame, without limit. Raises KeeperGone."""
        while (frame := unpack(self._received)) is None:
            try:
                data = self._socket.recv(65536)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError as error:
                raise KeeperGone(str(error)) from error
            else:
                if not data:
                    raise KeeperGone("it has ended")
                self._received += data
        if frame[0] == "crashed":
            raise KeeperGone(str(frame[1]))
        self._owed -= 2 if frame[0] == "failed" else 1
        return frame

    def kill(self) -> None:
        """End one that doesn't answer. What it runs is orphaned."""
        self._program.kill()

    def discard(self) -> None:
        """Let go of a dead one."""
        self._socket.close()

    def hang_up(self) -> None:
        """Tell it to kill what it runs and to end, without waiting for that."""
        with contextlib.suppress(OSError):  # its end is closed already
            self._socket.shutdown(socket.SHUT_WR)

    async def close(self) -> bool:
        """Hang up and wait for its end. False if it had to be killed, so that what it ran may still be there."""
        self.hang_up()
        with anyio.CancelScope(shield=True), anyio.move_on_after(ANSWER_S) as patience, contextlib.suppress(KeeperGone):
            while True:
                await self.receive()
        if patience.cancelled_caught:
            self.kill()
        self._socket.close()
        return self._program.wait() == 0


class Keepers:
    """Keepers that are used again; `async with Keepers() as keepers:` around everything that runs commands.

    Leaving it ends them. It belongs to one event loop and grows to as many keepers as commands run at once.
    """

    def __init__(self) -> None:
        self._idle: list[Keeper] = []

    async def __aenter__(self) -> Keepers:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        idle, self._idle = self._idle, []
        for keeper in idle:
            keeper.hang_up()
        for keeper in idle:
            await keeper.close()

    def take(self) -> Keeper:
        """An idle keeper, or a new one. Raises LaunchError where there can't be any."""
        while self._idle:
            keeper = self._idle.pop()
            if keeper.alive:
                return keeper
            keeper.discard()
        return Keeper()

    def give_back(self, keeper: Keeper) -> None:
        """Put back one that has nothing left to do."""
        self._idle.append(keeper)
