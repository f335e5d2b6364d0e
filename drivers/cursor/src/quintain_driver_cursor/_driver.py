"""Start Cursor's command line, tell it its task and read what it says."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from quintain import (
    AgentProcess,
    Answer,
    DriverSpec,
    Event,
    Launch,
    Line,
    ProcessGone,
    Question,
    QuintainError,
    Session,
)

from quintain_driver_cursor._config import CursorConfig, policy, runtime
from quintain_driver_cursor._home import lay_out
from quintain_driver_cursor._parser import Parser
from quintain_driver_cursor._preflight import preflight
from quintain_driver_cursor._user import user_home

ARGUMENT_BYTES = 128 * 1024
"""One argument with its end mark has to fit in here, whatever the system allows for all of them."""


class CursorSession:
    """One run. Its own iterator, so that it can be left in the middle without a trace.

    Args:
        lines: what it says.
        parser: understands it.
    """

    def __init__(self, lines: AsyncIterator[Line], parser: Parser) -> None:
        self._lines = lines
        self._parser = parser
        self._ready: deque[Event] = deque()
        self._read_all = False

    def __aiter__(self) -> CursorSession:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            if self._read_all:
                raise StopAsyncIteration
            try:
                self._ready.extend(self._parser.feed(await anext(self._lines)))
            except StopAsyncIteration:
                self._read_all = True
                self._ready.extend(self._parser.finish())
        return self._ready.popleft()

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
        size = len(_bytes(prompt))
        if size >= ARGUMENT_BYTES:
            raise QuintainError(
                f"the prompt has {size} bytes; with its end mark an argument can have {ARGUMENT_BYTES}",
                hint='write `prompt_by = "stdin"`',
            )
        words += ["--", prompt]
    return tuple(words)


def _bytes(prompt: str) -> bytes:
    try:
        return prompt.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise QuintainError(
            f"the prompt has half of a character (a lone surrogate) at position {error.start}: nothing can be told that"
        ) from error


@asynccontextmanager
async def _open(config: CursorConfig, launch: Launch) -> AsyncIterator[Session]:
    by_stdin = config.prompt_by == "stdin"
    argv = arguments(config, launch.prompt)
    told = _bytes(launch.prompt) if by_stdin else b""
    env = lay_out(config, launch, user_home(os.environ, Path.home()))
    async with (
        launch.spawn(argv, env=env, stdin="pipe" if by_stdin else "null") as process,
        _lines_of(process) as lines,
    ):
        raised: Exception | None = None
        async with anyio.create_task_group() as tasks:
            if by_stdin:
                tasks.start_soon(_tell, process, told)
            try:
                yield CursorSession(lines, Parser(partial=config.partial))
            except Exception as error:  # noqa: BLE001  # raised below: the group would wrap it
                raised = error
            tasks.cancel_scope.cancel()
        if raised is not None:
            raise raised


async def _tell(process: AgentProcess, prompt: bytes) -> None:
    """Write the prompt and close the input: with an open one it would wait."""
    with suppress(ProcessGone):  # how it ends tells the rest
        await process.send(prompt)
    await process.close_stdin()


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
