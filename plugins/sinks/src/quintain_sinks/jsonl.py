"""Every record as one line of JSON, as it happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

from attrs import frozen
from quintain import RunInfo, RunSummary, Sink, SinkContext, SinkSpec, Traced, TrialOrder, TrialReport, hookimpl
from quintain.model.codec import dumps, to_plain


@frozen
class JsonlConfig:
    """`path` of the file, in the run's directory if not given; with `events` each event of each trial too."""

    path: Path | None = None
    events: bool = False


class _Jsonl(Sink):
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def _write(self, kind: str, **fields: object) -> None:
        self._file.write(dumps({"type": kind, **fields}) + "\n")
        self._file.flush()

    async def run_began(self, run: RunInfo) -> None:
        self._write("run_began", run=to_plain(run))

    async def trial_began(self, order: TrialOrder, attempt: int) -> None:
        self._write("trial_began", trial=order.trial, case=order.case.id, profile=order.profile, attempt=attempt)

    async def trial_ended(self, report: TrialReport) -> None:
        self._write("trial_ended", passed=report.passed, report=to_plain(report))

    async def run_ended(self, summary: RunSummary) -> None:
        self._write("run_ended", exit_code=summary.exit_code, summary=to_plain(summary))


class _JsonlWithEvents(_Jsonl):
    async def event(self, trial: str, traced: Traced) -> None:
        self._write("event", trial=trial, traced=to_plain(traced))


@asynccontextmanager
async def _open(config: JsonlConfig, context: SinkContext) -> AsyncIterator[Sink]:
    path = context.project / config.path if config.path is not None else context.directory / "records.jsonl"
    with path.open("w", encoding="ascii") as file:
        yield (_JsonlWithEvents if config.events else _Jsonl)(file)


jsonl = SinkSpec("jsonl", _open, JsonlConfig, summary="Writes every record as one line of JSON.")


@hookimpl
def quintain_sink() -> SinkSpec[JsonlConfig]:
    """Declare `jsonl`."""
    return jsonl
