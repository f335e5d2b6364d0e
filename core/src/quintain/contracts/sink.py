"""The sink contract: who is told what happens, as it happens.

A sink never hurts a run: what it raises is reported once, and the sink is left out from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Generic, TextIO, TypeVar

from attrs import field, frozen

from quintain.contracts.configs import NoConfig
from quintain.model.events import Traced
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport

C = TypeVar("C")


@frozen
class SinkContext:
    """Where a sink writes.

    Attributes:
        directory: the run's directory, for files that belong to the run.
        project: the project's directory, against which relative paths of a configuration are resolved.
        output: the terminal or pipe that people read.
    """

    directory: Path
    project: Path
    output: TextIO


class Sink:
    """Receives what happens. Overrides only what it wants; the calls about one trial come in order."""

    async def run_began(self, run: RunInfo) -> None:
        """Before the first trial."""

    async def trial_began(self, order: TrialOrder, attempt: int) -> None:
        """Before each attempt of a trial."""

    async def event(self, trial: str, traced: Traced) -> None:
        """For each line of a trace, secrets redacted. Override only if needed: it is the frequent one."""

    async def trial_ended(self, report: TrialReport) -> None:
        """After a trial is graded and stored."""

    async def run_ended(self, summary: RunSummary) -> None:
        """After the last trial, also if the run was interrupted."""


@frozen
class SinkSpec(Generic[C]):
    """A sink, declared.

    Attributes:
        name: equal to the name of its entry point.
        open: makes the sink of one run.
        config: attrs class; what files say is structured into it strictly.
        summary: one line for people.
        version: for sinks that come from no distribution.
    """

    name: str
    open: Callable[[C, SinkContext], AbstractAsyncContextManager[Sink]]
    config: type[C] = field(default=NoConfig)  # type: ignore[assignment]  # the default stands for "no configuration"
    summary: str = ""
    version: str | None = None
