"""What stands in for the trial engine: a launch over real processes, and a conversation."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import anyio
import pytest
from attrs import define, field, frozen
from quintain import (
    AgentProcess,
    Allowance,
    Answer,
    Asked,
    Case,
    Event,
    Exit,
    Question,
)
from quintain.process import Command, Limits, Line, LineSplitter, spawn
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver
from quintain_driver_subprocess._lux import wire as older_wire
from quintain_driver_subprocess._messages import wire
from quintain_driver_subprocess._parser import Parser


@frozen
class StandInLaunch:
    """A launch for one attempt in directories of its own."""

    root: Path
    prompt: str = "Do it."
    environment: Mapping[str, str] = field(factory=lambda: {"PATH": os.defpath})
    limits: Limits = field(factory=lambda: Limits(line_bytes=1024 * 1024, grace_s=0.5, linger_s=0.5))
    marker: str = field(factory=lambda: uuid.uuid4().hex)
    trial: str = "a/case@profile#2"
    attempt: int = 1
    seed: int = 7
    subject: Path | None = None
    deadline_s: float | None = 60.0
    allowance: Allowance = field(factory=lambda: Allowance(usd=0.5))
    spawned: list[AgentProcess] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        for directory in (self.workspace, self.home, self.temp):
            directory.mkdir(parents=True, exist_ok=True)

    @property
    def case(self) -> Case:
        return Case("a/case", self.prompt)

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temp(self) -> Path:
        return self.root / "temp"

    def raw(self, direction: Literal["in", "out"], line: str) -> None:
        raise AssertionError("the core keeps what a spawned process says")

    @asynccontextmanager
    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: Literal["pipe", "null"] = "null",
    ) -> AsyncIterator[AgentProcess]:
        command = Command(
            tuple(argv),
            cwd=cwd or self.workspace,
            env={**self.environment, **(env or {})},
            stdin=stdin,
            marker=("QUINTAIN_TEST_MARKER", self.marker),
            limits=self.limits,
        )
        async with spawn(command) as process:
            self.spawned.append(process)
            yield process


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[..., StandInLaunch]:
    return lambda **settings: StandInLaunch(tmp_path, **settings)


@define
class Played:
    """What came of one conversation."""

    events: list[Event] = field(factory=list)
    delivered: list[bool] = field(factory=list)
    exit: Exit | None = None

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def last(self) -> Event:
        return self.events[-1]


class Play(Protocol):
    """Holds a conversation with an agent."""

    async def __call__(
        self,
        config: SubprocessConfig,
        *,
        answer: Callable[[Question], Answer] | None = None,
        guard_s: float = 60.0,
        **launch: Any,
    ) -> Played: ...


@pytest.fixture
def play(tmp_path: Path) -> Play:
    async def held(
        config: SubprocessConfig,
        *,
        answer: Callable[[Question], Answer] | None = None,
        guard_s: float = 60.0,
        **launch: Any,
    ) -> Played:
        played = Played()
        place = StandInLaunch(tmp_path, **launch)
        with anyio.fail_after(guard_s):
            async with subprocess_driver.open(config, place) as session:
                async for event in session:
                    played.events.append(event)
                    if isinstance(event, Asked) and answer is not None:
                        await session.answer(event.question, answer(event.question))
                        played.delivered.append(True)
        played.exit = place.spawned[0].exit
        return played

    return held


Script = Callable[..., SubprocessConfig]

_PRELUDE = """
import json, os, signal, sys, time
def emit(**fields): raw(json.dumps(fields).encode() + b"\\n")
def raw(data):
    while data: data = data[os.write(1, data):]
def hear(): return json.loads(sys.stdin.buffer.readline())
"""


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Make the configuration of an agent that runs some Python code."""

    def make(code: str, *arguments: str, bare: bool = False, **settings: Any) -> SubprocessConfig:
        path = tmp_path / "agent.py"
        path.write_text(code if bare else _PRELUDE + code)
        return SubprocessConfig((sys.executable, "-S", str(path), *arguments), **settings)

    return make


Say = Callable[..., list[Event]]


def _parsed(parser: Parser, lines: Iterable[Line]) -> list[Event]:
    return [event for line in lines for event in parser.feed(line)]


def _lines(parts: Iterable[Any]) -> list[Line]:
    texts = [part if isinstance(part, bytes | str) else json.dumps(part) for part in parts]
    return [Line(text if isinstance(text, bytes) else text.encode()) for text in texts]


@pytest.fixture
def say() -> Say:
    """What the parser makes of lines: bytes and texts as they are, everything else as JSON."""

    def said(*parts: Any, dialect: Literal["disjoint", "inclusive"] = "disjoint") -> list[Event]:
        return _parsed(Parser(wire(dialect)), _lines(parts))

    return said


@pytest.fixture
def say_older() -> Say:
    """The same for protocol 1."""

    def said(*parts: Any, dialect: Literal["disjoint", "inclusive"] = "disjoint") -> list[Event]:
        return _parsed(Parser(older_wire(dialect)), _lines(parts))

    return said


@pytest.fixture
def say_stream() -> Callable[[Sequence[bytes]], list[Event]]:
    """What comes of a stream that arrives in pieces."""

    def said(pieces: Sequence[bytes]) -> list[Event]:
        splitter = LineSplitter(10_000)
        parser = Parser(wire("disjoint"))
        lines = [line for piece in pieces for line in splitter.feed(piece)]
        rest = splitter.finish()
        return _parsed(parser, lines if rest is None else [*lines, rest])

    return said
