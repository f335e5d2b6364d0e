"""Start Codex's app server and hold the conversation with it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from quintain import DriverSpec, Launch, QuintainError, Session
from quintain.driving import beside, find_program, lines_of

from quintain_driver_codex._binary import behind
from quintain_driver_codex._config import INSTALL, CodexConfig, policy, runtime
from quintain_driver_codex._conversation import Conversation, Task
from quintain_driver_codex._home import lay_out
from quintain_driver_codex._preflight import preflight
from quintain_driver_codex._session import CodexSession
from quintain_driver_codex._user import user_home


@asynccontextmanager
async def _open(config: CodexConfig, launch: Launch) -> AsyncIterator[Session]:
    program = find_program(config.executable, launch.environment.get("PATH"))
    if program is None:
        raise QuintainError(f"`{config.executable}` is not there", hint=INSTALL)
    env = lay_out(config, launch, user_home(os.environ, Path.home()))
    argv = (str(behind(program)), "app-server", *config.extra_args)
    conversation = Conversation(Task(config, launch.prompt, str(launch.workspace)))
    async with launch.spawn(argv, env=env, stdin="pipe") as process, lines_of(process) as lines:
        session = CodexSession(process, lines, conversation)
        try:
            async with beside(session.speak):
                yield session
        finally:
            session.close()


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
