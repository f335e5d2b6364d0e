"""What a person, or a machine, sees while a campaign goes on."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

from quintain.campaign.plan import phases_of
from quintain.campaign.runner import Settlement
from quintain.campaign.state import State
from quintain.cli.board import Board
from quintain.cli.live import View
from quintain.model.campaign import Campaign
from quintain.model.codec import dumps, to_plain
from quintain.model.events import Traced
from quintain.model.trial import TrialOrder
from quintain.model.usage import sum_spend
from quintain.reporting.text import clean
from quintain.reporting.trial import report_lines
from quintain.runs.preflight import Preflight


class CampaignWatcher:
    """Lines for people on standard error, or JSON lines for machines on standard output.

    With a terminal, a panel below them shows what runs, and the spend against the budget.

    Args:
        campaign: what runs.
        concurrency: trials at once.
        interactive: profiles under which a person answers at this terminal.
        json: print machine-readable lines.
        quiet: say nothing of single trials.
        output: where people read.
    """

    def __init__(
        self,
        campaign: Campaign,
        *,
        concurrency: int,
        interactive: Collection[str] = (),
        json: bool,
        quiet: bool = False,
        output: TextIO | None = None,
    ) -> None:
        self._json = json
        self._quiet = quiet
        planned = sum(phase.trials for phase in phases_of(campaign))
        board = Board(planned, concurrency, campaign.budget.usd)
        self.view = View(board, output or sys.stderr, interactive, still=json)

    async def began(self, directory: Path, state: State) -> None:
        """Say what runs, and what was done before."""
        board, settled = self.view.board, state.settled.values()
        board.done = len(state.settled)
        board.passed = sum(one.figures.metrics.get("pass_rate") == 1.0 for one in settled)
        board.failed = sum(one.figures.metrics.get("pass_rate") == 0.0 for one in settled)
        board.missing = board.done - board.passed - board.failed
        board.spent = sum_spend(one.figures.spend for one in settled)
        if self._json:
            print(
                dumps({"type": "campaign_began", "directory": str(directory), "settled": len(state.settled)}),
                flush=True,
            )
            return
        candidates = ", ".join(state.candidates)
        done = f"; {len(state.settled)} trials are settled" if state.settled else ""
        self.view.line(f"{directory.name}: {candidates}{done}")
        for candidate, problems in state.rejected.items():
            self.view.line(f"refused  {candidate}: {clean('; '.join(problems))}")

    async def tried(self, preflight: Preflight) -> None:
        """Say whether a way to run works."""
        if self._json:
            said = {"profiles": preflight.flight.profiles, "tried": preflight.report is not None}
            print(dumps({"type": "preflight", **said, "problems": preflight.problems}), flush=True)
        elif preflight.report is not None:
            self.view.line(f"tried    {clean(preflight.describe())}")

    async def attempting(self, order: TrialOrder, attempt: int) -> None:
        """A trial is on."""
        self.view.board.began(order.trial, attempt)

    def listen(self, trial: str, traced: Traced) -> None:
        """Keep what an agent does in mind for the next time that all is drawn."""
        self.view.event(trial, traced)

    async def heard(self, settlement: Settlement) -> None:
        """Say how a trial went."""
        self.view.board.ended(settlement.report)
        if self._json:
            figures = to_plain(settlement.settled.figures)
            print(dumps({"type": "trial_settled", "figures": figures}), flush=True)
            return
        for line in () if self._quiet else report_lines(settlement.report):
            self.view.line(line)
