"""What a person, or a machine, sees while a campaign goes on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from quintain.campaign.runner import Settlement
from quintain.campaign.state import State
from quintain.model.codec import dumps, to_plain
from quintain.reporting.text import clean
from quintain.reporting.trial import report_lines
from quintain.runs.preflight import Preflight


class CampaignWatcher:
    """Lines for people on standard error, or JSON lines for machines on standard output.

    Args:
        json: print machine-readable lines.
        quiet: say nothing of single trials.
        output: where people read.
    """

    def __init__(self, *, json: bool, quiet: bool = False, output: TextIO | None = None) -> None:
        self._json = json
        self._quiet = quiet
        self._output = output or sys.stderr

    async def began(self, directory: Path, state: State) -> None:
        """Say what runs, and what was done before."""
        if self._json:
            print(
                dumps({"type": "campaign_began", "directory": str(directory), "settled": len(state.settled)}),
                flush=True,
            )
            return
        candidates = ", ".join(state.candidates)
        done = f"; {len(state.settled)} trials are settled" if state.settled else ""
        print(f"{directory.name}: {candidates}{done}", file=self._output, flush=True)
        for candidate, problems in state.rejected.items():
            print(f"refused  {candidate}: {clean('; '.join(problems))}", file=self._output, flush=True)

    async def tried(self, preflight: Preflight) -> None:
        """Say whether a way to run works."""
        if self._json:
            said = {"profiles": preflight.flight.profiles, "tried": preflight.report is not None}
            print(dumps({"type": "preflight", **said, "problems": preflight.problems}), flush=True)
        elif preflight.report is not None:
            print(f"tried    {clean(preflight.describe())}", file=self._output, flush=True)

    async def heard(self, settlement: Settlement) -> None:
        """Say how a trial went."""
        if self._json:
            figures = to_plain(settlement.settled.figures)
            print(dumps({"type": "trial_settled", "figures": figures}), flush=True)
            return
        for line in () if self._quiet else report_lines(settlement.report):
            print(line, file=self._output, flush=True)
