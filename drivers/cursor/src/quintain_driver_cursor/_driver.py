"""Start Cursor's command line, tell it its task and read what it says."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from quintain import (
    AgentProcess,
    Answer,
    DriverSpec,
    Launch,
    Line,
    ProcessGone,
    Question,
    QuintainError,
    Session,
)
from quintain.driving import Events, beside, lines_of, prompt_bytes

from quintain_driver_cursor._config import CursorConfig, policy, runtime
from quintain_driver_cursor._home import lay_out
from quintain_driver_cursor._parser import Parser
from quintain_driver_cursor._preflight import preflight
from quintain_driver_cursor._user import user_home

ARGUMENT_BYTES = 128 * 1024
"""One argument with its end mark has to fit in here, whatever the system allows for all of them."""


class CursorSession:
    """One run.

    Args:
        lines: what it says.
        parser: understands it.
    """

    def __init__(self, lines: AsyncIterator[Line], parser: Parser) -> None:
        self._events = Events(None, lines, parser.feed, finish=parser.finish)

    def __aiter__(self) -> Events:
        return self._events

    async def answer(self, question: Question, answer: Answer) -> None:
        """Never called: in this mode it can't ask."""
        raise ProcessGone("cursor can't be answered in print mode")

    async def interrupt(self) -> None:
        """It can't be asked to stop; the core ends it."""


def arguments(config: CursorConfig, prompt: str) -> tuple[str, ...]:
    """The command line. Raises QuintainError for a prompt that doesn't fit into one argument."""
    words = [config.executable, "-p", "--output-format", "stream-json", "--trust"]
    if config.partial:
        words.append("--stream-partial-output")
    if config.force:
        words.append("--force")
    if config.mcp_servers or config.isolation == "user":
        words.append("--approve-mcps")
    if config.model is not None:
        words += ["--model", config.model]
    if config.mode != "agent":
        words += ["--mode", config.mode]
    if config.sandbox is not None:
        words += ["--sandbox", config.sandbox]
    words += config.extra_args
    if config.prompt_by == "argument":
        size = len(prompt_bytes(prompt))
        if size >= ARGUMENT_BYTES:
            raise QuintainError(
                f"the prompt has {size} bytes; with its end mark an argument can have {ARGUMENT_BYTES}",
                hint='write `prompt_by = "stdin"`',
            )
        words += ["--", prompt]
    return tuple(words)


@asynccontextmanager
async def _open(config: CursorConfig, launch: Launch) -> AsyncIterator[Session]:
    by_stdin = config.prompt_by == "stdin"
    argv = arguments(config, launch.prompt)
    told = prompt_bytes(launch.prompt) if by_stdin else b""
    env = lay_out(config, launch, user_home(os.environ, Path.home()))
    async with (
        launch.spawn(argv, env=env, stdin="pipe" if by_stdin else "null") as process,
        lines_of(process) as lines,
    ):
        session = CursorSession(lines, Parser(partial=config.partial))
        if by_stdin:
            async with beside(partial(_tell, process, told)):
                yield session
        else:
            yield session


async def _tell(process: AgentProcess, prompt: bytes) -> None:
    """Write the prompt and close the input: with an open one it would wait."""
    with suppress(ProcessGone):  # how it ends tells the rest
        await process.send(prompt)
    await process.close_stdin()


cursor_driver = DriverSpec(
    name="cursor",
    open=_open,
    config=CursorConfig,
    runtime=runtime,
    experiment=policy,
    preflight=preflight,
    summary="Runs Cursor's command line in print mode; it can't ask, and says no price.",
)
"""The driver; `cursor_driver(model="...")` binds a configuration in code."""
