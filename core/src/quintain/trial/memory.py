"""Tells whether the kernel killed something for want of memory."""

from __future__ import annotations

from pathlib import Path

_COUNTERS = Path("/proc/vmstat")


def kills_for_memory() -> int | None:
    """How many processes of this machine the kernel has killed so far, or None where it doesn't say."""
    try:
        data = _COUNTERS.read_bytes()
    except OSError:
        return None
    at = data.find(b"\noom_kill ")
    return int(data[at + 10 :].split(None, 1)[0]) if at >= 0 else None
