"""Bounds on a trial; each marks what it cuts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import asdict, evolve, field, frozen

from quintain.errors import RecordError
from quintain.model.bounds import above_zero, at_least
from quintain.model.outcome import Failure
from quintain.model.plain import quoted

MIB = 1024 * 1024
NOT_NEGATIVE = at_least(0)


@frozen
class Limits:
    """Bounds on one attempt of a trial. Seconds are measured by a monotonic clock; None means no bound.

    Attributes:
        startup_s: until the agent's first event.
        idle_s: without any evidence of life: no bytes, no events, no CPU time, no new processes.
        total_s: the whole conversation; stands still while a question is out.
        answer_s: for one answer.
        linger_s: after the agent said that it has finished, until its processes are killed.
        grace_s: between asking a process to end and killing it.
        assertion_s: for one assertion.
        questions: how many questions an agent may ask.
        line_bytes: one line of output; a longer one is cut and marked.
        trace_bytes: events kept of one attempt; more are counted and dropped, except the last ones that matter.
        raw_bytes: raw protocol kept of one attempt.
        changed_files: changed files whose content is kept.
        file_bytes: size up to which a changed file's content is kept.
        changed_bytes: sum of the kept content.
        disk_bytes: what the workspace, home and temp of a trial may take on disk.
        processes: how many processes an agent may have at once.
    """

    startup_s: float | None = field(default=120.0, validator=above_zero)
    idle_s: float | None = field(default=600.0, validator=above_zero)
    total_s: float | None = field(default=3600.0, validator=above_zero)
    answer_s: float = field(default=600.0, validator=above_zero)
    linger_s: float = field(default=5.0, validator=NOT_NEGATIVE)
    grace_s: float = field(default=3.0, validator=NOT_NEGATIVE)
    assertion_s: float = field(default=120.0, validator=above_zero)
    questions: int = field(default=20, validator=NOT_NEGATIVE)
    line_bytes: int = field(default=64 * MIB, validator=above_zero)
    trace_bytes: int = field(default=64 * MIB, validator=NOT_NEGATIVE)
    raw_bytes: int = field(default=256 * MIB, validator=NOT_NEGATIVE)
    changed_files: int = field(default=20_000, validator=NOT_NEGATIVE)
    file_bytes: int = field(default=16 * MIB, validator=NOT_NEGATIVE)
    changed_bytes: int = field(default=256 * MIB, validator=NOT_NEGATIVE)
    disk_bytes: int | None = field(default=None, validator=above_zero)
    processes: int | None = field(default=None, validator=above_zero)


@frozen
class LimitOverrides:
    """The bounds that a profile or a case states; the rest keeps its value. `timeout_s` is the word for `total_s`."""

    startup_s: float | None = field(default=None, validator=above_zero)
    idle_s: float | None = field(default=None, validator=above_zero)
    timeout_s: float | None = field(default=None, validator=above_zero)
    answer_s: float | None = field(default=None, validator=above_zero)
    linger_s: float | None = field(default=None, validator=NOT_NEGATIVE)
    grace_s: float | None = field(default=None, validator=NOT_NEGATIVE)
    assertion_s: float | None = field(default=None, validator=above_zero)
    questions: int | None = field(default=None, validator=NOT_NEGATIVE)
    line_bytes: int | None = field(default=None, validator=above_zero)
    trace_bytes: int | None = field(default=None, validator=NOT_NEGATIVE)
    raw_bytes: int | None = field(default=None, validator=NOT_NEGATIVE)
    changed_files: int | None = field(default=None, validator=NOT_NEGATIVE)
    file_bytes: int | None = field(default=None, validator=NOT_NEGATIVE)
    changed_bytes: int | None = field(default=None, validator=NOT_NEGATIVE)
    disk_bytes: int | None = field(default=None, validator=above_zero)
    processes: int | None = field(default=None, validator=above_zero)

    def over(self, limits: Limits) -> Limits:
        """The given limits with what is stated here in their place."""
        stated = {name: value for name, value in asdict(self).items() if value is not None}
        if "timeout_s" in stated:
            stated["total_s"] = stated.pop("timeout_s")
        return evolve(limits, **stated)


NO_OVERRIDES = LimitOverrides()


def _waits(record: Any, attribute: Any, value: Mapping[str, float]) -> None:
    classes = [failure.value for failure in Failure]
    for name, seconds in value.items():
        if name not in classes:
            raise RecordError(
                f"`{name}` is no class of failure",
                path=(attribute.name, name),
                hint=f"one of {', '.join(classes)}",
            )
        if not 0 <= seconds < math.inf:
            raise RecordError(
                f"a number of at least 0 is wanted here, not {quoted(seconds)}", path=(attribute.name, name)
            )


@frozen
class Retry:
    """How often, and after how long, an infrastructure failure is tried again.

    Attributes:
        attempts: how many attempts a trial has in all, at least 1.
        base_s: seconds before the second attempt, by class of failure; doubled for each further one.
        longest_s: no wait is longer than this.
    """

    attempts: int = field(default=3, validator=at_least(1))
    base_s: dict[str, float] = field(
        validator=_waits,
        factory=lambda: {
            "rate_limit": 15.0,
            "overload": 10.0,
            "network": 3.0,
            "auth": 1.0,
            "disk": 5.0,
            "protocol": 1.0,
            "crash": 1.0,
            "killed": 5.0,
            "answerer": 3.0,
        },
    )
    longest_s: float = field(default=300.0, validator=NOT_NEGATIVE)

    def wait_s(self, failure: str, attempt: int) -> float:
        """Seconds to wait after the given failed attempt, numbered from 1."""
        doublings = min(max(attempt - 1, 0), 64)
        return float(min(self.base_s.get(failure, 1.0) * 2**doublings, self.longest_s))
