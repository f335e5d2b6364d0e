"""The budget of a campaign holds over graders, over sessions, and over bounds that were too low."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import pytest
from attrs import evolve
from campaign.campaigns import USD, Agent, campaign_in, plugins_with, run, state_of
from quintain.api import run_campaign
from quintain.campaign.account import NOTHING, Account, Charge, Standing, bound_charge
from quintain.campaign.session import CampaignResult
from quintain.contracts.assertion import AssertionSpec, Evidence
from quintain.contracts.configs import NoConfig
from quintain.model.campaign import Budget, Campaign
from quintain.model.case import Assertion
from quintain.model.grade import Status, Verdict
from quintain.model.limits import Retry
from quintain.model.outcome import Failure
from quintain.model.trial import Allowance
from quintain.model.usage import Cost, Spend, Tokens
from quintain.runs.control import Control

pytestmark = pytest.mark.anyio

BOUND = {"default": Allowance(usd=USD)}


def judge_of(cost: Cost, calls: int) -> AssertionSpec[NoConfig]:
    """Asks a model so many times."""

    def judge(config: NoConfig, evidence: Evidence) -> Verdict:
        return Verdict(Status.PASS, spend=Spend(Tokens(input=5), cost, calls))

    return AssertionSpec("judge", judge)


def judged(folder: Path, budget: Budget) -> Campaign:
    campaign = campaign_in(folder, cases=3, budget=budget)
    cases = tuple(
        evolve(case, assertions=(*case.assertions, Assertion("judge"))) for case in campaign.splits["validation"].cases
    )
    return evolve(campaign, splits={"validation": evolve(campaign.splits["validation"], cases=cases)})


async def run_judged(
    campaign: Campaign, agent: Agent, cost: Cost, folder: Path, *, calls: int = 2, resume: Path | None = None
) -> CampaignResult:
    plugins = plugins_with(agent).with_(judge_of(cost, calls))
    return await run_campaign(campaign, plugins=plugins, store=folder / "store", resume=resume, concurrency=1)


async def test_calls_of_graders_end_a_campaign_that_bounds_them(tmp_path: Path) -> None:
    agent = Agent([])
    campaign = judged(tmp_path, Budget(judge_calls=7))
    result = await run_judged(campaign, agent, Cost.known(0.001), tmp_path)
    assert result.status == "budget"
    assert "budget.judge_calls" in (result.reason or "")
    # After three of them a fourth would take two more.
    assert state_of(result.directory).spent.judge_calls == 6
    result = await run_judged(campaign, agent, Cost.known(0.001), tmp_path, resume=result.directory)
    assert result.status == "budget"
    assert state_of(result.directory).spent.judge_calls == 6
    more = evolve(campaign, budget=Budget(judge_calls=1000))
    result = await run_judged(more, agent, Cost.known(0.001), tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert set(Counter(agent.ran).values()) == {1}


async def test_what_graders_cost_is_promised_once_it_is_known(tmp_path: Path) -> None:
    agent = Agent([])
    campaign = judged(tmp_path, Budget(usd=0.1, bounds=BOUND))
    result = await run_judged(campaign, agent, Cost.known(0.03), tmp_path)
    assert result.status == "budget"
    assert state_of(result.directory).spent.usd == pytest.approx(0.08)


@pytest.mark.parametrize("calls", [0, 2])
async def test_a_grader_whose_cost_is_unknown_has_not_cost_nothing(tmp_path: Path, calls: int) -> None:
    agent = Agent([])
    campaign = judged(tmp_path, Budget(usd=5.0, bounds=BOUND))
    result = await run_judged(campaign, agent, Cost(), tmp_path, calls=calls)
    assert result.status == "budget"
    assert "unpriced_calls" in (result.reason or "")
    assert len(agent.ran) == 1


async def test_what_one_session_has_learned_of_a_cost_the_next_one_promises(tmp_path: Path) -> None:
    # More than anybody said, in one report, so that nobody can stop it before.
    agent = Agent([], cost=Cost.known(3 * USD))
    campaign = campaign_in(tmp_path, budget=Budget(usd=3.5 * USD, bounds=BOUND))
    result = await run(campaign, agent, tmp_path, concurrency=1)
    assert (result.status, len(agent.ran)) == ("budget", 1)
    # Two of what was said would fit, one of what is known does not.
    more = evolve(campaign, budget=Budget(usd=5.5 * USD, bounds=BOUND))
    result = await run(more, agent, tmp_path, resume=result.directory, concurrency=1)
    assert (result.status, len(agent.ran)) == ("budget", 1)
    more = evolve(campaign, budget=Budget(usd=6 * USD, bounds=BOUND))
    result = await run(more, agent, tmp_path, resume=result.directory, concurrency=4)
    assert (result.status, len(agent.ran)) == ("budget", 2)
    assert state_of(result.directory).spent.usd <= 6 * USD + 1e-12


def test_an_abandoned_promise_without_a_bound_cost_nobody_knows_what() -> None:
    account = Account(Standing(Budget(usd=1.0), spent=bound_charge(Allowance())))
    assert "unpriced_calls" in (account.promise("next", bound_charge(Allowance(usd=0.1))) or "")
    account = Account(Standing(Budget(usd=1.0), spent=bound_charge(Allowance(usd=0.1))))
    assert account.promise("next", bound_charge(Allowance(usd=0.1))) is None
    assert Standing(Budget(judge_calls=5), Charge(judge_calls=5)).refusal(NOTHING) is None


async def test_who_stops_a_campaign_in_a_pause_begins_no_trial_after_it(tmp_path: Path) -> None:
    control = Control()
    settled = anyio.Event()

    async def heard(settlement: object) -> None:
        settled.set()

    async def stop() -> None:
        await settled.wait()
        await anyio.sleep(0.2)
        control.drain("interrupted", "enough")

    agent = Agent([], lambda launch: Failure.RATE_LIMIT)
    campaign = campaign_in(tmp_path)
    retry = Retry(attempts=1, base_s={"rate_limit": 1.5})
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=retry),))
    plugins, store = plugins_with(agent), tmp_path / "store"
    async with anyio.create_task_group() as group:
        group.start_soon(stop)
        result = await run_campaign(
            campaign, plugins=plugins, store=store, control=control, on_trial=heard, concurrency=1
        )
    assert result.status == "interrupted"
    assert len(agent.ran) == 1
    assert state_of(result.directory).open == {}
