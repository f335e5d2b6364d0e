"""A place to run trials in, for as long as they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio

from quintain.process import Keepers
from quintain.trial.bench import Bench
from quintain.workspace.area import Areas


@asynccontextmanager
async def open_bench(scratch: Path | None, make: Callable[[Areas, Keepers], Bench]) -> AsyncIterator[Bench]:
    """A bench with its areas, its keepers and its watchman; nothing of them is left afterwards.

    Args:
        scratch: directory under which workspaces are made; None for the system's.
        make: makes the bench of them.
    """
    with closing(Areas(scratch)) as areas:
        async with Keepers() as keepers, anyio.create_task_group() as beside:
            bench = make(areas, keepers)
            beside.start_soon(bench.watchman.watch)
            yield bench
            beside.cancel_scope.cancel()
