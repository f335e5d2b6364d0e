"""Outcomes, limits and retries: closed sets and bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st
from quintain.errors import RecordError
from quintain.model.exit import Exit
from quintain.model.grade import AssertionResult, Grade, Status, Verdict
from quintain.model.limits import NO_OVERRIDES, LimitOverrides, Limits, Retry
from quintain.model.outcome import NOT_RETRIED, SCORED, Failure, Outcome, OutcomeKind, Stage

MISSING_DATA = {OutcomeKind.INFRASTRUCTURE, OutcomeKind.GRADER_FAILED, OutcomeKind.INVALID, OutcomeKind.CANCELLED}


def test_an_outcome_says_something_about_the_agent_or_is_missing_data() -> None:
    assert set(OutcomeKind) == SCORED | MISSING_DATA
    assert not SCORED & MISSING_DATA


@pytest.mark.parametrize("kind", OutcomeKind)
def test_an_outcome_knows_on_which_side_it_is(kind: OutcomeKind) -> None:
    assert Outcome(kind).scored == (kind not in MISSING_DATA)


def test_an_infrastructure_failure_says_where_and_of_what_class() -> None:
    outcome = Outcome(OutcomeKind.INFRASTRUCTURE, "429", Stage.CONVERSE, Failure.RATE_LIMIT)
    assert outcome.describe() == "infrastructure (converse, rate_limit)"
    assert Outcome(OutcomeKind.STALLED).describe() == "stalled"


# retries

retries = st.builds(
    Retry,
    attempts=st.integers(1, 10),
    base_s=st.dictionaries(st.sampled_from([one.value for one in Failure]), st.floats(0, 1e6)),
    longest_s=st.floats(0, 1e6),
)


@given(retries, st.sampled_from(Failure), st.integers(1, 100_000))
def test_a_wait_is_never_longer_than_the_longest_and_never_shrinks(
    retry: Retry, failure: Failure, attempt: int
) -> None:
    wait = retry.wait_s(failure, attempt)
    assert 0 <= wait <= retry.longest_s
    assert wait <= retry.wait_s(failure, attempt + 1)


def test_waits_double_from_the_base_of_their_class() -> None:
    assert [Retry().wait_s(Failure.RATE_LIMIT, attempt) for attempt in (1, 2, 3, 4, 5, 6)] == [
        15,
        30,
        60,
        120,
        240,
        300,
    ]


def test_every_class_that_is_tried_again_has_a_wait_of_its_own() -> None:
    assert set(Retry().base_s) == set(Failure) - NOT_RETRIED


@pytest.mark.parametrize(
    ("stated", "path"),
    [
        ({"attempts": 0}, ("attempts",)),
        ({"longest_s": -1.0}, ("longest_s",)),
        ({"longest_s": math.inf}, ("longest_s",)),
        ({"base_s": {"disk": -1.0}}, ("base_s", "disk")),
        ({"base_s": {"disk": math.nan}}, ("base_s", "disk")),
        ({"base_s": {"dsik": 1.0}}, ("base_s", "dsik")),
    ],
)
def test_a_retry_out_of_bounds_is_refused_with_its_key(stated: dict[str, Any], path: tuple[str, ...]) -> None:
    with pytest.raises(RecordError) as caught:
        Retry(**stated)
    assert caught.value.path == path


# limits


@pytest.mark.parametrize("cls", [Limits, LimitOverrides])
@pytest.mark.parametrize("number", [-1, math.nan, math.inf])
def test_no_limit_is_negative_or_endless_by_a_number(cls: type, number: float) -> None:
    for one in fields(cls):
        with pytest.raises(RecordError) as caught:
            cls(**{one.name: number})
        assert caught.value.path == (one.name,)


def test_every_limit_can_be_overridden_under_its_name() -> None:
    names = [one.name for one in fields(Limits)]
    assert [one.name for one in fields(LimitOverrides)] == [name.replace("total_s", "timeout_s") for name in names]


def test_overrides_replace_what_they_state_and_nothing_else() -> None:
    limits = Limits(total_s=10.0, idle_s=None)
    assert NO_OVERRIDES.over(limits) == limits
    assert LimitOverrides(timeout_s=20.0, questions=0).over(limits) == Limits(total_s=20.0, idle_s=None, questions=0)


@given(st.dictionaries(st.sampled_from([one.name for one in fields(LimitOverrides)]), st.integers(1, 10**6)))
def test_the_last_of_two_overrides_wins(stated: dict[str, int]) -> None:
    overrides = LimitOverrides(**stated)
    other = LimitOverrides(timeout_s=3, questions=3)
    assert overrides.over(other.over(Limits())) == overrides.over(overrides.over(other.over(Limits())))
    for name, value in stated.items():
        assert getattr(overrides.over(Limits()), name.replace("timeout_s", "total_s")) == value


# the small ones


@pytest.mark.parametrize(
    ("ended", "words", "clean"),
    [
        (Exit(0), "exit status 0", True),
        (Exit(3), "exit status 3", False),
        (Exit(0, stop="stdin-closed"), "exit status 0", False),
        (Exit(signal=9, stop="killed"), "signal 9, sent by us", False),
        (Exit(signal=11), "signal 11", False),
        (Exit(), "unknown exit status", False),
    ],
)
def test_an_exit_says_how_a_process_ended(ended: Exit, words: str, clean: bool) -> None:
    assert ended.describe() == words
    assert ended.clean is clean


def test_verdicts_have_the_status_that_their_makers_name() -> None:
    assert Verdict.passed("a", score=0.5) == Verdict(Status.PASS, "a", 0.5)
    assert Verdict.failed("b") == Verdict(Status.FAIL, "b")
    assert Verdict.abstain("c") == Verdict(Status.ABSTAIN, "c")
    assert [Verdict.of(ok, "d").status for ok in (True, False)] == [Status.PASS, Status.FAIL]


def test_a_grade_with_an_assertion_that_went_wrong_was_not_judged() -> None:
    fine = AssertionResult("a", "x", Status.PASS, 1.0, "ok")
    wrong = AssertionResult("b", "x", Status.ABSTAIN, None, "", error="it raised")
    assert Grade(True, 1.0, (fine,)).judged
    assert not Grade(None, 1.0, (fine, wrong)).judged
