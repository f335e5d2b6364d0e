"""A run: cases, profiles and repetitions, each combination one trial."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from quintain.model.plain import PluginUse
from quintain.model.trial import SpendBreakdown


@frozen
class RunInfo:
    """What is known when a run begins.

    Attributes:
        id: name of the run and of its directory.
        started_at: UTC, ISO 8601.
        version: of Quintain.
        trials: how many are planned.
        cases: ids of the cases, in order.
        profiles: names of the profiles.
        repeat: repetitions of each case.
        concurrency: trials at once.
        command: what the user asked for, in words.
        plugins: which installed code takes part.
        platform: operating system, architecture and Python version.
        host: load and limits that can change results: processors, memory.
    """

    id: str
    started_at: str
    version: str
    trials: int
    cases: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    repeat: int = 1
    concurrency: int = 1
    command: str = ""
    plugins: tuple[PluginUse, ...] = ()
    platform: str = ""
    host: Mapping[str, str] = field(factory=dict)


@frozen
class Tally:
    """How the trials of a group ended.

    Attributes:
        planned: all that were to run.
        passed: scored, graded and passed.
        failed: scored and graded, and not passed.
        ungraded: scored, but the case has nothing that decides.
        unscored: by kind of outcome: missing data.
        not_started: never began.
    """

    planned: int = 0
    passed: int = 0
    failed: int = 0
    ungraded: int = 0
    unscored: Mapping[str, int] = field(factory=dict)
    not_started: int = 0

    @property
    def graded(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    @property
    def missing(self) -> int:
        """Trials of which it is not known whether they would have passed."""
        return self.planned - self.graded

    @property
    def rate(self) -> float | None:
        """Share of the graded trials that passed, or None if there is none."""
        return self.passed / self.graded if self.graded else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The share if all that is missing failed, and if all of it passed."""
        if not self.planned:
            return None
        return self.passed / self.planned, (self.passed + self.missing) / self.planned

    @property
    def coverage(self) -> float | None:
        """Share of the planned trials that were graded."""
        return self.graded / self.planned if self.planned else None


@frozen
class CaseSummary:
    """One case under one profile over its repetitions."""

    case: str
    profile: str
    tally: Tally
    score: float | None = None


@frozen
class RunSummary:
    """What a run came to.

    Attributes:
        run: what was known at its beginning.
        status: "finished", "interrupted", "stopped" (preflight, fail-fast, repeated authentication failures, disk
            full).
        reason: why it stopped early.
        tally: over all trials.
        cases: by case and profile, in the run's order.
        spend: over all trials and attempts, and the preflight.
        duration_s: wall time by a monotonic clock.
        warnings: what a reader must know about the run: sinks that failed, missing data.
    """

    run: RunInfo
    status: str
    tally: Tally
    cases: tuple[CaseSummary, ...]
    spend: SpendBreakdown
    duration_s: float
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 all passed, 1 some failed, 3 not enough is known, 130 interrupted."""
        if self.status == "interrupted":
            return 130
        if self.tally.failed:
            return 1
        return 0 if self.tally.planned and self.tally.passed == self.tally.planned else 3
