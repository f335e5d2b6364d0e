"""What tests of drivers say of a trial that was run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen
from quintain import TrialReport
from quintain.model.events import Traced
from quintain.model.tree import ChangeSet
from quintain.runs.history import blobs_of
from quintain.trial.fixtures import load_record


@frozen
class Tried:
    """What came of a trial.

    Attributes:
        report: of the trial.
        trace: of its last attempt.
        directory: of its run.
    """

    report: TrialReport
    trace: tuple[Traced, ...]
    directory: Path

    def of(self, *kinds: type) -> list[Any]:
        """Events of these kinds."""
        return [line.event for line in self.trace if isinstance(line.event, kinds)]

    def only(self, kind: type) -> Any:
        """The one event of a kind."""
        (event,) = self.of(kind)
        return event

    @property
    def files(self) -> set[str]:
        """Paths of what was changed in the workspace."""
        digest = self.report.last.changes
        blobs = blobs_of(self.directory)
        return {change.path for change in load_record(digest, ChangeSet, blobs).changes} if digest else set()
