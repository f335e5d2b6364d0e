"""Start Codex's app server and hold the conversation with it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from quintain import AgentProcess, DriverSpec, Launch, Line, QuintainError, Session

from quintain_driver_codex._binary import behind, find
from quintain_driver_codex._config import INSTALL, CodexConfig, policy, runtime
from quintain_driver_codex._conversation import Conversation, Task
from quintain_driver_codex._home import lay_out
from quintain_driver_codex._preflight import preflight
from quintain_driver_codex._session import CodexSession
from quintain_driver_codex._user import user_home


@asynccontextmanager
async def _open(config: CodexConfig, launch: Launch) -> AsyncIterator[Session]:
    program = find(config.executable, launch.environment.get("PATH"))
    if program is None:
        raise QuintainError(f"`{config.executable}` is not there", hint=INSTALL)
    env = lay_out(config, launch, user_home(os.environ, Path.home()))
    argv = (str(behind(program)), "app-server", *config.extra_args)
    conversation = Conversation(Task(config, launch.prompt, str(launch.workspace)))
    async with launch.spawn(argv, env=env, stdin="pipe") as process, _lines_of(process) as lines:
        session = CodexSession(process, lines, conversation)
        try:
            async with _beside(session.speak):
                yield session
        finally:
            await session.close()


@asynccontextmanager
async def _lines_of(process: AgentProcess) -> AsyncIterator[AsyncIterator[Line]]:
    """The process's lines, for one iteration that may be left early: it is closed then and not by chance later."""
    lines = process.lines()
    try:
        yield lines
    finally:
        if isinstance(lines, AsyncGenerator):
            with anyio.CancelScope(shield=True):
                await lines.aclose()


@asynccontextmanager
async def _beside(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Let some work go on beside what happens inside, and end it there."""
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        try:
            yield
        except Exception as error:  # noqa: BLE001  # raised below: the group would wrap it
            raised = error
        tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised


codex_driver = DriverSpec(
    name="codex",
    open=_open,
    config=CodexConfig,
    runtime=runtime,
    experiment=policy,
    preflight=preflight,
    summary="Runs Codex through its app server: questions, approvals and tool calls arrive while it works.",
)
"""The driver; `codex_driver(model="...")` binds a configuration in code."""
