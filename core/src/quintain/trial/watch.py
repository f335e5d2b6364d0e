"""The clocks of an attempt, all monotonic: start-up, evidence of life, total; and its disk and its processes.

A busy agent that says nothing is quiet, not stalled: CPU time or a new process counts as evidence of life. While a
question is out the clocks stand still.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from quintain.model.limits import Limits
from quintain.trial.decide import Stopped

SLOW_CHECK_S = 2.0
"""Disk and processes are looked at this often."""
BUSY_SHARE = 0.05
"""CPU seconds per second of silence from which an agent counts as busy."""


class Clocks:
    """Watches one conversation.

    Args:
        limits: the bounds.
        stop: called once when a bound is passed, with the reason in words.
        cpu_s: CPU seconds and number of processes of the agent's tree so far; None if there is no process.
        areas: directories whose size counts against the disk limit.
        idle: whether the idle limit applies.
    """

    def __init__(
        self,
        limits: Limits,
        stop: Callable[[Stopped, str], None],
        *,
        activity: Callable[[], tuple[float, int] | None],
        areas: Callable[[], Sequence[Path]],
        idle: bool = True,
    ) -> None:
        self._limits = limits
        self._stop = stop
        self._activity = activity
        self._areas = areas
        self._idle_s = limits.idle_s if idle else None
        self._began = self._life = time.monotonic()
        self._ready = False
        self._paused_at: float | None = None
        self._paused_s = 0.0
        self._sample: tuple[float, float, int] | None = None

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
            self._paused_at = None
            self._life = now
            self._sample = None

    @property
    def waited_s(self) -> float:
        """Seconds that questions were out."""
        return self._paused_s

    async def watch(self) -> None:
        """Run until cancelled; calls `stop` at most once."""
        slow = self._limits.disk_bytes is not None or self._limits.processes is not None
        while True:
            now = time.monotonic()
            if self._paused_at is None:
                found = self._passed(now)
                if found is not None:
                    self._stop(*found)
                    return
            if slow:
                excess = self._excess()
                if excess is not None:
                    self._stop(*excess)
                    return
            await anyio.sleep(max(0.005, self._next(now) if not slow else min(self._next(now), SLOW_CHECK_S)))

    def _next(self, now: float) -> float:
        """Seconds until the earliest bound could be passed."""
        if self._paused_at is not None:
            return 0.2
        waits = [60.0]
        if self._limits.total_s is not None:
            waits.append(self._began + self._paused_s + self._limits.total_s - now)
        if not self._ready and self._limits.startup_s is not None:
            waits.append(self._began + self._limits.startup_s - now)
        if self._ready and self._idle_s is not None:
            waits.append(self._life + (self._idle_s if self._sample else self._idle_s / 2) - now)
        return min(waits)

    def _passed(self, now: float) -> tuple[Stopped, str] | None:
        elapsed = now - self._began - self._paused_s
        limits = self._limits
        if limits.total_s is not None and elapsed >= limits.total_s:
            return Stopped.TOTAL, f"it was still running after {elapsed:.1f} s (limit {limits.total_s:g} s)"
        if not self._ready:
            if limits.startup_s is not None and elapsed >= limits.startup_s:
                return Stopped.STARTUP, f"it was not ready after {elapsed:.1f} s (limit {limits.startup_s:g} s)"
            return None
        silent = now - self._life
        if self._idle_s is None or silent < self._idle_s / 2:
            return None
        if self._sample is None:
            # CPU time is compared over the second half of the silence: what it used before says nothing of now.
            self._sample = (now, *(self._activity() or (0.0, 0)))
        if silent < self._idle_s:
            return None
        if self._busy(now):
            self._life, self._sample = now, None
            return None
        return Stopped.IDLE, f"it gave no sign of life for {silent:.1f} s (limit {self._idle_s:g} s)"

    def _busy(self, now: float) -> bool:
        activity = self._activity()
        if activity is None or self._sample is None:
            return False
        at, cpu_s, processes = self._sample
        return activity[0] - cpu_s > BUSY_SHARE * (now - at) or activity[1] > processes

    def _excess(self) -> tuple[Stopped, str] | None:
        limits = self._limits
        if limits.processes is not None:
            activity = self._activity()
            if activity is not None and activity[1] > limits.processes:
                return Stopped.PROCESSES, f"it had {activity[1]} processes at once (limit {limits.processes})"
        if limits.disk_bytes is not None:
            used = sum(disk_bytes(area) for area in self._areas())
            if used > limits.disk_bytes:
                return Stopped.DISK, f"it took {used} bytes of disk (limit {limits.disk_bytes})"
        return None


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
