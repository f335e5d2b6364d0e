"""Bounds on a trial; each marks what it cuts."""

from __future__ import annotations

from attrs import asdict, evolve, field, frozen

MIB = 1024 * 1024


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

    startup_s: float | None = 120.0
    idle_s: float | None = 600.0
    total_s: float | None = 3600.0
    answer_s: float = 600.0
    linger_s: float = 5.0
    grace_s: float = 3.0
    assertion_s: float = 120.0
    questions: int = 20
    line_bytes: int = 64 * MIB
    trace_bytes: int = 64 * MIB
    raw_bytes: int = 256 * MIB
    changed_files: int = 20_000
    file_bytes: int = 16 * MIB
    changed_bytes: int = 256 * MIB
    disk_bytes: int | None = None
    processes: int | None = None


@frozen
class LimitOverrides:
    """The bounds that a profile or a case states; the rest keeps its value. `timeout_s` is the word for `total_s`."""

    startup_s: float | None = None
    idle_s: float | None = None
    timeout_s: float | None = None
    answer_s: float | None = None
    linger_s: float | None = None
    grace_s: float | None = None
    assertion_s: float | None = None
    questions: int | None = None
    line_bytes: int | None = None
    trace_bytes: int | None = None
    raw_bytes: int | None = None
    changed_files: int | None = None
    file_bytes: int | None = None
    changed_bytes: int | None = None
    disk_bytes: int | None = None
    processes: int | None = None

    def over(self, limits: Limits) -> Limits:
        """The given limits with what is stated here in their place."""
        stated = {name: value for name, value in asdict(self).items() if value is not None}
        if "timeout_s" in stated:
            stated["total_s"] = stated.pop("timeout_s")
        return evolve(limits, **stated)


@frozen
class Retry:
    """How often, and after how long, an infrastructure failure is tried again.

    Attributes:
        attempts: how many attempts a trial has in all, at least 1.
        base_s: seconds before the second attempt, by class of failure; doubled for each further one.
        longest_s: no wait is longer than this.
    """

    attempts: int = 3
    base_s: dict[str, float] = field(
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
        }
    )
    longest_s: float = 300.0

    def wait_s(self, failure: str, attempt: int) -> float:
        """Seconds to wait after the given failed attempt, numbered from 1."""
        return float(min(self.base_s.get(failure, 1.0) * 2 ** (attempt - 1), self.longest_s))
