"""The real Codex from npm, a scripted model, and trials that hold both against each other."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest
from attrs import frozen
from driving import trials
from models.npm import installed
from models.responses import Responses
from models.server import ModelServer, Script, Turn, in_order, serving
from quintain import Answer, Case, Limits, Question, Retry, run
from quintain.runs.store import RunStore
from quintain_driver_codex import codex_driver

VERSION = "0.171.0"
"""The version that the driver is proven with."""

PATIENT = {"request_max_retries": 1, "stream_max_retries": 2, "stream_idle_timeout_ms": 1500}
"""Codex's own patience with its model, cut down to that of a test."""

FAULTS = Path(__file__).with_name("faults.py")

Answerer = Callable[[Question], Answer | str | bool | Awaitable[Answer | str | bool]]


@pytest.fixture(scope="session")
def codex() -> str:
    """The script that npm makes."""
    return str(installed("@openai/codex", VERSION) / ".bin" / "codex")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-no-key-at-all")
    monkeypatch.delenv("CODEX_HOME", raising=False)


@pytest.fixture
def faulty(codex: str, tmp_path: Path) -> Callable[[str], str]:
    """Make a program that runs the real one and breaks as its name says; see `faults.py`."""

    def make(fault: str) -> str:
        path = tmp_path / f"codex-{fault}"
        words = (sys.executable, "-S", str(FAULTS), fault, codex)
        path.write_text(f'#!/bin/sh\nexec {" ".join(map(shlex.quote, words))} "$@"\n')
        path.chmod(0o755)
        return str(path)

    return make


@frozen
class Tried(trials.Tried):
    """What came of a trial, and of its model."""

    models: ModelServer


class Try(Protocol):
    """Runs one trial of Codex against a script or some turns."""

    async def __call__(
        self,
        *said: Turn | Script,
        answerer: Answerer | str = "deny",
        prompt: str = "Do it.",
        limits: Limits | None = None,
        **config: Any,
    ) -> Tried: ...


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    with ExitStack() as stack:

        def start(*said: Turn | Script) -> ModelServer:
            script = said[0] if callable(said[0]) else in_order(*(one for one in said if isinstance(one, Turn)))
            return stack.enter_context(serving(script, Responses()))

        yield start


def settings(models: ModelServer, codex: str, **config: Any) -> dict[str, Any]:
    """A configuration that reaches a server of models."""
    chosen = {"executable": codex, "model": "gpt-5.5", "base_url": f"{models.url}/v1"} | config
    providers = {"model_providers": {"endpoint": PATIENT}}
    return chosen | {"config": {**providers, **config.get("config", {})}}


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, so that the digest of the program is taken once."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def attempt(codex: str, serve: Callable[..., ModelServer], store: Path) -> Try:
    async def tried(
        *said: Turn | Script,
        answerer: Answerer | str = "deny",
        prompt: str = "Do it.",
        limits: Limits | None = None,
        **config: Any,
    ) -> Tried:
        models = serve(*said)
        result = await run(
            [Case("real", prompt)],
            driver=codex_driver(**settings(models, codex, **config)),
            store=store,
            answerer=answerer,
            limits=limits or Limits(total_s=60, linger_s=1, grace_s=1),
            retry=Retry(attempts=1),
        )
        (report,) = result.reports()
        stored = RunStore(result.directory)
        try:
            trace = tuple(stored.trace(report.trial, report.last.number))
        finally:
            stored.close()
        return Tried(report, trace, result.directory, models)

    return tried
