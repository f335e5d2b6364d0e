"""The outcome table: every combination of signals has exactly one outcome, and contradictions are on record."""

from __future__ import annotations

import errno
import itertools

import pytest
from quintain.errors import QuintainError
from quintain.model.events import Done, Failed
from quintain.model.exit import Exit
from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage
from quintain.trial import decide as table
from quintain.trial.decide import Signals, Stopped, classify, decide

CLEAN = Exit(code=0)
ONE = Exit(code=1)
KILLED = Exit(signal=9)
STOPPED = Exit(signal=15, stop="terminated")
RATE_LIMITED = Done("API error: rate limit reached", error=True, failure=Failure.RATE_LIMIT)


def kind(**signals: object) -> OutcomeKind:
    return decide(Signals(**signals)).kind  # type: ignore[arg-type]


def infrastructure(outcome: Outcome) -> tuple[Stage | None, Failure | None]:
    assert outcome.kind is OutcomeKind.INFRASTRUCTURE, outcome
    return outcome.stage, outcome.failure


def test_an_agent_that_says_it_is_done_has_completed_whatever_its_exit_status() -> None:
    for ended in (None, CLEAN, ONE, KILLED, STOPPED):
        assert kind(terminal=Done("ok"), exit=ended) is OutcomeKind.COMPLETED


def test_a_bad_exit_after_done_is_a_conflict_but_being_stopped_by_us_is_none() -> None:
    assert decide(Signals(terminal=Done("ok"), exit=ONE)).conflicts == (
        "it reported that it had finished and ended with exit status 1",
    )
    assert decide(Signals(terminal=Done("ok"), exit=STOPPED)).conflicts == ()
    assert decide(Signals(terminal=Done("ok"), exit=CLEAN)).conflicts == ()


def test_a_rate_limit_told_as_an_answer_is_infrastructure() -> None:
    outcome = decide(Signals(terminal=RATE_LIMITED, exit=CLEAN, tokens=0))
    assert infrastructure(outcome) == (Stage.CONVERSE, Failure.RATE_LIMIT)
    assert len(outcome.conflicts) == 3


def test_an_error_before_any_token_or_tool_is_infrastructure() -> None:
    for terminal in (Done("boom", error=True), Failed("boom")):
        outcome = decide(Signals(terminal=terminal, tokens=0, tool_calls=0))
        assert infrastructure(outcome) == (Stage.CONVERSE, Failure.CRASH)


@pytest.mark.parametrize(("tokens", "tools"), [(None, 0), (5, 0), (0, 1)])
def test_an_error_after_some_work_is_the_agents(tokens: int | None, tools: int) -> None:
    for terminal in (Done("boom", error=True), Failed("boom")):
        assert kind(terminal=terminal, tokens=tokens, tool_calls=tools) is OutcomeKind.AGENT_FAILED


def test_a_process_that_ends_without_a_word_has_failed_even_with_exit_status_0() -> None:
    for ended in (CLEAN, ONE, Exit(code=3), KILLED):
        outcome = decide(Signals(exit=ended, stderr="Traceback: last words"))
        assert outcome.kind is OutcomeKind.AGENT_FAILED
        assert "last words" in outcome.reason
        assert ended.describe() in outcome.reason


def test_a_process_that_the_kernel_killed_for_memory_is_infrastructure() -> None:
    assert infrastructure(decide(Signals(exit=KILLED, out_of_memory=True))) == (Stage.CONVERSE, Failure.KILLED)


def test_a_driver_without_a_process_must_end_its_session_with_a_word() -> None:
    assert infrastructure(decide(Signals())) == (Stage.CONVERSE, Failure.PROTOCOL)


@pytest.mark.parametrize(
    ("stopped", "expected"),
    [
        (Stopped.CANCELLED, OutcomeKind.CANCELLED),
        (Stopped.STARTUP, OutcomeKind.INFRASTRUCTURE),
        (Stopped.IDLE, OutcomeKind.STALLED),
        (Stopped.TOTAL, OutcomeKind.TIMED_OUT),
        (Stopped.QUESTIONS, OutcomeKind.TOO_MANY_QUESTIONS),
        (Stopped.ALLOWANCE, OutcomeKind.BUDGET_STOPPED),
        (Stopped.DISK, OutcomeKind.BUDGET_STOPPED),
        (Stopped.PROCESSES, OutcomeKind.BUDGET_STOPPED),
    ],
)
def test_what_stopped_an_agent_names_its_outcome(stopped: Stopped, expected: OutcomeKind) -> None:
    outcome = decide(Signals(stopped=stopped, stopped_because="after 5.2 s", exit=STOPPED))
    assert outcome.kind is expected
    assert outcome.reason == "after 5.2 s"


def test_another_model_than_was_asked_for_makes_a_trial_invalid() -> None:
    outcome = decide(Signals(terminal=Done("ok"), model="m1", served="m2"))
    assert outcome.kind is OutcomeKind.INVALID
    assert "m1" in outcome.reason
    assert "m2" in outcome.reason
    assert kind(terminal=Done("ok"), model="m1", served="m1") is OutcomeKind.COMPLETED
    assert kind(terminal=Done("ok"), model="m1", served=None) is OutcomeKind.COMPLETED


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (OSError(errno.ENOSPC, "no space"), Failure.DISK),
        (OSError(errno.EFBIG, "too big"), Failure.DISK),
        (ConnectionResetError(), Failure.NETWORK),
        (PermissionError(errno.EACCES, "no"), Failure.CRASH),
        (QuintainError("no such program"), Failure.MISSING),
        (KeyError("x"), Failure.INTERNAL),
    ],
)
def test_what_was_raised_names_the_class_of_failure(error: BaseException, failure: Failure) -> None:
    assert classify(error) is failure
    assert infrastructure(decide(Signals(error=error, error_stage=Stage.OPEN))) == (Stage.OPEN, failure)


def test_an_error_may_name_its_own_class() -> None:
    class Overloaded(QuintainError):
        failure = Failure.OVERLOAD

    assert classify(Overloaded("busy")) is Failure.OVERLOAD


def test_every_combination_has_one_outcome_and_a_failure_is_never_an_answer() -> None:
    terminals = (None, Done("a"), Done("a", error=True), RATE_LIMITED, Failed("b"), Failed("b", failure=Failure.AUTH))
    combinations = itertools.product(
        terminals, (None, *Stopped), (None, CLEAN, ONE, KILLED, STOPPED), (None, 0, 9), (0, 2), (False, True)
    )
    for terminal, stopped, ended, tokens, tools, memory in combinations:
        outcome = decide(
            Signals(terminal, stopped, "x", ended, "", None, Stage.OPEN, None, tokens, tools, None, None, memory)
        )
        assert outcome.kind in OutcomeKind
        assert (outcome.failure is not None) == (outcome.kind is OutcomeKind.INFRASTRUCTURE)
        if terminal is not None and terminal.failure is not None and stopped is not Stopped.CANCELLED:
            assert not outcome.scored


def test_the_page_shows_every_row_of_the_table() -> None:
    rows = [line for line in (table.__doc__ or "").splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert len(rows) == 16
