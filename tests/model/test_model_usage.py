"""Usage: one normal form, in which unknown is never zero and no report is believed that can't be true."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from model.records import costs, json_values
from quintain.errors import RecordError
from quintain.model.usage import (
    NO_SPEND,
    SANE_TOKENS,
    Cost,
    CostState,
    Spend,
    Tokens,
    disjoint,
    inclusive,
    reported_cost,
    sum_costs,
    sum_spend,
)

counts = st.integers(0, 10**9)


# dialects


def test_the_same_use_in_two_dialects_is_the_same() -> None:
    beside = disjoint(input=700, cache_read=300, cache_write=0, output=80)
    within = inclusive(input=1000, cache_read=300, output=80)
    assert beside == within == (Tokens(input=700, cache_read=300, output=80), None)


def test_reasoning_is_part_of_the_output_and_counted_once() -> None:
    tokens, problem = inclusive(input=1000, cache_read=300, output=80, reasoning=25)
    assert problem is None
    assert tokens is not None
    assert tokens.total == 1080


@given(counts, counts, counts, counts, st.data())
def test_any_use_is_the_same_in_both_dialects(
    uncached: int, read: int, written: int, output: int, data: st.DataObject
) -> None:
    reasoning = data.draw(st.integers(0, output))
    beside = disjoint(input=uncached, cache_read=read, cache_write=written, output=output, reasoning=reasoning)
    whole = uncached + read + written
    within = inclusive(input=whole, cache_read=read, cache_write=written, output=output, reasoning=reasoning)
    assert beside == within
    assert beside[0] is not None
    assert beside[0].total == whole + output


# reports that can't be true


@pytest.mark.parametrize(
    ("form", "report", "reason"),
    [
        (disjoint, {"input": -5, "output": 2}, "input is negative: -5"),
        (inclusive, {"input": 10, "cache_read": 400, "output": 2}, "cached tokens exceed the input (10)"),
        (disjoint, {"input": "12", "output": None}, "input is not a whole number: '12'"),
        (disjoint, {"input": 12, "output": None}, "output is not a whole number: None"),
        (disjoint, {"input": 9e15, "output": 1}, "input is not a whole number: 9000000000000000.0"),
        (disjoint, {"input": 9 * 10**15, "output": 1}, "input is beyond any sane bound"),
        (disjoint, {"input": 10**5000, "output": 1}, "input is beyond any sane bound: a number of 16610 bits"),
        (disjoint, {"input": 1.5, "output": 2}, "input is not a whole number: 1.5"),
        (disjoint, {"input": math.nan, "output": 2}, "input is not a whole number: nan"),
        (disjoint, {"input": True, "output": 2}, "input is not a whole number: True"),
        (disjoint, {"input": 1, "output": 2, "reasoning": 3}, "reasoning (3) exceeds output (2)"),
        (inclusive, {"input": 5, "cache_read": 3, "cache_write": 3}, "cached tokens exceed the input (5)"),
        (disjoint, {"input": {"deep": [1]}}, "input is not a whole number: a table"),
    ],
)
def test_an_absurd_report_is_unknown_with_its_reason(form: Callable[..., Any], report: Any, reason: str) -> None:
    tokens, problem = form(**report)
    assert tokens is None
    assert problem.startswith(reason)


def test_the_sane_bound_itself_is_believed() -> None:
    assert disjoint(input=SANE_TOKENS) == (Tokens(input=SANE_TOKENS), None)
    assert disjoint(input=SANE_TOKENS + 1)[0] is None


anything = json_values | st.floats() | st.integers(-(10**400), 10**400) | st.just(10**5000) | st.just("9" * 10**5)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("input", "cache_read", "cache_write", "output", "reasoning"), anything)
    )
)
def test_no_report_raises_and_what_is_believed_is_whole(report: dict[str, Any]) -> None:
    for form in (disjoint, inclusive):
        tokens, problem = form(**report)
        assert (tokens is None) == (problem is not None)
        if tokens is not None:
            assert 0 <= tokens.reasoning <= tokens.output
            assert min(tokens.input, tokens.cache_read, tokens.cache_write) >= 0
        else:
            assert problem is not None
            assert len(problem) < 200


@pytest.mark.parametrize(
    ("usd", "reason"),
    [
        (-0.5, "cost is not a sane amount: -0.5"),
        (math.nan, "cost is not a sane amount: nan"),
        (math.inf, "cost is not a sane amount: inf"),
        (1e10, "cost is not a sane amount"),
        (10**400, "cost is not a sane amount: a number of 1329 bits"),
        ("0.5", "cost is not a number: '0.5'"),
        (True, "cost is not a number: True"),
        ([0.5], "cost is not a number: a list"),
    ],
)
def test_an_absurd_cost_is_unknown_with_its_reason(usd: object, reason: str) -> None:
    cost, problem = reported_cost(usd)
    assert cost == Cost()
    assert problem is not None
    assert problem.startswith(reason)


@given(anything)
def test_no_cost_raises(usd: object) -> None:
    cost, problem = reported_cost(usd)
    assert cost.state is (CostState.UNKNOWN if usd is None or problem else CostState.KNOWN)
    assert cost.usd is None or 0 <= cost.usd < math.inf


def test_saying_nothing_of_the_cost_is_unknown_and_saying_zero_is_zero() -> None:
    assert reported_cost(None) == (Cost(), None)
    assert reported_cost(0) == (Cost.known(0.0), None)


@pytest.mark.parametrize("number", [-1, math.nan, math.inf])
def test_records_of_use_refuse_what_would_make_a_total_go_down(number: Any) -> None:
    with pytest.raises(RecordError, match="at least 0"):
        Tokens(output=number)
    with pytest.raises(RecordError, match="at least 0"):
        Cost.known(number)


@pytest.mark.parametrize("state", [CostState.KNOWN, CostState.ESTIMATED, CostState.FREE])
def test_a_cost_that_is_known_has_an_amount(state: CostState) -> None:
    with pytest.raises(RecordError, match="an amount is wanted"):
        Cost(state)


def test_what_is_free_costs_nothing() -> None:
    with pytest.raises(RecordError, match="free"):
        Cost(CostState.FREE, 0.01)


# sums of costs

UNKNOWN = Cost()


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([], Cost.free()),
        ([Cost.free(), Cost.free()], Cost.free()),
        ([Cost.known(0.25), Cost.free()], Cost.known(0.25)),
        ([Cost.known(0.25), Cost.known(0.5)], Cost.known(0.75)),
        ([Cost.known(0.25), Cost(CostState.ESTIMATED, 0.5)], Cost(CostState.ESTIMATED, 0.75)),
        ([Cost.known(0.25), UNKNOWN], Cost.at_least(0.25)),
        ([Cost.at_least(0.25), Cost.at_least(0.5)], Cost.at_least(0.75)),
        ([UNKNOWN, UNKNOWN], UNKNOWN),
        ([UNKNOWN, Cost.free()], UNKNOWN),
        ([UNKNOWN, Cost.known(0.0)], UNKNOWN),
        ([Cost.known(0.0), Cost.known(0.0)], Cost.known(0.0)),
    ],
)
def test_costs_add_up_and_unknown_is_never_zero(parts: list[Cost], whole: Cost) -> None:
    assert sum_costs(parts) == whole
    assert sum_costs(reversed(parts)) == whole


@given(costs)
def test_what_is_free_changes_no_cost(cost: Cost) -> None:
    assert sum_costs([cost]) == sum_costs([cost, Cost.free()]) == sum_costs([Cost.free(), cost]) == cost


def same_cost(one: Cost, other: Cost) -> bool:
    if one.state is not other.state or one.usd is None or other.usd is None:
        return one == other
    return math.isclose(one.usd, other.usd, rel_tol=1e-12)


@given(st.lists(costs, max_size=6), st.data())
def test_how_costs_are_grouped_does_not_matter(parts: list[Cost], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(parts)))
    assert same_cost(sum_costs([sum_costs(parts[:cut]), sum_costs(parts[cut:])]), sum_costs(parts))
    assert same_cost(reduce(lambda one, other: sum_costs((one, other)), parts, Cost.free()), sum_costs(parts))


@given(st.lists(costs, max_size=6))
def test_a_sum_of_costs_is_known_only_if_each_part_is_and_at_least_what_is_known(parts: list[Cost]) -> None:
    whole = sum_costs(parts)
    assert (whole.state is CostState.UNKNOWN) == any(part.state is CostState.UNKNOWN for part in parts)
    assert math.isclose(whole.usd or 0.0, math.fsum(part.usd or 0.0 for part in parts), rel_tol=1e-12)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Cost.known(0.0123), "$0.0123"),
        (Cost.known(0.0), "$0.0000"),
        (Cost(CostState.ESTIMATED, 0.0123), "about $0.0123"),
        (Cost.at_least(0.01), "unknown (at least $0.0100)"),
        (Cost.at_least(0.0), "unknown"),
        (Cost(), "unknown"),
        (Cost.free(), "free"),
    ],
)
def test_people_are_told_how_much_is_known(cost: Cost, words: str) -> None:
    assert cost.describe() == words


# sums of spend

tokens = st.builds(Tokens, *[st.integers(0, 10**6)] * 5)
whole_spends = st.builds(
    Spend, tokens, costs, st.integers(0, 9), st.booleans(), st.lists(st.sampled_from("abc")).map(tuple)
)
part_spends = st.builds(Spend, st.none(), costs, st.integers(0, 9), st.just(False))
spends = whole_spends.map(lambda one: evolve(one, problems=tuple(dict.fromkeys(one.problems)))) | part_spends
"""In the form that a meter gives them: who doesn't know the tokens doesn't say that it is all."""


def same_spend(one: Spend, other: Spend) -> bool:
    return same_cost(one.cost, other.cost) and evolve(one, cost=other.cost) == other


def test_nothing_spent_is_nothing_and_all_of_it() -> None:
    assert sum_spend([]) == NO_SPEND
    assert NO_SPEND.tokens == Tokens()
    assert NO_SPEND.cost == Cost.free()
    assert NO_SPEND.complete


@given(spends)
def test_nothing_spent_changes_no_spend(spend: Spend) -> None:
    again = Spend(tokens=Tokens())
    assert sum_spend([spend]) == spend
    assert sum_spend([NO_SPEND, spend]) == sum_spend([spend, NO_SPEND]) == spend
    assert sum_spend([again, spend]) == spend, "also if it was read back from a store"


@given(st.lists(spends, max_size=6), st.data())
def test_how_spends_are_grouped_does_not_matter(parts: list[Spend], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(parts)))
    assert same_spend(sum_spend([sum_spend(parts[:cut]), sum_spend(parts[cut:])]), sum_spend(parts))
    assert same_spend(reduce(lambda one, other: sum_spend((one, other)), parts, NO_SPEND), sum_spend(parts))


@given(st.lists(spends, max_size=6))
def test_a_sum_is_complete_only_if_each_part_is_and_no_problem_is_lost(parts: list[Spend]) -> None:
    whole = sum_spend(parts)
    assert whole.complete == all(part.complete and part.tokens is not None for part in parts)
    assert whole.calls == sum(part.calls for part in parts)
    assert set(whole.problems) == {problem for part in parts for problem in part.problems}
    assert len(set(whole.problems)) == len(whole.problems)


@given(st.lists(spends, min_size=1, max_size=6))
def test_unknown_tokens_never_add_up_to_zero(parts: list[Spend]) -> None:
    whole = sum_spend(parts)
    if any(part.tokens is None for part in parts):
        assert whole.tokens is None or whole.tokens.total + whole.tokens.reasoning > 0
        assert not whole.complete
    else:
        assert whole.tokens is not None


def test_one_spend_that_claims_to_be_whole_without_its_tokens_is_not_believed() -> None:
    assert not sum_spend([Spend(cost=Cost.known(1.0))]).complete


def test_retries_are_paid() -> None:
    one = Spend(Tokens(input=100, output=10), Cost.known(0.1), 1)
    whole = sum_spend([one, one, one])
    assert whole.calls == 3
    assert whole.tokens == Tokens(input=300, output=30)
    assert whole.cost.usd == pytest.approx(0.3)


def test_a_sum_is_made_of_json() -> None:
    from quintain.model.codec import dumps, from_plain, to_plain

    whole = sum_spend([Spend(Tokens(1, 2, 3, 4, 1), Cost.known(0.1), 2), Spend(complete=False, cost=Cost())])
    assert from_plain(json.loads(dumps(to_plain(whole))), Spend) == whole
