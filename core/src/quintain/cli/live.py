"""What a person, or a machine, sees while a run goes on."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from quintain.contracts.sink import Sink
from quintain.model.codec import dumps, to_plain
from quintain.model.events import Answered, Asked, Message, StageBegan, ToolCall, Traced
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport
from quintain.reporting.text import clean
from quintain.reporting.trial import report_lines
from quintain.runs.plan import Plan
from quintain.runs.preflight import Preflight


class Watcher(Sink):
    """Lines for people on standard error, or JSON lines for machines on standard output.

    With a terminal, one line at the bottom tells what is going on now; finished trials stand above it.

    Args:
        plan: what will run.
        json: print machine-readable lines.
    """

    def __init__(self, plan: Plan, *, json: bool, output: TextIO | None = None) -> None:
        self._json = json
        self._output = output or sys.stderr
        self._tty = self._output.isatty() and not json
        self._interactive = {
            template.order.profile for template in plan.templates if template.prepared.answerer.interactive
        }
        self._planned = plan.trials
        self._done = self._passed = self._failed = 0
        self._began = time.monotonic()
        self._running: dict[str, str] = {}
        self._paused = 0
        self._drawn = 0.0

    async def run_began(self, run: RunInfo) -> None:
        """Say what will run."""
        if self._json:
            self._emit("run_began", run=to_plain(run))
        else:
            counts = f"{_count(run.trials, 'trial')}: {_count(len(run.cases), 'case')}"
            self._line(f"{counts}, {', '.join(run.profiles)}, {run.repeat} x")

    def tried(self, preflight: Preflight) -> None:
        """A way to run was tried."""
        if self._json:
            said = {"profiles": preflight.flight.profiles, "tried": preflight.report is not None}
            self._emit("preflight", **said, problems=preflight.problems)
        else:
            self._line(f"tried    {clean(preflight.describe())}")

    async def trial_began(self, order: TrialOrder, attempt: int) -> None:
        """A trial is on."""
        self._running[order.trial] = "begins"
        if self._json:
            self._emit("trial_began", trial=order.trial, attempt=attempt)
        elif attempt > 1:
            self._line(f"again    {clean(order.trial)} (attempt {attempt})")
        self._draw()

    async def event(self, trial: str, traced: Traced) -> None:
        """Say what an agent does; step aside while a person answers."""
        event = traced.event
        if isinstance(event, Asked) and trial.rpartition("@")[2].rpartition("#")[0] in self._interactive:
            self._paused += 1
            self._erase()
        elif isinstance(event, Answered) and self._paused:
            self._paused -= 1
        doing = _doing(traced)
        if doing is not None:
            self._running[trial] = doing
            self._draw()

    async def trial_ended(self, report: TrialReport) -> None:
        """Say how it went, and why."""
        self._running.pop(report.trial, None)
        self._done += 1
        self._passed += report.passed is True
        self._failed += report.passed is False
        if self._json:
            self._emit("trial_ended", report=to_plain(report))
            return
        for line in report_lines(report):
            self._line(line)
        self._draw(force=True)

    async def run_ended(self, summary: RunSummary) -> None:
        """Leave the terminal as it was."""
        self._erase()
        if self._json:
            self._emit("run_ended", summary=to_plain(summary))

    def _emit(self, kind: str, **fields: object) -> None:
        print(dumps({"type": kind, **fields}), flush=True)

    def _line(self, text: str) -> None:
        self._erase()
        print(text, file=self._output, flush=True)

    def _erase(self) -> None:
        if self._tty:
            self._output.write("\r\x1b[K")

    def _draw(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not self._tty or self._paused or (now - self._drawn < 0.1 and not force):
            return
        self._drawn = now
        elapsed = now - self._began
        left = elapsed / self._done * (self._planned - self._done) if self._done else None
        eta = f", about {left:.0f} s left" if left is not None else ""
        doing = next(iter(self._running.items()), None)
        what = f" | {clean(doing[0])}: {clean(doing[1])}" if doing else ""
        text = f"{self._done}/{self._planned} done, {self._passed} passed, {self._failed} failed{eta}{what}"
        self._output.write(f"\r\x1b[K{text[:110]}")
        self._output.flush()


def _doing(traced: Traced) -> str | None:
    event = traced.event
    if isinstance(event, StageBegan):
        return str(event.stage)
    if isinstance(event, ToolCall):
        return f"uses {event.name}"
    if isinstance(event, Message):
        return f"says {event.text[:60]}"
    return "asks" if isinstance(event, Asked) else None


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
