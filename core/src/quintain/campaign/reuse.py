"""Trials of earlier campaigns that are still the same: equal keys, equal results, paid once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from attrs import evolve, frozen

from quintain.campaign.ledger import Ledger
from quintain.campaign.settled import Settled
from quintain.campaign.state import read_state
from quintain.errors import UsageError
from quintain.model.outcome import OutcomeKind
from quintain.model.trial import TrialReport
from quintain.runs.store import EVIDENCE


@frozen
class Source:
    """A settled trial of another campaign."""

    directory: Path
    trial: str
    settled: Settled


class Reuse:
    """Finds trials by their keys.

    Args:
        directories: of the campaigns to look into, the first wins.
        store: the store of the campaign that takes; what it takes must lie in the same.

    Raises:
        UsageError: a campaign lies in another store, where its files are not.
        StoreError: a campaign can't be read.
    """

    def __init__(self, directories: Iterable[Path], store: Path) -> None:
        self._sources: dict[str, Source] = {}
        for directory in directories:
            if directory.resolve().parent.parent != store.resolve():
                raise UsageError(
                    "trials are reused from campaigns of the same store",
                    where=str(directory),
                    hint=f"this one is {store}",
                )
            with closing(Ledger(directory)) as ledger:
                for trial, settled in read_state(ledger).settled.items():
                    # One that its allowance stopped may come further under another.
                    if settled.figures.scored and settled.figures.outcome != OutcomeKind.BUDGET_STOPPED:
                        self._sources.setdefault(settled.key, Source(directory, trial, settled))

    def find(self, key: str) -> Source | None:
        """A trial with a verdict that has this key, or None."""
        return self._sources.get(key)


@contextmanager
def taken(source: Source, trial: str, candidate: str, into: Ledger) -> Iterator[TrialReport]:
    """The report of a trial under the name that it has here; its evidence is copied to where ours goes.

    Args:
        source: where it is.
        trial: its name here.
        candidate: id of its candidate here.
        into: the ledger that takes it.

    Raises:
        StoreError: it can't be read.
    """
    with closing(Ledger(source.directory)) as theirs:
        report = theirs.store.report(source.trial)
        for attempt in report.attempts:
            place = into.store.evidence(trial, attempt.number)
            for kind, lines in zip(EVIDENCE, (place.events, place.raw), strict=True):
                for line in theirs.store.lines(kind, source.trial, attempt.number):
                    lines.append(line.rstrip("\n"))
                lines.close()
        yield evolve(report, trial=trial, candidate=candidate)
