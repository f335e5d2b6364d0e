"""What earlier trials of a profile cost, for the projection of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from attrs import field, frozen

from quintain.errors import StoreError
from quintain.runs.history import record_names
from quintain.runs.store import RunStore
from quintain.runs.tables import TrialRow

LATEST = 20
"""Runs and campaigns that are looked at, the latest first."""


@frozen
class History:
    """What earlier trials of one profile came to; a number that was not known is not in it.

    Attributes:
        trials: how many there were.
        usd: money of each whose cost is known.
        tokens: tokens of each that reported them.
        seconds: duration of each.
        scores: pass or fail of each that has a verdict, by case.
    """

    trials: int = 0
    usd: tuple[float, ...] = ()
    tokens: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    scores: dict[str, tuple[float, ...]] = field(factory=dict)


def history_of(store: Path, profile: str) -> History:
    """The latest trials of a profile that lie in a store; records that can't be read are passed over.

    Args:
        store: directory that holds runs and campaigns.
        profile: name of the profile.
    """
    rows = [row for directory in _latest(store) for row in _rows(directory) if row.profile == profile]
    scores: dict[str, list[float]] = {}
    for row in rows:
        if row.passed is not None:
            scores.setdefault(row.case, []).append(float(row.passed))
    return History(
        trials=len(rows),
        usd=tuple(row.usd for row in rows if row.usd is not None and row.cost_state != "unknown"),
        tokens=tuple(float(row.tokens) for row in rows if row.tokens is not None),
        seconds=tuple(row.duration_s for row in rows),
        scores={case: tuple(values) for case, values in scores.items()},
    )


def _latest(store: Path) -> list[Path]:
    return list(record_names(store).values())[-LATEST:]


def _rows(directory: Path) -> Iterator[TrialRow]:
    try:
        with closing(RunStore(directory)) as store:
            yield from store.rows()
    except StoreError:
        # A projection is made of what there is; `quintain show` says what is wrong with the rest.
        return
