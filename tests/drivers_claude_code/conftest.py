"""The real Claude Code, pinned, and a scripted model for it to talk to."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from models.anthropic import Messages, say, turn
from models.npm import installed
from models.server import ModelServer, in_order, serving
from quintain import Bound, Case, Event, Limits, Retry, Traced, TrialReport, run
from quintain.model.tree import ChangeSet
from quintain.runs.store import RunStore
from quintain.trial.fixtures import load_record
from quintain.workspace.blobs import BlobStore
from quintain_driver_claude_code import claude_code_driver

PACKAGE, VERSION = "@anthropic-ai/claude-code", "2.1.197"
MODEL = "claude-sonnet-4-5"


@pytest.fixture(scope="session")
def claude() -> Path:
    """The program; a machine that can't get it fails the tests that need it."""
    program = installed(PACKAGE, VERSION) / ".bin" / "claude"
    assert program.exists()
    return program


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model that says hello until it is told otherwise, and a key for it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-scripted-0123456789abcdef")
    with serving(in_order(turn(say("hello"))), Messages()) as running:
        yield running


@frozen
class Ran:
    """One trial that ran.

    Attributes:
        report: what came of it.
        lines: its trace.
        store: the directory with all evidence.
    """

    report: TrialReport
    lines: list[Traced]
    store: Path

    @property
    def events(self) -> list[Event]:
        """What happened before the end."""
        return [line.event for line in self.lines if not line.late]

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def files(self) -> dict[str, str]:
        """Files that the agent left, by their paths, as texts."""
        digest = self.report.last.changes
        if digest is None:
            return {}
        blobs = BlobStore(self.store / "blobs")
        changes = load_record(digest, ChangeSet, blobs).changes
        entries = {change.path: change.after for change in changes if change.after is not None}
        return {
            path: blobs.read(entry.digest).decode()
            for path, entry in entries.items()
            if entry.digest is not None and not entry.omitted
        }


Trial = Callable[..., Awaitable[Ran]]


@pytest.fixture
def bind(claude: Path, server: ModelServer) -> Callable[..., Bound[Any]]:
    """Binds a configuration that talks to the scripted model."""

    def bound(**config: Any) -> Bound[Any]:
        settings = {"executable": str(claude), "base_url": server.url, "model": MODEL, "max_retries": 1, **config}
        return claude_code_driver(**settings)

    return bound


@pytest.fixture
def trial(bind: Callable[..., Bound[Any]], tmp_path: Path) -> Trial:
    """Runs one trial of the real program."""

    async def one(prompt: str = "Do it.", *, options: dict[str, Any] | None = None, **config: Any) -> Ran:
        more = {"limits": Limits(total_s=60, linger_s=2, grace_s=2), "retry": Retry(attempts=1), **(options or {})}
        case = Case("case", prompt, fixtures=more.pop("fixtures", None))
        result = await run([case], driver=bind(**config), store=tmp_path / "store", **more)
        (report,) = result.reports()
        store = RunStore(result.directory)
        try:
            return Ran(report, list(store.trace(report.trial, report.last.number)), tmp_path / "store")
        finally:
            store.close()

    return one


@pytest.fixture(autouse=True)
def _no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
        monkeypatch.delenv(name)
