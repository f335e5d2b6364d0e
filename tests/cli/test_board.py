"""The board says what is known: done, running, spent against the budget, and how long it may take."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from quintain.cli.board import Board, duration
from quintain.cli.panel import Panel, can_be_live
from quintain.model.events import Message, StageBegan, ToolCall, Traced, Used
from quintain.model.outcome import Stage
from quintain.model.usage import Cost, Tokens, Usage
from quintain.testing import HOSTILE, made_report


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_counts_what_has_ended_and_says_how_long_the_rest_takes() -> None:
    clock = Clock()
    board = Board(10, 2, clock=clock)
    assert board.eta_s() is None
    for number in range(4):
        board.began(f"a@default#{number + 1}", 1)
        clock.now += 3.0
        board.ended(made_report(repetition=number + 1, passed=number != 2, infrastructure=number == 3))
    assert board.status().startswith("4/10 done, 2 passed, 1 failed, 1 missing or not graded, 0 running")
    assert board.eta_s() == 6 * 3.0 / 2
    assert "about 9 s left" in board.status()


def test_spend_is_that_of_ended_and_running_trials_against_the_budget() -> None:
    board = Board(3, 1, limit_usd=2.0)
    assert "spent nothing of $2.00" in board.status()
    board.began("b", 1)
    board.event("b", Traced(0, 0.0, Used(Usage(tokens=Tokens(1), cost=Cost.known(0.5)))))
    assert "spent $0.5000 of $2.00" in board.status()
    board.event("b", Traced(1, 0.0, Used(Usage(tokens=Tokens(1)))))
    assert "spent unknown (at least $0.5000) of $2.00" in board.status()


def test_a_running_trial_has_a_line_with_what_it_does_last() -> None:
    clock = Clock()
    board = Board(1, 1, clock=clock)
    board.began("case@p#1", 1)
    clock.now = 125.0
    for seq, event in enumerate((StageBegan(Stage.CONVERSE), Message("hello"), ToolCall("1", "shell", {}))):
        board.event("case@p#1", Traced(seq, 0.0, event))
    assert list(board.lines()) == [" 2m 05s  case@p#1  uses shell"]
    board.began("case@p#1", 2)
    assert "(attempt 2)" in next(board.lines())


def test_what_agents_say_can_not_move_the_cursor() -> None:
    board = Board(1, 1)
    board.began(HOSTILE, 1)
    board.event(HOSTILE, Traced(0, 0.0, Message(HOSTILE)))
    (line,) = board.lines()
    assert "\x1b" not in line
    assert "\n" not in line


def test_the_panel_prints_above_and_leaves_nothing_behind() -> None:
    output = io.StringIO()
    panel = Panel(Board(2, 1), output)
    panel.step_back()
    panel.show("passed   a@default#1  0.1 s")
    panel.step_aside()
    panel.step_aside()
    written = output.getvalue()
    assert "a@default#1" in written
    assert "0/2 done" in written
    assert not can_be_live(output)


@given(st.floats(0, 1e7))
def test_durations_are_short(seconds: float) -> None:
    assert 2 < len(duration(seconds)) < 12
