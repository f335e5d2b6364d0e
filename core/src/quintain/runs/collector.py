"""Python's search for circular garbage, asked for less often while a run goes on.

A trial makes some thousand short-lived objects and hardly a circle. With Python's own threshold (700 objects) the search
for circles is a third of a small trial's time; with ours what can pile up between two searches is a few megabytes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = (20_000, 50, 50)


@contextmanager
def patient_collector() -> Iterator[None]:
    """Raise the thresholds of this process while the context is open; they are put back, and never lowered."""
    before = gc.get_threshold()
    if before[0] == 0 or before[0] >= PATIENCE[0]:
        # The program has its own idea, or another run of this process is patient already.
        yield
        return
    gc.set_threshold(*PATIENCE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
