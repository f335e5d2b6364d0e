"""Sums up a run while it goes on, in memory that grows with the number of cases and not of trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import define, field

from quintain.model.run import CaseSummary, Tally
from quintain.model.trial import SpendBreakdown, TrialReport
from quintain.model.usage import NO_SPEND, Spend, sum_spend


@define
class _Group:
    planned: int = 0
    passed: int = 0
    failed: int = 0
    ungraded: int = 0
    unscored: Counter[str] = field(factory=Counter)
    score: float = 0.0
    scored: int = 0

    def add(self, report: TrialReport) -> None:
        if not report.outcome.scored:
            self.unscored[report.outcome.kind.value] += 1
        elif report.passed is None:
            self.ungraded += 1
        elif report.passed:
            self.passed += 1
        else:
            self.failed += 1
        if report.outcome.scored and report.grade is not None and report.grade.score is not None:
            self.score += report.grade.score
            self.scored += 1

    def tally(self) -> Tally:
        seen = self.passed + self.failed + self.ungraded + sum(self.unscored.values())
        return Tally(self.planned, self.passed, self.failed, self.ungraded, dict(self.unscored), self.planned - seen)


class Totals:
    """Counts trials by case and profile, and adds up what they spent.

    Args:
        groups: case and profile of every group that is planned, in order.
        repeat: trials planned in each.
    """

    def __init__(self, groups: Iterable[tuple[str, str]], repeat: int) -> None:
        self._groups = {key: _Group(planned=repeat) for key in groups}
        self._spend: list[Spend] = [NO_SPEND, NO_SPEND, NO_SPEND]

    def add(self, report: TrialReport) -> None:
        """Count one trial."""
        self._groups[report.case, report.profile].add(report)
        self.spent(report.spend)

    def spent(self, spend: SpendBreakdown) -> None:
        """Add what was spent."""
        for place, part in enumerate((spend.agent, spend.answerer, spend.judge)):
            if part is not NO_SPEND:
                self._spend[place] = sum_spend((self._spend[place], part))

    def lose(self, report: TrialReport) -> None:
        """Count a trial that ran and could not be stored: nothing is known of it afterwards."""
        self._groups[report.case, report.profile].unscored["not_stored"] += 1

    @property
    def spend(self) -> SpendBreakdown:
        """What was spent so far."""
        agent, answerer, judge = self._spend
        return SpendBreakdown(agent, answerer, judge)

    def cases(self) -> tuple[CaseSummary, ...]:
        """Each group so far."""
        return tuple(
            CaseSummary(case, profile, group.tally(), group.score / group.scored if group.scored else None)
            for (case, profile), group in self._groups.items()
        )

    def tally(self) -> Tally:
        """All groups together."""
        whole = _Group()
        for group in self._groups.values():
            whole.planned += group.planned
            whole.passed += group.passed
            whole.failed += group.failed
            whole.ungraded += group.ungraded
            whole.unscored += group.unscored
        return whole.tally()
