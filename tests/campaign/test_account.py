"""A budget is never exceeded, however many draw on it at once."""

from __future__ import annotations

import math

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain.campaign.account import NOTHING, Account, Charge, Standing, bound_charge, charge_of
from quintain.model.campaign import Budget
from quintain.model.trial import Allowance
from quintain.model.usage import NO_SPEND, Cost, Spend, Tokens

anyio_test = pytest.mark.anyio


@anyio_test
@pytest.mark.parametrize("budget_usd", [1.0, 0.9, 0.29])
async def test_eight_at_once_never_spend_more_than_the_budget(budget_usd: float) -> None:
    account = Account(Standing(Budget(usd=budget_usd)))
    most, refused = 0.0, []

    async def work(worker: int) -> None:
        nonlocal most
        for number in range(5):
            name = f"{worker}.{number}"
            refusal = await account.admit(name, bound_charge(Allowance(usd=0.3)))
            if refusal is not None:
                refused.append(refusal)
                return
            most = max(most, account.standing.committed.usd)
            await anyio.sleep(0.001)
            account.settle(name, Charge(attempts=1, usd=0.3))

    async with anyio.create_task_group() as group:
        for worker in range(8):
            group.start_soon(work, worker)

    assert account.standing.spent.usd == pytest.approx(math.floor(budget_usd / 0.3) * 0.3)
    assert most <= budget_usd
    assert len(refused) == 8
    assert all(text.startswith("budget.usd:") for text in refused)


@anyio_test
async def test_a_trial_waits_for_a_promise_that_may_not_be_needed() -> None:
    account = Account(Standing(Budget(usd=1.0)))
    assert await account.admit("dear", bound_charge(Allowance(usd=0.9))) is None
    admitted = []

    async def second() -> None:
        admitted.append(await account.admit("second", bound_charge(Allowance(usd=0.5))))

    async with anyio.create_task_group() as group:
        group.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        assert admitted == []
        account.settle("dear", Charge(attempts=1, usd=0.1))
    assert admitted == [None]


@anyio_test
async def test_a_trial_that_can_never_fit_is_refused_at_once_although_others_run() -> None:
    account = Account(Standing(Budget(usd=1.0)))
    assert await account.admit("one", bound_charge(Allowance(usd=0.9))) is None
    with anyio.fail_after(30):
        refusal = await account.admit("two", bound_charge(Allowance(usd=1.1)))
    assert refusal is not None


@given(
    budget=st.floats(0.0, 5.0),
    steps=st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), max_size=40),
)
def test_no_order_of_promises_and_settlements_exceeds_the_budget(
    budget: float, steps: list[tuple[float, float]]
) -> None:
    account = Account(Standing(Budget(usd=budget)))
    for number, (bound, share) in enumerate(steps):
        if account.promise(f"t{number}", Charge(attempts=1, usd=bound)) is None and number % 3:
            account.settle(f"t{number}", Charge(attempts=1, usd=bound * share))
    assert account.standing.committed.usd <= budget * (1 + 1e-9)
    assert account.standing.spent.usd <= account.standing.committed.usd + 1e-12


@pytest.mark.parametrize(
    ("spend", "expected"),
    [
        (NO_SPEND, Charge(1, 0.0, 0, 0)),
        (Spend(Tokens(10), Cost.known(0.2), 1), Charge(1, 0.2, 10, 0)),
        (Spend(Tokens(10), Cost(), 1), Charge(1, 0.5, 10, 1)),
        (Spend(Tokens(10), Cost.at_least(0.7), 1), Charge(1, 0.7, 10, 1)),
        (Spend(None, Cost.free(), 1, complete=False), Charge(1, 0.0, 900, 0)),
        (Spend(Tokens(2000), Cost.known(0.2), 1, complete=False), Charge(1, 0.2, 2000, 0)),
    ],
)
def test_what_is_not_known_is_charged_at_its_bound(spend: Spend, expected: Charge) -> None:
    assert charge_of(spend, Allowance(usd=0.5, tokens=900)) == expected


def test_an_unknown_cost_ends_a_campaign_whose_money_is_bounded() -> None:
    spent = Charge(attempts=1, unpriced=1)
    assert Standing(Budget(usd=10.0), spent).refusal(bound_charge(Allowance(usd=0.1))) is not None
    assert Standing(Budget(usd=10.0, unpriced_calls=1), spent).refusal(bound_charge(Allowance(usd=0.1))) is None
    assert Standing(Budget(tokens=10), spent).refusal(bound_charge(Allowance(tokens=1))) is None


@pytest.mark.parametrize(
    ("budget", "key"),
    [
        (Budget(trials=0), "budget.trials"),
        (Budget(tokens=5), "budget.tokens"),
        (Budget(wall_s=60.0), "budget.wall_s"),
        (Budget(judge_calls=0), "budget.judge_calls"),
        (Budget(proposal_calls=0), "budget.proposal_calls"),
    ],
)
def test_a_refusal_names_the_key_of_the_budget(budget: Budget, key: str) -> None:
    standing = Standing(budget, wall_s=60.0)
    more = Charge(attempts=1, tokens=6, judge_calls=1, proposal_calls=1)
    refusal = standing.refusal(more)
    assert refusal is not None
    assert refusal.startswith(key)


def test_without_bounds_everything_fits() -> None:
    assert Standing(Budget(), Charge(10**6, 1e9, 10**12, 5)).refusal(Charge(1, 1e6, 10**9)) is None
    assert NOTHING + NOTHING == NOTHING
