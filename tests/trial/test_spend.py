"""Spend: each model call once, unknown never zero, kills leave a lower bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from quintain.model.usage import Cost, CostState, Tokens, Usage
from quintain.trial.spend import SpendMeter


def call(id: str | None = None, input: int = 10, output: int = 2, usd: float | None = None) -> Usage:
    return Usage(Tokens(input=input, output=output), Cost.known(usd) if usd is not None else Cost(), id=id)


def metered(*usages: Usage, complete: bool = True):  # type: ignore[no-untyped-def]
    meter = SpendMeter()
    for usage in usages:
        meter.add(usage)
    return meter.spend(complete=complete)


def test_an_agent_that_reports_nothing_has_spent_an_unknown_amount() -> None:
    spend = metered()
    assert spend.tokens is None
    assert spend.cost == Cost(CostState.UNKNOWN)
    assert not spend.complete


def test_of_several_reports_of_one_call_the_last_counts() -> None:
    assert metered(call("m1", 10, 1), call("m1", 10, 5), call("m2", 1, 1)).tokens == Tokens(input=11, output=6)


def test_calls_without_an_id_each_count() -> None:
    assert metered(call(), call(), call()).tokens == Tokens(input=30, output=6)


def test_the_agents_own_total_wins_and_a_difference_is_on_record() -> None:
    total = Usage(Tokens(input=100, output=20), Cost.known(0.5), scope="total")
    spend = metered(call("m1", 50, 5), total)
    assert spend.tokens == Tokens(input=100, output=20)
    assert spend.cost == Cost.known(0.5)
    assert "differs" in spend.problems[0]
    assert metered(call("m1", 100, 20), total).problems == ()


def test_calls_after_the_total_are_added() -> None:
    total = Usage(Tokens(input=10, output=2), Cost.known(0.1), scope="total")
    spend = metered(call("m1"), total, call("late", 5, 1, usd=0.01))
    assert spend.tokens == Tokens(input=15, output=3)
    assert spend.cost.usd is not None
    assert abs(spend.cost.usd - 0.11) < 1e-12


def test_a_killed_agent_leaves_a_lower_bound() -> None:
    spend = metered(call("m1", usd=0.1), call("m2", usd=0.2), complete=False)
    assert not spend.complete
    assert spend.cost.state is CostState.UNKNOWN
    assert spend.cost.usd is not None
    assert abs(spend.cost.usd - 0.3) < 1e-12


def test_a_bad_report_is_unknown_and_never_takes_anything_away() -> None:
    spend = metered(call("m1"), Usage(problem="input is negative: -5", id="m2"))
    assert spend.tokens == Tokens(input=10, output=2)
    assert not spend.complete
    assert spend.problems == ("input is negative: -5",)


def test_a_total_without_cost_takes_the_cost_of_the_calls() -> None:
    total = Usage(Tokens(input=10, output=2), scope="total")
    assert metered(call("m1", usd=0.25), total).cost == Cost.known(0.25)


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 1000), st.integers(0, 1000)), max_size=30))
def test_the_order_of_other_calls_changes_nothing(reports: list[tuple[str, int, int]]) -> None:
    last = {id: Tokens(input=read, output=wrote) for id, read, wrote in reports}
    spend = metered(*(call(id, read, wrote) for id, read, wrote in reports))
    assert spend.tokens == (sum(last.values(), Tokens()) if last else None)
    assert spend.calls == len(last)
