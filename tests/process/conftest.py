"""The agents of `agents.py` as fixtures."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from process.agents import MARKER, Agents
from quintain.process import Command


@pytest.fixture
def marker() -> tuple[str, str]:
    return MARKER, uuid.uuid4().hex


@pytest.fixture
def agent(tmp_path: Path, marker: tuple[str, str]) -> Agents:
    def make(code: str, *arguments: str, **fields: Any) -> Command:
        argv = (sys.executable, "-I", "-S", "-c", "import os, sys, time, signal\n" + code, *arguments)
        settings = {"cwd": tmp_path, "env": {"PATH": os.defpath}, "marker": marker, **fields}
        return Command(argv, **settings)

    return make


@pytest.fixture
def shell(tmp_path: Path, marker: tuple[str, str]) -> Agents:
    def make(code: str, *arguments: str, **fields: Any) -> Command:
        settings = {"cwd": tmp_path, "env": {"PATH": os.defpath}, "marker": marker, **fields}
        return Command(("/bin/sh", "-c", code, *arguments), **settings)

    return make
