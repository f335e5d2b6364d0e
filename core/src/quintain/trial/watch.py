"""The clocks of an attempt, all monotonic: start-up, evidence of life, total; and its disk and its processes.

A busy agent that says nothing is quiet, not stalled: CPU time or a new process counts as evidence of life. While a
question is out the clocks stand still.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio

from quintain.model.limits import Limits
from quintain.trial.decide import Stopped
from quintain.trial.memory import kills_for_memory

BUSY_SHARE = 0.05
"""CPU seconds per second of silence from which an agent counts as busy."""
TICKS = 20
"""A bound is looked at so many times before it is passed, so that it is noticed soon after."""
SHORTEST_TICK_S, LONGEST_TICK_S = 0.02, 0.5
DISK_TICK_S = 2.0


class Clocks:
    """Bounds of one conversation.

    Args:
        limits: the bounds.
        stop: called once when a bound is passed, with the reason in words.
        activity: CPU seconds and number of processes of the agent's tree so far; None if there is no process.
        areas: directories whose size counts against the disk limit.
        idle: whether the idle limit applies.
    """

    def __init__(
        self,
        limits: Limits,
        stop: Callable[[Stopped, str], None],
        *,
        activity: Callable[[], Awaitable[tuple[float, int] | None]],
        areas: Callable[[], Sequence[Path]],
        idle: bool = True,
    ) -> None:
        self._limits = limits
        self._stop = stop
        self._activity = activity
        self._areas = areas
        self._idle_s = limits.idle_s if idle else None
        self._began = self._life = time.monotonic()
        self._ready = self._over = False
        self._paused_at: float | None = None
        self._paused_s = 0.0
        self._sample: tuple[float, float, int] | None = None
        self._disk_at = self._began
        self._linger_at: float | None = None
        bounds = [b for b in (limits.startup_s, self._idle_s, limits.total_s, limits.linger_s) if b is not None]
        self.tick_s = min(max(min(bounds, default=LONGEST_TICK_S) / TICKS, SHORTEST_TICK_S), LONGEST_TICK_S)

    def alive(self) -> None:
        """There was evidence of life."""
        self._life = time.monotonic()
        self._ready = True
        self._sample = None

    def pause(self) -> None:
        """A question is out."""
        self._paused_at = time.monotonic()

    def resume(self) -> None:
        """It is answered."""
        if self._paused_at is not None:
            now = time.monotonic()
            self._paused_s += now - self._paused_at
            self._paused_at, self._life, self._sample = None, now, None

    def linger(self) -> None:
        """The agent has said its last word; what comes late may come for a short while."""
        self._linger_at = time.monotonic() + self._limits.linger_s

    async def look(self) -> None:
        """Stop the agent if a bound is passed."""
        now = time.monotonic()
        if self._over:
            return
        if self._linger_at is not None:
            if now >= self._linger_at:
                self._over = True
                self._stop(Stopped.TOTAL, "it lingered")
            return
        found = await self._excess(now)
        if found is None and self._paused_at is None:
            found = await self._passed(now)
        if found is not None:
            self._over = True
            self._stop(*found)

    async def _passed(self, now: float) -> tuple[Stopped, str] | None:
        elapsed = now - self._began - self._paused_s
        limits = self._limits
        if limits.total_s is not None and elapsed >= limits.total_s:
            return Stopped.TOTAL, f"it was still running after {elapsed:.1f} s (limit {limits.total_s:g} s)"
        if not self._ready:
            if limits.startup_s is not None and elapsed >= limits.startup_s:
                return Stopped.STARTUP, f"it was not ready after {elapsed:.1f} s (limit {limits.startup_s:g} s)"
            return None
        return await self._silent(now)

    async def _silent(self, now: float) -> tuple[Stopped, str] | None:
        silent = now - self._life
        if self._idle_s is None or silent < self._idle_s / 2:
            return None
        if self._sample is None:
            # CPU time is compared over the second half of the silence: what it used before says nothing of now.
            self._sample = (now, *(await self._activity() or (0.0, 0)))
        if silent < self._idle_s:
            return None
        if await self._busy(now):
            self._life, self._sample = now, None
            return None
        return Stopped.IDLE, f"it gave no sign of life for {silent:.1f} s (limit {self._idle_s:g} s)"

    async def _busy(self, now: float) -> bool:
        activity = await self._activity()
        if activity is None or self._sample is None:
            return False
        at, cpu_s, processes = self._sample
        return activity[0] - cpu_s > BUSY_SHARE * (now - at) or activity[1] > processes

    async def _excess(self, now: float) -> tuple[Stopped, str] | None:
        limits = self._limits
        if limits.processes is not None:
            activity = await self._activity()
            if activity is not None and activity[1] > limits.processes:
                return Stopped.PROCESSES, f"it had {activity[1]} processes at once (limit {limits.processes})"
        if limits.disk_bytes is not None and now >= self._disk_at:
            self._disk_at = now + DISK_TICK_S
            used = sum(disk_bytes(area) for area in self._areas())
            if used > limits.disk_bytes:
                return Stopped.DISK, f"it took {used} bytes of disk (limit {limits.disk_bytes})"
        return None


class Watchman:
    """Looks at the clocks of all conversations of a bench: one task for all, because a task for each is dear."""

    def __init__(self) -> None:
        self._clocks: list[Clocks] = []
        self._tick_s = LONGEST_TICK_S
        self._wake = anyio.Event()
        self._kills: deque[int | None] = deque([kills_for_memory()], maxlen=3)

    def memory_ran_out(self) -> bool:
        """The kernel has killed something for want of memory within the last ticks."""
        before, now = self._kills[0], kills_for_memory()
        return before is not None and now is not None and now > before

    @contextmanager
    def watching(self, clocks: Clocks) -> Iterator[None]:
        """Look at a conversation's clocks while the context is open."""
        self._clocks.append(clocks)
        if clocks.tick_s < self._tick_s:
            self._wake.set()
        try:
            yield
        finally:
            self._clocks.remove(clocks)

    async def watch(self) -> None:
        """Run until cancelled."""
        while True:
            self._tick_s = min((clocks.tick_s for clocks in self._clocks), default=LONGEST_TICK_S)
            self._wake = anyio.Event()
            with anyio.move_on_after(self._tick_s):
                await self._wake.wait()
            for clocks in tuple(self._clocks):
                await clocks.look()
            self._kills.append(kills_for_memory())


def disk_bytes(root: Path) -> int:
    """Bytes that a tree takes on disk; what vanishes or can't be read meanwhile counts as nothing."""
    total = 0
    for folder, folders, files in os.walk(root, onerror=lambda error: None):
        for name in files + folders:
            try:
                total += Path(folder, name).lstat().st_blocks * 512
            except OSError:
                continue
    return total
