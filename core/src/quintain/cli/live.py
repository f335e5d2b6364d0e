"""What a person, or a machine, sees while a run goes on."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TextIO

import anyio

from quintain.cli.board import Board
from quintain.contracts.sink import Sink
from quintain.model.codec import dumps, to_plain
from quintain.model.events import Answered, Asked, Traced
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport
from quintain.reporting.text import clean
from quintain.reporting.trial import report_lines
from quintain.runs.plan import Plan
from quintain.runs.preflight import Preflight

if TYPE_CHECKING:
    from quintain.cli.panel import Panel


class View:
    """Lines for people, with a panel below them if they look at a terminal.

    Args:
        board: what the panel shows.
        output: where people read.
        interactive: profiles under which a person answers at this terminal.
        still: draw nothing, because a machine listens.
    """

    def __init__(self, board: Board, output: TextIO, interactive: Collection[str] = (), *, still: bool = False) -> None:
        self.board = board
        self._still = still
        self._output = output
        self._interactive = interactive
        self._panel: Panel | None = None
        self._asked = 0

    @asynccontextmanager
    async def drawn(self) -> AsyncIterator[None]:
        """Draw while the context is open."""
        if self._output.isatty() and not self._still:
            # rich takes a while to import, and nobody else needs it.
            from quintain.cli.panel import Panel, can_be_live

            if can_be_live(self._output):
                self._panel = Panel(self.board, self._output)
        async with anyio.create_task_group() as group:
            if self._panel is not None:
                group.start_soon(self._panel.draw)
            yield
            group.cancel_scope.cancel()
        self._panel = None

    def line(self, text: str) -> None:
        """Print a line."""
        if self._panel is not None:
            self._panel.show(text)
        else:
            print(text, file=self._output, flush=True)

    def event(self, trial: str, traced: Traced) -> None:
        """Follow a trial; step aside while a person answers."""
        self.board.event(trial, traced)
        event = traced.event
        if isinstance(event, Asked) and trial.rpartition("@")[2].rpartition("#")[0] in self._interactive:
            self._asked += 1
            if self._panel is not None:
                self._panel.step_aside()
        elif isinstance(event, Answered) and self._asked:
            self._asked -= 1
            if self._panel is not None and not self._asked:
                self._panel.step_back()


class Watcher(Sink):
    """Lines for people on standard error, or JSON lines for machines on standard output.

    Args:
        plan: what will run.
        json: print machine-readable lines.
        concurrency: trials at once.
    """

    def __init__(self, plan: Plan, *, json: bool, concurrency: int = 1, output: TextIO | None = None) -> None:
        self._json = json
        interactive = {template.order.profile for template in plan.templates if template.prepared.answerer.interactive}
        self.view = View(Board(plan.trials, concurrency), output or sys.stderr, interactive, still=json)

    async def run_began(self, run: RunInfo) -> None:
        """Say what will run."""
        if self._json:
            self._emit("run_began", run=to_plain(run))
        else:
            counts = f"{_count(run.trials, 'trial')}: {_count(len(run.cases), 'case')}"
            self.view.line(f"{counts}, {', '.join(run.profiles)}, {run.repeat} x")

    def tried(self, preflight: Preflight) -> None:
        """A way to run was tried."""
        if self._json:
            said = {"profiles": preflight.flight.profiles, "tried": preflight.report is not None}
            self._emit("preflight", **said, problems=preflight.problems)
        else:
            self.view.line(f"tried    {clean(preflight.describe())}")

    async def trial_began(self, order: TrialOrder, attempt: int) -> None:
        """A trial is on."""
        self.view.board.began(order.trial, attempt)
        if self._json:
            self._emit("trial_began", trial=order.trial, attempt=attempt)
        elif attempt > 1:
            self.view.line(f"again    {clean(order.trial)} (attempt {attempt})")

    async def event(self, trial: str, traced: Traced) -> None:
        """Keep it in mind for the next time that all is drawn."""
        self.view.event(trial, traced)

    async def trial_ended(self, report: TrialReport) -> None:
        """Say how it went, and why."""
        self.view.board.ended(report)
        if self._json:
            self._emit("trial_ended", report=to_plain(report))
            return
        for line in report_lines(report):
            self.view.line(line)

    async def run_ended(self, summary: RunSummary) -> None:
        """Say that it is over."""
        if self._json:
            self._emit("run_ended", summary=to_plain(summary))

    def _emit(self, kind: str, **fields: object) -> None:
        print(dumps({"type": kind, **fields}), flush=True)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
