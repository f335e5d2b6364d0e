"""Campaigns as a whole: budgets, resuming, retries, changed conditions, reuse, early stops, and what the ledger proves."""

from __future__ import annotations

import math
import os
from collections import Counter
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from attrs import evolve
from campaign.campaigns import USD, Agent, campaign_in, plugins_with, run, split, state_of
from quintain.api import run_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.owner import owned
from quintain.campaign.verify import verify
from quintain.contracts.driver import Launch
from quintain.errors import QuintainError, StoreError, UsageError
from quintain.model.campaign import Budget, Stopping, Validation, Variant
from quintain.model.decision import Verdict
from quintain.model.limits import Retry
from quintain.model.outcome import Failure
from quintain.model.trial import Allowance
from quintain.model.usage import Cost
from quintain.runs.control import Control
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio

BOUND = {"default": Allowance(usd=USD)}


def blobs(folder: Path) -> BlobStore:
    return BlobStore(folder / "store" / "blobs")


async def test_every_candidate_runs_every_case_as_often_as_asked_and_the_better_is_promoted(tmp_path: Path) -> None:
    agent = Agent([])
    result = await run(campaign_in(tmp_path, cases=12), agent, tmp_path)
    assert result.status == "finished"
    assert Counter(trial.split(":")[0] for trial in agent.ran) == {"baseline": 24, "best": 24, "worst": 24}
    assert set(Counter(agent.ran).values()) == {1}
    assert result.decision.candidate == "best"
    assert result.decision.verdict is Verdict.PROMOTE
    assert verify(result.directory, blobs(tmp_path)).problems == ()


async def test_the_test_split_is_run_by_the_baseline_and_the_best_alone_and_looked_at_once(tmp_path: Path) -> None:
    agent = Agent([])
    result = await run(campaign_in(tmp_path, cases=8, test=8), agent, tmp_path)
    tested = Counter(trial.split(":")[0] for trial in agent.ran if ":test/" in trial)
    assert tested == {"baseline": 16, "best": 16}
    state = state_of(result.directory)
    assert state.finalist == "best"
    assert state.looks["test"] == 1
    with closing(Ledger(result.directory)) as ledger:
        kinds = [(entry.kind, entry.name) for entry in ledger.entries("look", "finalist", "settled", "decision")]
    first_test = next(at for at, (kind, name) in enumerate(kinds) if kind == "settled" and ":test/" in name)
    assert kinds.index(("finalist", "best")) < first_test
    assert kinds.index(("look", "test")) > max(at for at, one in enumerate(kinds) if one[0] == "settled")


async def test_of_many_variants_only_the_best_are_repeated(tmp_path: Path) -> None:
    agent = Agent([])
    variants = tuple(Variant(f"v{n}", text={"prompt.md": str((n - 0.2) / 10)}) for n in range(1, 10))
    campaign = campaign_in(tmp_path, cases=10, variants=variants, finalists=2)
    result = await run(campaign, agent, tmp_path)
    counts = Counter(trial.split(":")[0] for trial in agent.ran)
    assert sorted(counts.values()) == [10] * 7 + [20] * 3
    assert counts["baseline"] == 20
    assert len(state_of(result.directory).stopped) == 7


@pytest.mark.parametrize("budget", [0.0, 0.05, 0.175])
async def test_a_campaign_ends_with_its_money_and_goes_on_with_more(tmp_path: Path, budget: float) -> None:
    agent = Agent([])
    campaign = campaign_in(tmp_path, budget=Budget(usd=budget, bounds=BOUND))
    result = await run(campaign, agent, tmp_path, concurrency=8)
    assert result.status == "budget"
    assert "budget.usd" in (result.reason or "")
    assert len(agent.ran) == math.floor(budget / USD + 1e-9)
    assert result.decision.verdict is Verdict.INCOMPLETE
    first = tuple(agent.ran)
    more = evolve(campaign, budget=Budget(usd=1.0, bounds=BOUND))
    result = await run(more, agent, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert set(Counter(agent.ran).values()) == {1}
    assert len(agent.ran) == 36
    assert agent.ran[: len(first)] == list(first)
    state = state_of(result.directory)
    assert state.spent.usd == pytest.approx(36 * USD)
    assert state.sessions == 2
    assert verify(result.directory, blobs(tmp_path)).problems == ()


async def test_money_that_is_bounded_needs_a_bound_of_one_trial(tmp_path: Path) -> None:
    agent = Agent([])
    with pytest.raises(UsageError, match=r"budget\.bounds\.default\.usd"):
        await run(campaign_in(tmp_path, budget=Budget(usd=1.0)), agent, tmp_path)
    assert agent.ran == []


async def test_a_cost_that_stays_unknown_ends_a_campaign_whose_money_is_bounded(tmp_path: Path) -> None:
    agent = Agent([], cost=Cost())
    campaign = campaign_in(tmp_path, budget=Budget(usd=5.0, bounds=BOUND))
    result = await run(campaign, agent, tmp_path, concurrency=1)
    assert result.status == "budget"
    assert "unpriced_calls" in (result.reason or "")
    assert len(agent.ran) == 1
    tolerant = evolve(campaign, budget=Budget(usd=5.0, bounds=BOUND, unpriced_calls=1000))
    result = await run(tolerant, agent, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert state_of(result.directory).spent.usd == pytest.approx(36 * USD)


async def test_without_a_bound_on_money_an_unknown_cost_is_only_unknown(tmp_path: Path) -> None:
    result = await run(campaign_in(tmp_path), Agent([], cost=Cost()), tmp_path)
    assert result.status == "finished"
    assert all(standing.spend.cost.state == "unknown" for standing in result.decision.standings)


async def test_what_stays_missing_is_run_again_by_resuming_and_nothing_else(tmp_path: Path) -> None:
    broken = {"best:validation/3@default#1", "baseline:validation/0@default#2"}
    agent = Agent([], lambda launch: Failure.OVERLOAD if launch.trial in broken else None)
    campaign = campaign_in(tmp_path)
    retry = Retry(attempts=2, base_s={"overload": 0.01})
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=retry),))
    result = await run(campaign, agent, tmp_path)
    assert result.status == "incomplete"
    assert sorted(name for name, count in Counter(agent.ran).items() if count == 2) == sorted(broken)
    standing = next(one for one in result.decision.standings if one.candidate == "best")
    assert (standing.planned, standing.scored, standing.missing) == (12, 11, 1)
    assert standing.missing_trials[0].startswith("best:validation/3@default#1")
    before = len(agent.ran)
    broken.clear()
    result = await run(campaign, agent, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert sorted(agent.ran[before:]) == ["baseline:validation/0@default#2", "best:validation/3@default#1"]
    with closing(Ledger(result.directory)) as ledger:
        report = ledger.store.report("best:validation/3@default#1")
    assert [attempt.number for attempt in report.attempts] == [1, 2, 3]
    assert report.spend.total.cost.usd == pytest.approx(3 * USD)
    assert state_of(result.directory).spent.usd == pytest.approx((36 + 4) * USD)
    assert verify(result.directory, blobs(tmp_path)).problems == ()


async def test_another_attempt_is_paid_from_the_budget_too(tmp_path: Path) -> None:
    agent = Agent([], lambda launch: Failure.NETWORK)
    campaign = campaign_in(tmp_path, budget=Budget(usd=0.05, bounds=BOUND))
    retry = Retry(attempts=10, base_s={"network": 0.001})
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=retry),))
    result = await run(campaign, agent, tmp_path, concurrency=3)
    assert result.status == "budget"
    assert len(agent.ran) == 5
    assert state_of(result.directory).spent.usd <= 0.05 + 1e-12


async def test_authentication_that_fails_again_and_again_stops_the_campaign(tmp_path: Path) -> None:
    agent = Agent([], lambda launch: Failure.AUTH)
    campaign = campaign_in(tmp_path)
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=Retry(attempts=1)),))
    result = await run(campaign, agent, tmp_path, concurrency=1)
    assert result.status == "stopped"
    assert "authenticate" in (result.reason or "")
    assert len(agent.ran) == 3


async def test_a_campaign_that_is_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    agent, control = Agent([]), Control()
    campaign = campaign_in(tmp_path)

    async def stop(settlement: object) -> None:
        control.drain("interrupted", "enough")

    result = await run_campaign(
        campaign,
        plugins=plugins_with(agent),
        store=tmp_path / "store",
        control=control,
        on_trial=stop,
        concurrency=2,
    )
    assert result.status == "interrupted"
    assert 1 <= len(agent.ran) <= 4
    assert state_of(result.directory).open == {}
    result = await run(campaign, agent, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert set(Counter(agent.ran).values()) == {1}


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("objective", r"(?s)how it is decided.*alpha changed from 0\.05 to 0\.2"),
        ("cases", r"(?s)the conditions.*cases\.validation/6.* was added"),
        ("subject", "the subject has changed"),
        ("profile", r"(?s)the conditions.*profiles\.default\.limits\.idle_s changed from 600\.0 to 5\.0"),
    ],
)
async def test_only_the_campaign_that_was_begun_is_taken_up(tmp_path: Path, what: str, named: str) -> None:
    agent = Agent([])
    campaign = campaign_in(tmp_path, budget=Budget(trials=4))
    result = await run(campaign, agent, tmp_path)
    assert result.status == "budget"
    other = evolve(campaign, budget=Budget())
    if what == "objective":
        other = evolve(other, alpha=0.2)
    elif what == "cases":
        other = evolve(other, splits={"validation": split("validation", 7)})
    elif what == "subject":
        (tmp_path / "subject" / "prompt.md").write_text("0.6")
    else:
        other = evolve(
            other, profiles=(evolve(other.profiles[0], limits=evolve(other.profiles[0].limits, idle_s=5.0)),)
        )
    before = len(agent.ran)
    with pytest.raises(QuintainError, match=named):
        await run(other, agent, tmp_path, resume=result.directory)
    assert len(agent.ran) == before
    (tmp_path / "subject" / "prompt.md").write_text("0.5")
    result = await run(evolve(campaign, budget=Budget()), agent, tmp_path, resume=result.directory)
    assert result.status == "finished"


async def test_a_finished_campaign_is_not_taken_up(tmp_path: Path) -> None:
    campaign, agent = campaign_in(tmp_path, cases=2), Agent([])
    result = await run(campaign, agent, tmp_path)
    with pytest.raises(UsageError, match="it is finished"):
        await run(campaign, agent, tmp_path, resume=result.directory)


async def test_a_campaign_that_somebody_else_runs_is_refused(tmp_path: Path) -> None:
    campaign, agent = campaign_in(tmp_path, budget=Budget(trials=1)), Agent([])
    result = await run(campaign, agent, tmp_path)
    with owned(result.directory), pytest.raises(StoreError, match=f"process {os.getpid()}"):
        await run(evolve(campaign, budget=Budget()), agent, tmp_path, resume=result.directory)


async def test_conditions_that_change_in_the_middle_stop_the_campaign_and_are_named(tmp_path: Path) -> None:
    fixtures = tmp_path / "fixtures"
    fixtures.mkdir()
    (fixtures / "data.txt").write_text("one")
    agent = Agent([])
    campaign = campaign_in(tmp_path)
    cases = tuple(evolve(case, fixtures=fixtures) for case in campaign.splits["validation"].cases)
    campaign = evolve(campaign, splits={"validation": evolve(campaign.splits["validation"], cases=cases)})

    def change(launch: Launch) -> Failure | None:
        if len(agent.ran) == 5:
            (fixtures / "data.txt").write_text("two")
        return None

    agent = evolve(agent, behaviour=change)
    result = await run(campaign, agent, tmp_path, concurrency=1)
    assert result.status == "stopped"
    assert "data.txt" in (result.reason or "")
    assert len(agent.ran) == 5
    settled = state_of(result.directory).settled
    assert [one.figures.outcome for one in settled.values()].count("invalid") == 1
    (fixtures / "data.txt").write_text("one")
    result = await run(campaign, agent, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert Counter(agent.ran).most_common(1)[0][1] == 2
    assert len(agent.ran) == 37


async def test_equal_trials_of_another_campaign_are_taken_and_not_paid_again(tmp_path: Path) -> None:
    agent = Agent([])
    first = await run(campaign_in(tmp_path), agent, tmp_path)
    before = len(agent.ran)
    changed = Variant("third", text={"prompt.md": "0.9"})
    campaign = campaign_in(tmp_path)
    campaign = evolve(campaign, id="again", variants=(campaign.variants[0], changed))
    result = await run_campaign(
        campaign, plugins=plugins_with(agent), store=tmp_path / "store", reuse=[first.directory]
    )
    assert {trial.split(":")[0] for trial in agent.ran[before:]} == {"third"}
    state = state_of(result.directory)
    assert state.spent.attempts == 12
    assert sum(one.reused is not None for one in state.settled.values()) == 24
    assert verify(result.directory, blobs(tmp_path)).problems == ()
    with closing(Ledger(result.directory)) as ledger:
        name = "best:validation/0@default#1"
        assert ledger.store.report(name).trial == name
        assert [line.event for line in ledger.store.trace(name, 1)]


async def test_a_bad_variant_is_a_result_and_the_campaign_goes_on_without_it(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, cases=3)
    checker = ("python3", "-c", "import pathlib,sys; sys.exit(pathlib.Path('prompt.md').read_text() == '0')")
    subject = evolve(campaign.subject, validate=(Validation(checker),))
    agent = Agent([])
    result = await run(evolve(campaign, subject=subject), agent, tmp_path)
    assert result.status == "finished"
    state = state_of(result.directory)
    assert list(state.rejected) == ["worst"]
    assert {trial.split(":")[0] for trial in agent.ran} == {"baseline", "best"}


async def test_watching_stops_candidates_that_are_decided(tmp_path: Path) -> None:
    agent = Agent([])
    campaign = campaign_in(tmp_path, cases=60, stopping=Stopping(anytime=True))
    result = await run(campaign, agent, tmp_path)
    counts = Counter(trial.split(":")[0] for trial in agent.ran)
    state = state_of(result.directory)
    assert set(state.stopped) == {"best", "worst"}
    assert "better than the baseline" in state.stopped["best"]
    assert "worse than the baseline" in state.stopped["worst"]
    assert counts["best"] < 120
    assert counts["worst"] < 120
    # There is nobody left to be compared with.
    assert counts["baseline"] < 120
    assert all(standing.missing == 0 for standing in result.decision.standings)
    assert result.decision.candidate == "best"
    assert verify(result.directory, blobs(tmp_path)).problems == ()


async def test_the_baseline_against_itself_finds_nothing(tmp_path: Path) -> None:
    agent = Agent([])
    result = await run(campaign_in(tmp_path, variants=(), aa=True), agent, tmp_path)
    assert {trial.split(":")[0] for trial in agent.ran} == {"baseline", "baseline-again"}
    assert result.decision.verdict in (Verdict.NOT_ENOUGH_EVIDENCE, Verdict.KEEP_BASELINE)


async def test_two_campaigns_at_once_keep_to_themselves(tmp_path: Path) -> None:
    agents = [Agent([]), Agent([])]
    results = []

    async def one(number: int) -> None:
        results.append(await run(campaign_in(tmp_path, cases=3), agents[number], tmp_path))

    async with anyio.create_task_group() as group:
        group.start_soon(one, 0)
        group.start_soon(one, 1)
    assert len({result.directory for result in results}) == 2
    assert all(len(agent.ran) == 18 for agent in agents)
