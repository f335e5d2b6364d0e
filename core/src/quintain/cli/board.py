"""What is known of work while it goes on, in words: no output, and no clock but the one it is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from attrs import define, field

from quintain.model.events import Asked, Event, Message, Reasoning, StageBegan, ToolCall, Traced, Used
from quintain.model.trial import TrialReport
from quintain.model.usage import NO_SPEND, CostState, Spend, sum_costs, sum_spend
from quintain.reporting.text import clean
from quintain.trial.spend import SpendMeter

WORDS = 60
"""Characters of what an agent does last."""


@define
class Running:
    """One trial that is on."""

    trial: str
    began: float
    attempt: int = 1
    action: str = ""
    meter: SpendMeter = field(factory=SpendMeter)

    def notice(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Used):
            self.meter.add(event.usage)
        action = action_of(event)
        if action:
            self.action = clean(action)


def action_of(event: Event) -> str:
    """What an agent does, in a few words; empty for what is no action."""
    match event:
        case StageBegan(stage=stage):
            return str(stage)
        case ToolCall(name=name):
            return f"uses {name[:WORDS]}"
        case Message(text=text):
            return f"says {text[:WORDS]}"
        case Reasoning():
            return "thinks"
        case Asked(question=question):
            return f"asks {question.text[:WORDS]}"
    return ""


@define
class Board:
    """Counts what has ended and follows what runs.

    Attributes:
        planned: trials of the work.
        workers: trials at once.
        limit_usd: the budget, or None.
        clock: seconds on a monotonic clock.
        spent: what trials cost that ended before.
    """

    planned: int
    workers: int
    limit_usd: float | None = None
    clock: Callable[[], float] = time.monotonic
    spent: Spend = NO_SPEND
    done: int = 0
    passed: int = 0
    failed: int = 0
    missing: int = 0
    _running: dict[str, Running] = field(factory=dict)
    _seconds: float = 0.0
    _timed: int = 0

    def began(self, trial: str, attempt: int) -> None:
        """An attempt is on."""
        known = self._running.get(trial)
        if known is None:
            self._running[trial] = Running(trial, self.clock(), attempt)
        else:
            known.attempt, known.action = attempt, ""

    def event(self, trial: str, traced: Traced) -> None:
        """Something happened in a trial."""
        running = self._running.get(trial)
        if running is not None:
            running.notice(traced.event)

    def ended(self, report: TrialReport) -> None:
        """A trial is over."""
        known = self._running.pop(report.trial, None)
        self._seconds += self.clock() - known.began if known else report.duration_s
        self._timed += 1
        self.done += 1
        self.passed += report.passed is True
        self.failed += report.passed is False
        self.missing += report.passed is None
        self.spent = sum_spend((self.spent, report.spend.total))

    def eta_s(self) -> float | None:
        """Seconds that are left if the other trials are like those that have ended; None before the first has."""
        if not self._timed:
            return None
        each, now = self._seconds / self._timed, self.clock()
        rest = sum(max(each - (now - one.began), 0.0) for one in self._running.values())
        waiting = max(0, self.planned - self.done - len(self._running))
        return (rest + waiting * each) / max(1, min(self.workers, self.planned))

    def status(self) -> str:
        """All of it on one line."""
        parts = [f"{self.done}/{self.planned} done", f"{self.passed} passed", f"{self.failed} failed"]
        if self.missing:
            parts.append(f"{self.missing} missing or not graded")
        parts.append(f"{len(self._running)} running")
        parts.append(self._spend())
        left = self.eta_s()
        if left is not None and self.done < self.planned:
            parts.append(f"about {duration(max(left, 1.0))} left")
        return ", ".join(parts)

    def _spend(self) -> str:
        """What is spent, running trials included, against the budget."""
        running = (one.meter.spend(complete=True).cost for one in self._running.values() if one.meter.seen)
        limit = f" of ${self.limit_usd:.2f}" if self.limit_usd is not None else ""
        cost = sum_costs((self.spent.cost, *running))
        return f"spent {'nothing' if cost.state is CostState.FREE else cost.describe()}{limit}"

    def lines(self) -> Iterator[str]:
        """One line for each trial that runs, the oldest first."""
        now = self.clock()
        for one in self._running.values():
            again = f" (attempt {one.attempt})" if one.attempt > 1 else ""
            yield f"{duration(now - one.began):>7}  {clean(one.trial)}{again}  {one.action}".rstrip()


def duration(seconds: float) -> str:
    """`42 s`, `3m 05s`, `2h 04m`."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02}s" if minutes < 100 else f"{minutes // 60}h {minutes % 60:02}m"
