"""Peak memory of this process."""

from __future__ import annotations

import resource


def peak_mib() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
