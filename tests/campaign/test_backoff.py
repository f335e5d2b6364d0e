"""Trials of a profile pause together when its service is busy, and only they do."""

from __future__ import annotations

import anyio
import pytest
from quintain.campaign.backoff import Backoff
from quintain.model.limits import Retry
from quintain.model.outcome import Failure, Outcome, OutcomeKind
from quintain.runs.control import Control
from quintain.trial.bench import StopSwitch

pytestmark = pytest.mark.anyio

RETRY = Retry(base_s={"rate_limit": 10.0, "overload": 1.0}, longest_s=35.0)
DONE = Outcome(OutcomeKind.COMPLETED)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Switch(StopSwitch):
    """Sleeps by moving the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        self._clock.now += seconds


def busy(failure: Failure = Failure.RATE_LIMIT) -> Outcome:
    return Outcome(OutcomeKind.INFRASTRUCTURE, failure=failure)


def obeying(switch: StopSwitch) -> Control:
    control = Control()
    control.switch = switch
    return control


async def waited(backoff: Backoff, clock: Clock, profile: str = "p") -> float:
    began = clock.now
    await backoff.wait(profile, obeying(Switch(clock)))
    return clock.now - began


async def test_the_pause_doubles_with_each_refusal_up_to_the_longest() -> None:
    clock = Clock()
    backoff = Backoff(clock)
    found = []
    for _ in range(4):
        backoff.saw("p", RETRY, [busy()])
        found.append(await waited(backoff, clock))
    assert found == [10.0, 20.0, 35.0, 35.0]


async def test_a_success_forgets_the_refusals_but_not_a_pause_that_is_on() -> None:
    clock = Clock()
    backoff = Backoff(clock)
    backoff.saw("p", RETRY, [busy(), busy()])
    backoff.saw("p", RETRY, [DONE])
    assert await waited(backoff, clock) == 20.0
    backoff.saw("p", RETRY, [busy()])
    assert await waited(backoff, clock) == 10.0


async def test_another_profile_does_not_wait() -> None:
    clock = Clock()
    backoff = Backoff(clock)
    backoff.saw("p", RETRY, [busy(Failure.OVERLOAD)])
    assert await waited(backoff, clock, "q") == 0.0
    assert await waited(backoff, clock, "p") == 1.0


@pytest.mark.parametrize("failure", [one for one in Failure if one not in (Failure.RATE_LIMIT, Failure.OVERLOAD)])
async def test_other_failures_are_no_reason_to_wait(failure: Failure) -> None:
    clock = Clock()
    backoff = Backoff(clock)
    backoff.saw("p", RETRY, [busy(failure)])
    assert await waited(backoff, clock) == 0.0


@pytest.mark.parametrize("how", ["drain", "end"])
async def test_who_is_to_begin_nothing_more_does_not_wait(how: str) -> None:
    backoff, control = Backoff(), Control()
    backoff.saw("p", Retry(base_s={"rate_limit": 3600.0}, longest_s=3600.0), [busy()])
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(backoff.wait, "p", control)
            await anyio.wait_all_tasks_blocked()
            if how == "drain":
                control.drain("interrupted", "enough")
            else:
                control.end_trials("enough")
