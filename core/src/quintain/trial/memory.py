"""Tells whether the kernel killed something for want of memory."""

from __future__ import annotations

from pathlib import Path

_COUNTERS = Path("/proc/vmstat")


def kills_for_memory() -> int | None:
    """How many processes of this machine the kernel has killed so far, or None where it doesn't say."""
    try:
        for line in _COUNTERS.read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        return None
    return None
