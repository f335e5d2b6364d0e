"""Watches a campaign while it runs, with a test that may be looked at after every case without inflating its error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quintain.campaign.effects import watched
from quintain.campaign.schedule import Slot
from quintain.campaign.state import State
from quintain.model.campaign import BASELINE, Campaign
from quintain.model.decision import TrialFigures


class Monitor:
    """Says of a candidate that its first objective is decided.

    Cases count in the order of the schedule and not in that of their ends: how long a case takes may depend on its
    result, and then the first to end are not a fair sample.

    Args:
        campaign: whose objectives and alpha are used.
        state: where its trials are.
    """

    def __init__(self, campaign: Campaign, state: State) -> None:
        self._campaign = campaign
        self._state = state
        self._objective = campaign.objectives[0]
        self._cases: dict[str, dict[str, list[str]]] = {}

    def expect(self, slots: Sequence[Slot]) -> None:
        """Say which trials are to come, in order."""
        self._cases = {}
        for slot in slots:
            if self._objective.profile in (None, slot.profile):
                self._cases.setdefault(slot.case, {}).setdefault(slot.candidate, []).append(slot.trial)

    def decided(self, latest: TrialFigures) -> Iterator[tuple[str, str]]:
        """Candidates that are decided now, each with the reason."""
        touched = [latest.candidate] if latest.candidate != BASELINE else list(self._state.candidates)
        challengers = len(self._state.candidates) - 1
        for candidate in touched:
            if candidate == BASELINE or candidate in self._state.stopped:
                continue
            differences = list(self._differences(candidate))
            found = watched(self._campaign, differences, challengers)
            if found.finding != "unknown":
                evidence = max(found.better, found.worse)
                yield (
                    candidate,
                    (
                        f"{found.finding} than the baseline in {self._objective.metric} after {found.n} cases"
                        f" (e = {evidence:.3g}, {found.threshold:.3g} decides)"
                    ),
                )

    def _differences(self, candidate: str) -> Iterator[float]:
        """Candidate minus baseline, case by case, up to the first case that is not whole."""
        for trials in self._cases.values():
            mine, base = self._mean(trials.get(candidate, ())), self._mean(trials.get(BASELINE, ()))
            if mine is None or base is None:
                return
            yield mine - base

    def _mean(self, trials: Sequence[str]) -> float | None:
        values = []
        for trial in trials:
            settled = self._state.settled.get(trial)
            value = settled.figures.metrics.get(self._objective.metric) if settled is not None else None
            if value is None:
                return None
            values.append(value)
        return sum(values) / len(values) if values else None
