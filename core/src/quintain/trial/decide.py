"""The one table that turns an agent's contradictory signals into one outcome.

Rows are tried from the top; the first that fits decides. What contradicts the decision is recorded beside it.

| # | signals | outcome |
|---|---|---|
| 1 | the trial was cancelled | cancelled |
| 2 | the answerer failed | infrastructure (converse, answerer) |
| 3 | the driver raised | infrastructure (its stage, by the class of the error) |
| 4 | the agent says that it runs another model than was asked for | invalid |
| 5 | `Done` or `Failed` with a recognised failure, as a rate limit told as an answer | infrastructure (converse, it) |
| 6 | its own error flag or `Failed`, tokens known to be 0 and no tool call | infrastructure (converse, crash) |
| 7 | `Done` | completed, whatever the exit status; agent_failed if its own error flag is set |
| 8 | `Failed` | agent_failed |
| 9 | the start-up limit fired before its first event | infrastructure (open, crash) |
| 10 | the idle limit fired | stalled |
| 11 | the total limit fired | timed_out |
| 12 | it asked more than the limit | too_many_questions |
| 13 | its allowance, its disk or its processes ran out | budget_stopped |
| 14 | killed by the kernel for want of memory | infrastructure (converse, killed) |
| 15 | a process that ended without either | agent_failed, whatever the exit status |
| 16 | no process at all, and the session ended without either | infrastructure (converse, protocol) |
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from enum import StrEnum

from attrs import evolve, frozen

from quintain.errors import QuintainError
from quintain.model.events import Done, Failed
from quintain.model.exit import Exit
from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage


class Stopped(StrEnum):
    """Why the core stopped an agent."""

    CANCELLED = "cancelled"
    STARTUP = "startup"
    IDLE = "idle"
    TOTAL = "total"
    QUESTIONS = "questions"
    ALLOWANCE = "allowance"
    DISK = "disk"
    PROCESSES = "processes"


@frozen
class Signals:
    """All that is known about how an attempt ended.

    Attributes:
        terminal: what the agent said at its end, if it said anything.
        stopped: why the core stopped it before that.
        stopped_because: the same in words with measured numbers.
        exit: how its first process ended; None if it had none or it can't be known.
        stderr: the last of what it wrote there, for the reason.
        error: what the driver, or the core on its behalf, raised.
        error_stage: where.
        answerer_error: what the answerer raised.
        tokens: all tokens seen; None if unknown.
        tool_calls: how many were seen.
        model: the model that was asked for exactly, if one was.
        served: the model that the agent says it ran.
        out_of_memory: the kernel killed something for want of memory meanwhile.
    """

    terminal: Done | Failed | None = None
    stopped: Stopped | None = None
    stopped_because: str = ""
    exit: Exit | None = None
    stderr: str = ""
    error: BaseException | None = None
    error_stage: Stage = Stage.CONVERSE
    answerer_error: BaseException | None = None
    tokens: int | None = None
    tool_calls: int = 0
    model: str | None = None
    served: str | None = None
    out_of_memory: bool = False


def decide(signals: Signals) -> Outcome:
    """Apply the table."""
    outcome = _decide(signals)
    return evolve(outcome, conflicts=tuple(_conflicts(signals, outcome)))


def _decide(signals: Signals) -> Outcome:
    terminal = signals.terminal
    if signals.stopped is Stopped.CANCELLED:
        return Outcome(OutcomeKind.CANCELLED, signals.stopped_because or "the run was interrupted")
    if signals.answerer_error is not None:
        return _infrastructure(Stage.CONVERSE, Failure.ANSWERER, _words(signals.answerer_error))
    if signals.error is not None:
        return _infrastructure(signals.error_stage, classify(signals.error), _words(signals.error))
    if signals.model is not None and signals.served is not None and signals.model != signals.served:
        return Outcome(OutcomeKind.INVALID, f"model {signals.model} was asked for and {signals.served} was served")
    if terminal is not None:
        return _said(terminal, signals)
    if signals.stopped is not None:
        return _stopped(signals)
    return _silent(signals)


def _said(terminal: Done | Failed, signals: Signals) -> Outcome:
    words = terminal.reason if isinstance(terminal, Failed) else terminal.text or ""
    if terminal.failure is not None:
        return _infrastructure(Stage.CONVERSE, terminal.failure, words)
    unwell = isinstance(terminal, Failed) or terminal.error
    if unwell and signals.tokens == 0 and signals.tool_calls == 0:
        reason = f"it reported an error before it used a token or a tool: {words}"
        return _infrastructure(Stage.CONVERSE, Failure.CRASH, reason)
    if isinstance(terminal, Failed):
        return Outcome(OutcomeKind.AGENT_FAILED, _short(words) or "the agent gave up without a reason")
    if terminal.error:
        return Outcome(OutcomeKind.AGENT_FAILED, f"it finished with its own error flag set: {_short(words)}")
    return Outcome(OutcomeKind.COMPLETED)


_KIND_BY_STOP = {
    Stopped.IDLE: OutcomeKind.STALLED,
    Stopped.TOTAL: OutcomeKind.TIMED_OUT,
    Stopped.QUESTIONS: OutcomeKind.TOO_MANY_QUESTIONS,
    Stopped.ALLOWANCE: OutcomeKind.BUDGET_STOPPED,
    Stopped.DISK: OutcomeKind.BUDGET_STOPPED,
    Stopped.PROCESSES: OutcomeKind.BUDGET_STOPPED,
}


def _stopped(signals: Signals) -> Outcome:
    assert signals.stopped is not None
    if signals.stopped is Stopped.STARTUP:
        return _infrastructure(Stage.OPEN, Failure.CRASH, signals.stopped_because)
    return Outcome(_KIND_BY_STOP[signals.stopped], signals.stopped_because)


def _silent(signals: Signals) -> Outcome:
    ended = signals.exit
    if ended is None:
        return _infrastructure(
            Stage.CONVERSE, Failure.PROTOCOL, "the driver's session ended without Done or Failed, and it has no process"
        )
    if ended.signal == 9 and ended.stop == "none" and signals.out_of_memory:
        return _infrastructure(Stage.CONVERSE, Failure.KILLED, "the kernel killed it for want of memory")
    if ended.stop == "none":
        what = f"it ended with {ended.describe()} without saying that it had finished"
    else:
        what = "it closed its output without saying that it had finished, and was stopped"
    tail = signals.stderr.strip()
    return Outcome(OutcomeKind.AGENT_FAILED, f"{what}; stderr: {_short(tail, end=True)}" if tail else what)


def _conflicts(signals: Signals, outcome: Outcome) -> Iterator[str]:
    terminal, ended = signals.terminal, signals.exit
    if terminal is None:
        return
    by_itself = ended is not None and ended.stop == "none"
    clean = ended is not None and ended.clean
    if isinstance(terminal, Done):
        if terminal.error:
            yield "it reported that it had finished and an error at once"
        if terminal.failure is not None:
            yield f"it reported that it had finished, in the words of a failure ({terminal.failure})"
        if outcome.kind is OutcomeKind.COMPLETED and by_itself and not clean and ended is not None:
            yield f"it reported that it had finished and ended with {ended.describe()}"
    elif clean:
        yield "it reported that it had failed and ended with exit status 0"
    if terminal.failure is not None and clean and isinstance(terminal, Done):
        yield "it ended with exit status 0 after a failure"


def classify(error: BaseException) -> Failure:
    """The class of an infrastructure failure by what was raised."""
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO):
            return Failure.DISK
        if isinstance(error, ConnectionError | TimeoutError):
            return Failure.NETWORK
        return Failure.CRASH
    failure: object = getattr(error, "failure", None)
    if isinstance(failure, Failure):
        return failure
    return Failure.MISSING if isinstance(error, QuintainError) else Failure.INTERNAL


def _infrastructure(stage: Stage, failure: Failure, reason: str) -> Outcome:
    return Outcome(OutcomeKind.INFRASTRUCTURE, _short(reason), stage, failure)


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, QuintainError) else f"{type(error).__name__}: {error}"


def _short(text: str, limit: int = 1000, *, end: bool = False) -> str:
    text = text.strip()
    if len(text) <= limit:
        return text
    return f"... {text[-limit:]}" if end else f"{text[:limit]} ..."
