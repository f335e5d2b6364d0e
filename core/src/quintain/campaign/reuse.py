"""Trials of earlier campaigns that are still the same: equal keys, equal results, paid once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from attrs import evolve, frozen

from quintain.campaign.ledger import Ledger, text_digest
from quintain.campaign.settled import Settled
from quintain.campaign.state import read_state
from quintain.errors import StoreError, UsageError
from quintain.model.codec import dumps, to_plain
from quintain.model.outcome import OutcomeKind
from quintain.model.trial import TrialReport
from quintain.runs.store import EVIDENCE
from quintain.trial.trace import Lines


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
        if text_digest(dumps(to_plain(report))) != source.settled.report:
            raise _changed(source, "report")
        for attempt in report.attempts:
            place = into.store.evidence(trial, attempt.number)
            for kind, lines in zip(EVIDENCE, (place.events, place.raw), strict=True):
                digest = _copied(theirs.store.lines(kind, source.trial, attempt.number), lines)
                # Those of attempts before it was taken up again are not in its last entry.
                if digest != source.settled.traces.get(f"{attempt.number}.{kind}", digest):
                    raise _changed(source, kind)
        yield evolve(report, trial=trial, candidate=candidate)


def _copied(found: Iterable[str], into: Lines) -> str:
    """Copy lines; returns the digest of all of them."""
    read = hashlib.sha256()
    try:
        for line in found:
            read.update(line.encode())
            into.append(line.rstrip("\n"))
        into.close()
    except OSError as error:
        raise StoreError(f"can't be copied: {error.strerror}", where=into.path) from error
    return f"sha256:{read.hexdigest()}"


def _changed(source: Source, what: str) -> StoreError:
    return StoreError(
        f"the {what} of {source.trial} can't be reused: it is not what was settled",
        where=str(source.directory),
        hint="quintain verify says more; without this campaign in --reuse its trials run anew",
    )
