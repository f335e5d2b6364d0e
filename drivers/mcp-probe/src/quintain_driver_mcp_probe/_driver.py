"""Start the server and probe it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from quintain import DriverSpec, ExperimentPolicy, Launch, Session

from quintain_driver_mcp_probe._config import ProbeConfig, runtime
from quintain_driver_mcp_probe._experiment import identity, prepare
from quintain_driver_mcp_probe._session import ProbeSession


@asynccontextmanager
async def _open(config: ProbeConfig, launch: Launch) -> AsyncIterator[Session]:
    async with launch.spawn(config.command, env=config.env, stdin="pipe") as process:
        session = ProbeSession(config, process, launch.workspace)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(session.run)
                yield session
                tasks.cancel_scope.cancel()
        finally:
            session.close()


mcp_probe = DriverSpec(
    "mcp-probe",
    _open,
    ProbeConfig,
    runtime,
    ExperimentPolicy[ProbeConfig]("1", prepare, identity),
    summary="Drives an MCP server by scripted steps, without a model.",
)
