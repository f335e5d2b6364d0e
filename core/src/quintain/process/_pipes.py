"""Our ends of a command's pipes: never blocking, and never waited for when there is nothing to wait for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import anyio
import anyio.lowlevel

from quintain.errors import ProcessGone

CHUNK = 64 * 1024
TURN = 16
"""Chunks that are read in a row before other tasks get their turn."""

PIPE_BYTES = 64 * 1024 * 1024
"""More than any pipe holds: what is read of one at most after all who are allowed to write to it are dead."""


class Source:
    """The end to read from."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._waiting: anyio.CancelScope | None = None
        self._row = 0
        self._last: int | None = None
        self.total = 0

    async def chunk(self) -> bytes:
        """What comes next; empty at the end of the stream, or when `finish` was called and all has been read."""
        if self._row >= TURN:
            self._row = 0
            await anyio.lowlevel.checkpoint()
        while (data := self._take()) is None:
            self._row = 0
            try:
                with anyio.CancelScope() as self._waiting:
                    await anyio.wait_readable(self._fd)
            finally:
                self._waiting = None
        self._row += 1
        return data

    def rest(self) -> Iterator[bytes]:
        """What is there already, without waiting."""
        while data := self._take():
            yield data

    def finish(self) -> None:
        """All writers that belong to the command are dead: what is in the pipe is all there will be."""
        self._last = PIPE_BYTES
        if self._waiting is not None:
            self._waiting.cancel()

    def close(self) -> None:
        """Release it; nothing more will be read."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _take(self) -> bytes | None:
        if self._fd < 0 or (self._last is not None and self._last <= 0):
            return b""
        try:
            data = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return None if self._last is None else b""
        self.total += len(data)
        if self._last is not None:
            self._last -= len(data)
        return data


class Sink:
    """The end to write to, as fast as the other side reads.

    Args:
        fd: its descriptor, or -1 if the command has no input.
    """

    def __init__(self, fd: int) -> None:
        if fd >= 0:
            os.set_blocking(fd, False)
        self._fd = fd
        self._turn: anyio.Lock | None = None
        self._waiting: anyio.CancelScope | None = None
        self._gone = "its input is closed" if fd >= 0 else "it was started without an input"

    @property
    def open(self) -> bool:
        """Something can still be sent."""
        return self._fd >= 0

    async def send(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            ProcessGone: the other side has closed its end, or ours was closed meanwhile.
        """
        self._turn = self._turn or anyio.Lock(fast_acquire=True)
        async with self._turn:
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[await self._write(rest) :]
            except anyio.get_cancelled_exc_class():
                if len(rest) < len(data):
                    # what follows half a message would be taken for its other half
                    self._gone = "sending to it was interrupted in the middle of a message"
                    self.close()
                raise

    async def _write(self, data: memoryview) -> int:
        if self._fd < 0:
            raise ProcessGone(f"nothing can be sent to the process: {self._gone}")
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            pass
        except OSError as error:
            self._gone = "it does not read its input any more"
            self.close()
            raise ProcessGone(f"nothing can be sent to the process: {self._gone}") from error
        try:
            with anyio.CancelScope() as scope:
                self._waiting = scope
                await anyio.wait_writable(self._fd)
        finally:
            self._waiting = None
        if scope.cancel_called:
            self.close()
        return 0

    def close(self) -> None:
        """No more input; harmless if repeated. A `send` that waits is woken and raises ProcessGone."""
        if self._waiting is not None:
            self._waiting.cancel()  # it comes back here: a descriptor that is waited for must not be closed
            return
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
