"""Start the program and hold the conversation with it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, lru_cache
from pathlib import Path

import quintain_agent
from quintain import DriverSpec, Launch, QuintainError, Session
from quintain.driving import beside, lines_of, prompt_bytes

from quintain_driver_subprocess import _lux, _messages
from quintain_driver_subprocess._config import PROMPT, PROMPT_FILE, SubprocessConfig, policy, runtime
from quintain_driver_subprocess._parser import Parser
from quintain_driver_subprocess._session import JsonSession, Speech
from quintain_driver_subprocess._text import TextSession

ARGUMENT_BYTES = 128 * 1024
"""One argument with its end mark has to fit in here, whatever the system allows for all of them."""

AT_ONCE_BYTES = 8 * 1024
"""So much fits into a pipe whether or not the agent reads, so nothing needs to go on beside it."""

HELPER_DIRECTORY = ".quintain-agent"
SUBJECT = "QUINTAIN_SUBJECT"
"""Variable with the path of what is under test, if that lies beside the workspace."""

_PLACEHOLDER = re.compile(re.escape(PROMPT) + "|" + re.escape(PROMPT_FILE))


@asynccontextmanager
async def _open(config: SubprocessConfig, launch: Launch) -> AsyncIterator[Session]:
    prompt = prompt_bytes(launch.prompt)
    argv = _arguments(config, launch, prompt)
    env = _environment(config, launch, prompt)
    told = config.mentions(PROMPT) or config.mentions(PROMPT_FILE)
    stdin = config.mode == "jsonl" or not told
    cwd = launch.workspace / config.cwd if config.cwd else None
    async with (
        launch.spawn(argv, env=env, cwd=cwd, stdin="pipe" if stdin else "null") as process,
        lines_of(process) as lines,
    ):
        if config.mode == "text":
            text = TextSession(process, lines, Path(argv[0]).name, prompt if stdin else None)
            async with beside(text.tell):
                yield text
        else:
            session = JsonSession(process, lines, *_protocol(config, launch))
            if len(prompt) < AT_ONCE_BYTES:
                await session.start()
                yield session
            else:
                async with beside(session.start):
                    yield session


def _protocol(config: SubprocessConfig, launch: Launch) -> tuple[Parser, Speech]:
    if config.protocol == 1:
        return Parser(_lux.wire(config.usage_dialect)), Speech(_lux.answer_message)
    start = _messages.start_message(config, launch)
    return Parser(_messages.wire(config.usage_dialect)), Speech(_messages.answer_message, start, _messages.CANCEL)


def _arguments(config: SubprocessConfig, launch: Launch, prompt: bytes) -> tuple[str, ...]:
    told = {PROMPT: launch.prompt}
    if config.mentions(PROMPT_FILE):
        path = launch.temp / "prompt.txt"
        path.write_bytes(prompt)
        told[PROMPT_FILE] = str(path)
    # One pass, so that a placeholder in the prompt itself stays as it is.
    argv = tuple(_PLACEHOLDER.sub(lambda found: told[found[0]], part) for part in config.command)
    for given, part in zip(config.command, argv, strict=True):
        size = len(part.encode("utf-8", "surrogateescape"))
        if PROMPT in given and size >= ARGUMENT_BYTES:
            raise QuintainError(
                f"the prompt has {len(prompt)} bytes and makes the argument `{given}` {size} bytes long; with its end "
                f"mark an argument can have {ARGUMENT_BYTES}",
                hint=f"write `{PROMPT_FILE}` for the path of a file with the prompt, or take it from standard input",
            )
    return argv


def _environment(config: SubprocessConfig, launch: Launch, prompt: bytes) -> dict[str, str]:
    env = dict(config.env)
    if launch.subject is not None:
        env[SUBJECT] = str(launch.subject)
    if config.mode == "jsonl" and config.protocol == 1:
        env |= _lux.environment(launch, prompt)
    if config.speaks and (_may_be_python(config, launch) if config.helper is None else config.helper):
        # A copy, because where it is installed there is much else to import, and an agent could change it.
        directory = launch.home / HELPER_DIRECTORY
        directory.mkdir(exist_ok=True)
        (directory / "quintain_agent.py").write_bytes(_helper())
        others = env.get("PYTHONPATH", launch.environment.get("PYTHONPATH"))
        env["PYTHONPATH"] = os.pathsep.join([str(directory), *([others] if others else [])])
    return env


def _may_be_python(config: SubprocessConfig, launch: Launch) -> bool:
    """Whether the helper is worth a copy: it costs a trial of a tiny program a sixth of its time."""
    if any("py" in part.lower() for part in config.command):
        return True
    return _is_script(config.command[0], launch.environment.get("PATH"))


@lru_cache(maxsize=64)
def _is_script(program: str, path: str | None) -> bool:
    found = shutil.which(program, path=path)
    if found is None:
        return True  # perhaps a path that starts elsewhere; if it is wrong, `spawn` says so
    try:
        with Path(found).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:  # may be executed and not be read
        return True


@cache
def _helper() -> bytes:
    place = quintain_agent.__file__
    if place is None:
        raise QuintainError("the module quintain_agent is not installed as a file", hint="set `helper = false`")
    return Path(place).read_bytes()


subprocess_driver = DriverSpec(
    name="subprocess",
    open=_open,
    config=SubprocessConfig,
    runtime=runtime,
    experiment=policy,
    summary="Runs any program as an agent: one that speaks JSON lines, or one that reads a prompt and prints text.",
)
"""The driver; `subprocess_driver(command=("my-agent",))` binds a configuration in code."""
