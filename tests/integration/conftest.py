"""Agents that are Python programs, run for real through the subprocess driver."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import quintain
from quintain import Case, Limits, Plugins, Retry, Traced, TrialReport
from quintain.contracts.driver import Bound
from quintain.runs.store import RunStore
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

PROLOGUE = """
import json, os, signal, socket, subprocess, sys, time

def emit(type, **fields):
    sys.stdout.write(json.dumps({"type": type, **fields}) + "\\n")
    sys.stdout.flush()

def raw(data):
    while data:
        data = data[os.write(1, data):]
"""


class Lab:
    """Runs one program as an agent, once, and gives its report."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.trace: Sequence[Traced] = ()

    def driver(self, program: str, **config: Any) -> Bound[Any]:
        command = (sys.executable, "-c", PROLOGUE + program)
        return subprocess_driver(SubprocessConfig(command=command, helper=False, **config))

    async def run(self, program: str, *, case: Case | None = None, **options: Any) -> TrialReport:
        config = options.pop("config", {})
        options.setdefault("retry", Retry(attempts=1))
        options.setdefault("limits", Limits(linger_s=1.0, grace_s=0.5, total_s=60))
        options.setdefault("plugins", Plugins())
        result = await quintain.run(
            [case or Case("one", "Do it.")], driver=self.driver(program, **config), store=self.store, **options
        )
        (report,) = result.reports()
        run = RunStore(result.directory)
        self.trace = list(run.trace(report.trial, report.last.number))
        run.close()
        return report

    def events(self, kind: type) -> list[Any]:
        return [line.event for line in self.trace if isinstance(line.event, kind)]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "store")


@pytest.fixture
def alive() -> Callable[[str], list[int]]:
    """Processes that carry a word in their command line or environment."""

    def find(word: str) -> list[int]:
        return [pid for pid, text in _processes() if word.encode() in text and pid != os.getpid()]

    return find


def _processes() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield int(folder.name), (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
