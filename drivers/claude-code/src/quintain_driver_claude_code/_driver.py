"""Start Claude Code and hold the conversation with it."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from quintain import DriverSpec, Launch, QuintainError, Session
from quintain.driving import beside, find_program, lines_of

from quintain_driver_claude_code._arguments import arguments, variables
from quintain_driver_claude_code._config import INSTALL, VARIABLES, ClaudeCodeConfig, policy, runtime
from quintain_driver_claude_code._conversation import Conversation
from quintain_driver_claude_code._errors import NotLoggedIn
from quintain_driver_claude_code._home import lay_out
from quintain_driver_claude_code._preflight import preflight
from quintain_driver_claude_code._session import ClaudeSession
from quintain_driver_claude_code._user import user_home

OLDEST = (2, 0, 0)
"""Older versions don't speak the control protocol."""

VERSION_S = 10.0


@asynccontextmanager
async def _open(config: ClaudeCodeConfig, launch: Launch) -> AsyncIterator[Session]:
    environment = {**launch.environment, **config.env}
    _check(config, environment)
    program = find_program(config.executable, environment.get("PATH"))
    if program is None:
        raise QuintainError(f"`{config.executable}` is not there", hint=INSTALL)
    home = lay_out(config, launch, user_home(os.environ, Path.home()))
    env = {**variables(config, home.place, launch.temp), **home.env}
    above = tuple(launch.workspace.parents)
    usd = launch.allowance.usd
    argv = (str(program), *arguments(config, mcp=home.mcp, plugins=home.plugins, above=above, usd=usd))
    conversation = Conversation(launch.prompt, home.servers, commands=config.commands)

    async def explain() -> str:
        return await _explained(launch, program, env)

    async with launch.spawn(argv, env=env, stdin="pipe") as process, lines_of(process) as lines:
        session = ClaudeSession(process, lines, conversation, explain)
        try:
            async with beside(session.speak):
                yield session
        finally:
            session.close()


def _check(config: ClaudeCodeConfig, environment: dict[str, str]) -> None:
    """Find what Claude Code would refuse itself, less clearly. Raises QuintainError."""
    names = VARIABLES[config.credentials]
    if names and not any(environment.get(name) for name in names):
        raise NotLoggedIn(f"there are no credentials for Claude Code: {' or '.join(names)} is not set")
    if config.permission_mode == "bypassPermissions" and os.geteuid() == 0 and not environment.get("IS_SANDBOX"):
        raise QuintainError(
            "Claude Code does not let root use `permission_mode` `bypassPermissions`",
            hint='run as another user, or write `env.IS_SANDBOX = "1"` if the machine is a sandbox',
        )


async def _explained(launch: Launch, program: Path, env: dict[str, str]) -> str:
    """Why it ended before it said anything, as far as that can be known."""
    said = ""
    with anyio.move_on_after(VERSION_S):
        async with launch.spawn((str(program), "--version"), env=env) as process:
            async for line in process.lines():
                said = said or line.text.strip()
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", said)
    if found is None:
        return "it does not say its version either: is it Claude Code? Its standard error may say more"
    if tuple(map(int, found.groups())) < OLDEST:
        return f"it is version {found[0]}, and at least {'.'.join(map(str, OLDEST))} is needed: {INSTALL}"
    return f"it is version {found[0]}; its standard error says why"


claude_code_driver = DriverSpec(
    name="claude-code",
    open=_open,
    config=ClaudeCodeConfig,
    runtime=runtime,
    experiment=policy,
    preflight=preflight,
    summary="Runs Claude Code: questions, requests for permission and tool calls arrive while it works.",
)
"""The driver; `claude_code_driver(model="...")` binds a configuration in code."""
