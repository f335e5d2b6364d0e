"""Before a campaign's first trial each way to run is tried, paid for and written down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import anyio
import pytest
from attrs import evolve
from campaign.campaigns import USD, Agent, Behaviour, campaign_in, never, state_of
from quintain import (
    Allowance,
    Budget,
    Campaign,
    Capability,
    Case,
    Done,
    Event,
    Failure,
    Isolation,
    Launch,
    LimitOverrides,
    Plug,
    Plugins,
    Profile,
    Ready,
    Retry,
    Runtime,
    ToolCall,
    ToolResult,
    Usage,
    Used,
    driver_of,
    leaves_file,
)
from quintain.api import run_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.session import CampaignResult
from quintain.campaign.verify import verify
from quintain.model.decision import Verdict
from quintain.model.usage import Cost, Tokens
from quintain.runs.control import Control
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio

CASE = Case(
    "any",
    "Write ready to f.txt.",
    assertions=(leaves_file("f.txt", "ready", by="its file tool"),),
    limits=LimitOverrides(timeout_s=5, linger_s=0.2, grace_s=0.2),
)
BOUND = {"default": Allowance(usd=USD)}


class Pilot:
    """An agent that writes the preflight's file, or says why it can't; trials are left to another."""

    def __init__(self, refusal: str | None = None, usd: float = USD, behaviour: Behaviour = never) -> None:
        self.refusal = refusal
        self.usd = usd
        self.agent = Agent([], behaviour)
        self.flights: list[str] = []

    async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
        if launch.case.id != "preflight":
            async for event in self.agent(launch):
                yield event
            return
        self.flights.append(launch.trial)
        yield Ready(agent="agent")
        yield Used(Usage(tokens=Tokens(input=10, output=5), cost=Cost.known(self.usd)))
        failure = self.agent.behaviour(launch)
        if failure is not None:
            yield Done(None, failure=failure)
            return
        yield ToolCall("1", "write")
        if self.refusal is None:
            (launch.workspace / "f.txt").write_text("ready")
        yield ToolResult("1", text=self.refusal or "", error=self.refusal is not None)
        yield Done("ready")


async def run(campaign: Campaign, pilot: Pilot, folder: Path, **options: object) -> CampaignResult:
    spec = driver_of(pilot, name="agent")
    tools = Runtime(capabilities=frozenset({Capability.TOOL_EVENTS}))
    spec = evolve(spec, preflight=lambda config: CASE, runtime=lambda config: tools)
    plugins = Plugins.from_entry_points().with_(spec)
    return await run_campaign(campaign, plugins=plugins, store=folder / "store", **options)  # type: ignore[arg-type]  # options by name


def kinds(result: CampaignResult) -> list[str]:
    with closing(Ledger(result.directory)) as ledger:
        return [entry.kind for entry in ledger.entries()]


async def test_a_way_to_run_that_works_is_tried_once_and_paid_for(tmp_path: Path) -> None:
    pilot = Pilot()
    result = await run(campaign_in(tmp_path), pilot, tmp_path)
    assert result.status == "finished"
    assert pilot.flights == ["preflight@default#1"]
    assert len(pilot.agent.ran) == 36
    written = kinds(result)
    assert written.index("preflight_began") < written.index("preflight") < written.index("reserved")
    state = state_of(result.directory)
    assert state.spent.usd == pytest.approx(37 * USD)
    assert state.spent.attempts == 36
    assert state.open == {}
    assert verify(result.directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()


async def test_an_agent_whose_every_command_fails_stops_the_campaign_before_any_trial(tmp_path: Path) -> None:
    pilot = Pilot("bwrap: No permissions to create a new namespace")
    result = await run(campaign_in(tmp_path), pilot, tmp_path)
    assert result.status == "stopped"
    assert pilot.agent.ran == []
    assert result.decision.verdict is Verdict.INCOMPLETE
    for words in (
        "no trial was begun. profile default: its only tool call was stopped",
        "bwrap: No permissions",
        "f.txt is not there: its file tool wrote nothing",
        "Change the agent's own sandbox",
        "--no-preflight",
    ):
        assert words in (result.reason or "")
    state = state_of(result.directory)
    assert state.settled == {}
    assert state.spent.usd == pytest.approx(USD)
    assert verify(result.directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()
    first, *_ = (result.directory / "preflight").iterdir()
    first.unlink()
    assert "is gone" in verify(result.directory, BlobStore(tmp_path / "store" / "blobs")).problems[0]


async def test_a_campaign_that_was_stopped_so_goes_on_once_it_is_mended(tmp_path: Path) -> None:
    pilot = Pilot("read-only file system")
    campaign = campaign_in(tmp_path)
    result = await run(campaign, pilot, tmp_path)
    assert result.status == "stopped"
    pilot.refusal = None
    result = await run(campaign, pilot, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert len(pilot.flights) == 2
    assert state_of(result.directory).spent.usd == pytest.approx(38 * USD)


async def test_whoever_asks_for_no_preflight_gets_none(tmp_path: Path) -> None:
    pilot = Pilot("sandbox")
    result = await run(campaign_in(tmp_path), pilot, tmp_path, preflight=False)
    assert result.status == "finished"
    assert pilot.flights == []
    assert "preflight" not in kinds(result)


async def test_a_campaign_with_settled_trials_is_not_tried_again(tmp_path: Path) -> None:
    pilot = Pilot()
    campaign = campaign_in(tmp_path, budget=Budget(trials=3))
    result = await run(campaign, pilot, tmp_path, concurrency=1)
    assert result.status == "budget"
    assert len(pilot.agent.ran) == 3
    result = await run(evolve(campaign, budget=Budget()), pilot, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert len(pilot.flights) == 1


async def test_each_profile_is_tried_and_the_one_that_fails_is_named(tmp_path: Path) -> None:
    pilot = Pilot(behaviour=lambda launch: Failure.AUTH if launch.environment.get("X") else None)
    profiles = (
        Profile("good", Plug("agent")),
        Profile("bad", Plug("agent"), isolation=Isolation(env={"X": "1"}), retry=Retry(attempts=1)),
    )
    result = await run(campaign_in(tmp_path, profiles=profiles), pilot, tmp_path)
    assert result.status == "stopped"
    assert sorted(pilot.flights) == ["preflight@bad#2", "preflight@good#1"]
    assert "profile bad: it ended as infrastructure (converse, auth)" in (result.reason or "")
    assert "profile good" not in (result.reason or "")


async def test_a_preflight_that_the_budget_does_not_hold_is_not_begun(tmp_path: Path) -> None:
    pilot = Pilot()
    result = await run(campaign_in(tmp_path, budget=Budget(usd=USD / 2, bounds=BOUND)), pilot, tmp_path)
    assert result.status == "budget"
    assert pilot.flights == []
    assert pilot.agent.ran == []


async def test_what_a_preflight_costs_is_gone_for_trials(tmp_path: Path) -> None:
    pilot = Pilot()
    result = await run(campaign_in(tmp_path, budget=Budget(usd=5 * USD, bounds=BOUND)), pilot, tmp_path)
    assert result.status == "budget"
    assert len(pilot.agent.ran) == 4
    assert state_of(result.directory).spent.usd == pytest.approx(5 * USD)


async def test_another_attempt_is_promised_before_it_is_made(tmp_path: Path) -> None:
    pilot = Pilot(behaviour=lambda launch: Failure.OVERLOAD)
    campaign = campaign_in(tmp_path, budget=Budget(usd=2 * USD, bounds=BOUND))
    retry = Retry(attempts=9, base_s={"overload": 0.001})
    campaign = evolve(campaign, profiles=(evolve(campaign.profiles[0], retry=retry),))
    result = await run(campaign, pilot, tmp_path)
    assert result.status == "stopped"
    assert len(pilot.flights) == 2
    assert kinds(result).count("preflight_began") == 2
    assert state_of(result.directory).spent.usd == pytest.approx(2 * USD)


async def test_a_preflight_that_was_killed_is_charged_at_its_bound(tmp_path: Path) -> None:
    control = Control()

    class Hanging(Pilot):
        async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
            yield Ready(agent="agent")
            control.abandon()
            await anyio.sleep_forever()

    campaign = campaign_in(tmp_path, budget=Budget(usd=1.0, bounds=BOUND))
    result = await run(campaign, Hanging(), tmp_path, control=control)
    assert result.status == "interrupted"
    assert state_of(result.directory).open["preflight@default#1"].usd == USD
    pilot = Pilot()
    result = await run(campaign, pilot, tmp_path, resume=result.directory)
    assert result.status == "finished"
    assert len(pilot.flights) == 1
    state = state_of(result.directory)
    assert state.open == {}
    assert state.spent.usd == pytest.approx(38 * USD)


async def test_a_preflight_that_is_interrupted_says_nothing_about_the_profile(tmp_path: Path) -> None:
    control = Control()

    class Slow(Pilot):
        async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
            yield Ready(agent="agent")
            control.end_trials("enough")
            await anyio.sleep_forever()

    result = await run(campaign_in(tmp_path), Slow(), tmp_path, control=control)
    assert result.status == "interrupted"
    assert result.reason == "enough"


@pytest.mark.parametrize("place", ["beside", "workspace"])
async def test_what_is_under_test_is_there_only_if_it_lies_beside_the_workspace(
    tmp_path: Path, place: Literal["beside", "workspace"]
) -> None:
    seen: list[tuple[bool, list[str]]] = []

    class Curious(Pilot):
        async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
            found = launch.subject is not None and (launch.subject / "prompt.md").exists()
            seen.append((found, [path.name for path in launch.workspace.iterdir()]))
            async for event in super().__call__(launch):
                yield event

    campaign = campaign_in(tmp_path)
    campaign = evolve(campaign, subject=evolve(campaign.subject, place=place), budget=Budget(trials=0))
    await run(campaign, Curious(), tmp_path)
    assert seen == [(place == "beside", [])]
