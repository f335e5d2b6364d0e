"""Ctrl-C once finishes politely, twice at once."""

from __future__ import annotations

import signal
import sys

import anyio

from quintain.runs.control import Control


async def obey_signals(control: Control, grace_s: float) -> None:
    """The first signal ends the work politely, the second at once.

    Args:
        control: of the work.
        grace_s: seconds that running trials have to finish.
    """
    names = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    with anyio.open_signal_receiver(*names) as signals:
        async with anyio.create_task_group() as group:
            async for number in signals:
                name = signal.Signals(number).name
                if control.draining:
                    print(f"quintain: {name} again: leaving at once", file=sys.stderr)
                    control.abandon()
                    return
                print(
                    f"quintain: {name}: no new trial begins; those that run have {grace_s:g} s to finish. "
                    "Once more leaves at once.",
                    file=sys.stderr,
                )
                control.drain("interrupted", f"interrupted by {name}")
                group.start_soon(_end_after, control, grace_s)


async def _end_after(control: Control, grace_s: float) -> None:
    await anyio.sleep(grace_s)
    control.end_trials(f"the run was interrupted and {grace_s:g} s were over")
