"""The stand-in for Cursor's command line, and trials with it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, Protocol

import pytest
from driving.trials import Tried
from quintain import Case, Limits, Retry, run
from quintain.runs.store import RunStore
from quintain_driver_cursor import cursor_driver

STAND_IN = Path(__file__).with_name("cursor_agent.py")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", "key-of-nobody")
    monkeypatch.delenv("CURSOR_CONFIG_DIR", raising=False)


@pytest.fixture
def cursor(tmp_path: Path) -> str:
    """The stand-in, as a program."""
    path = tmp_path / "cursor-agent"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S {shlex.quote(str(STAND_IN))} "$@"\n')
    path.chmod(0o755)
    return str(path)


class Try(Protocol):
    """Runs one trial in a situation of the stand-in."""

    async def __call__(
        self, situation: str, *, prompt: str = "Do it.", limits: Limits | None = None, **config: Any
    ) -> Tried: ...


@pytest.fixture
def attempt(cursor: str, tmp_path: Path) -> Try:
    async def tried(situation: str, *, prompt: str = "Do it.", limits: Limits | None = None, **config: Any) -> Tried:
        result = await run(
            [Case("stand-in", prompt)],
            driver=cursor_driver(**({"executable": cursor, "model": situation} | config)),
            store=tmp_path / "store",
            limits=limits or Limits(total_s=30, linger_s=0.5, grace_s=0.5),
            retry=Retry(attempts=1),
        )
        (report,) = result.reports()
        stored = RunStore(result.directory)
        try:
            trace = tuple(stored.trace(report.trial, report.last.number))
        finally:
            stored.close()
        return Tried(report, trace, result.directory)

    return tried
