"""Each way to run is tried with its driver's small task, and what does not work is said in words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import quintain
from attrs import evolve
from quintain import (
    Capability,
    Case,
    Done,
    DriverSpec,
    Event,
    Failed,
    Failure,
    Launch,
    Limits,
    Message,
    NoConfig,
    Plug,
    Plugins,
    Profile,
    Ready,
    Retry,
    Runtime,
    Tokens,
    ToolCall,
    ToolResult,
    Usage,
    Used,
    answers_with,
    driver_of,
    leaves_file,
    small_task,
)
from quintain.functions import DENY
from quintain.model.limits import LimitOverrides
from quintain.model.trial import Isolation
from quintain.runs.preflight import Preflight, failure_of, flights_of, order_of, preflight_alone
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio

CASE = Case(
    "any",
    "Write ready to f.txt, then copy it to g.txt.",
    assertions=(leaves_file("f.txt", "ready", by="its file tool"), leaves_file("g.txt", "ready", by="its command")),
    limits=LimitOverrides(timeout_s=5, linger_s=0.2, grace_s=0.2),
)

Tool = Callable[[Launch, str], ToolResult]


def works(launch: Launch, file: str) -> ToolResult:
    (launch.workspace / file).write_text("ready\n")
    return ToolResult(file)


def stopped(launch: Launch, file: str) -> ToolResult:
    return ToolResult(file, text="bwrap: No permissions to create a new namespace", error=True)


def refused(launch: Launch, file: str) -> ToolResult:
    return ToolResult(file, text="not allowed here", error=True, denied=True)


def broken(launch: Launch, file: str) -> ToolResult:
    return ToolResult(file, text="no such program", error=True)


def only(names: str, tool: Tool) -> Tool:
    return lambda launch, file: (tool if file in names else works)(launch, file)


def agent(tool: Tool) -> Callable[[Launch], AsyncIterator[Event]]:
    async def session(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(agent="agent", model="small")
        for file in ("f.txt", "g.txt"):
            yield ToolCall(file, "write")
            yield tool(launch, file)
        yield Message("ready")
        yield Done("ready")

    return session


def driver(
    function: Callable[[Launch], AsyncIterator[Event]], case: Case = CASE, runtime: Runtime | None = None
) -> DriverSpec[NoConfig]:
    declared = runtime or Runtime(capabilities=frozenset({Capability.TOOL_EVENTS}))
    return evolve(driver_of(function, name="agent"), preflight=lambda config: case, runtime=lambda config: declared)


async def tried(spec: DriverSpec[NoConfig], folder: Path, retry: Retry | None = None) -> Preflight:
    plugins = Plugins.of(spec, DENY)
    profile = Profile("default", Plug("agent"), retry=retry or Retry(attempts=1))
    flights = flights_of([order_of(profile)], plugins)
    (found,) = await preflight_alone(flights, plugins, BlobStore(folder / "blobs"), {}, folder / "preflight")
    return found


async def test_an_agent_that_works_is_said_to_work_and_leaves_its_evidence(tmp_path: Path) -> None:
    found = await tried(driver(agent(works)), tmp_path)
    assert found.problems == ()
    assert not found.failed
    assert failure_of([found]) is None
    assert "profile default (driver agent): works" in found.describe()
    kept = tmp_path / "preflight" / "preflight@default#1.1.events.jsonl"
    assert "tool_call" in kept.read_text()


@pytest.mark.parametrize(
    ("tool", "said", "advice"),
    [
        (stopped, r"each of its 2 tool calls was stopped, .*own sandbox: 'bwrap: No permissions", "isolation.sandbox"),
        (refused, r"each of its 2 tool calls was refused by a permission: 'not allowed here'", "answerer"),
        (broken, r"each of its 2 tool calls failed: 'no such program'", "by hand"),
        (
            only("g.txt", stopped),
            r"^a tool call failed: 'bwrap: No permissions.*'; g\.txt is not there: its command wrote nothing$",
            "own sandbox",
        ),
        (
            only("f.txt", broken),
            r"^a tool call failed: 'no such program'; f\.txt is not there: its file tool wrote nothing$",
            "by hand",
        ),
        (lambda launch, file: ToolResult(file), r"f\.txt is not there.*g\.txt is not there", "by hand"),
    ],
)
async def test_an_agent_that_ends_well_without_having_done_anything_does_not_work(
    tmp_path: Path, tool: Tool, said: str, advice: str
) -> None:

    found = await tried(driver(agent(tool)), tmp_path)
    assert found.report is not None
    assert found.report.outcome.kind == "completed"
    assert found.failed
    assert re.search(said, "; ".join(found.problems)), found.problems
    words = failure_of([found]) or ""
    assert words.startswith("the preflight failed, so no trial was begun. profile default: ")
    assert advice in words
    assert str(tmp_path / "preflight") in words


async def test_an_agent_that_calls_no_tool_does_not_work_even_if_files_are_there(tmp_path: Path) -> None:
    async def talker(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(agent="agent")
        for file in ("f.txt", "g.txt"):
            works(launch, file)
        yield Done("ready")

    found = await tried(driver(talker), tmp_path)
    assert found.problems == ("it used no tool",)
    silent = await tried(driver(talker, runtime=Runtime()), tmp_path)
    assert silent.problems == ()


@pytest.mark.parametrize(
    ("failure", "advice"),
    [
        (Failure.AUTH, "Log the agent in"),
        (Failure.MISSING, "Install what is missing"),
        (Failure.OVERLOAD, "Wait until its model's server"),
        (Failure.CRASH, "by hand"),
    ],
)
async def test_a_failure_of_the_infrastructure_is_named_with_what_to_do(
    tmp_path: Path, failure: Failure, advice: str
) -> None:
    async def unlucky(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(agent="agent")
        yield Failed("its own words", failure)

    found = await tried(driver(unlucky), tmp_path)
    assert found.problems == (f"it ended as infrastructure (converse, {failure.value}): its own words",)
    assert advice in found.advice


async def test_long_words_are_cut(tmp_path: Path) -> None:
    found = await tried(driver(agent(lambda launch, file: ToolResult(file, text="x" * 9999, error=True))), tmp_path)
    assert 300 < len(found.problems[0]) < 400


async def test_another_model_than_the_one_asked_for_is_named(tmp_path: Path) -> None:
    runtime = Runtime(capabilities=frozenset({Capability.TOOL_EVENTS}), model="large")
    found = await tried(driver(agent(works), runtime=runtime), tmp_path)
    assert any("large" in problem and "small" in problem for problem in found.problems), found.problems
    assert "model that is served" in found.advice


async def test_an_agent_that_hangs_is_ended_at_the_limit_of_the_case(tmp_path: Path) -> None:

    async def sleeper(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(agent="agent")
        await anyio.sleep_forever()

    hasty = evolve(CASE, limits=evolve(CASE.limits, timeout_s=0.3))
    found = await tried(driver(sleeper, hasty), tmp_path)
    assert found.problems[0].startswith("it ended as timed_out: ")


async def test_a_failure_that_passes_is_tried_again_as_the_profile_says(tmp_path: Path) -> None:
    tries = []

    async def shy(launch: Launch) -> AsyncIterator[Event]:
        tries.append(launch.attempt)
        if launch.attempt == 1:
            yield Ready(agent="agent")
            yield Failed("busy", Failure.OVERLOAD)
            return
        async for event in agent(works)(launch):
            yield event

    found = await tried(driver(shy), tmp_path, Retry(attempts=2, base_s={"overload": 0.01}))
    assert tries == [1, 2]
    assert found.problems == ()


async def test_a_case_that_requires_nothing_shows_nothing(tmp_path: Path) -> None:
    found = await tried(driver(agent(works), Case("any", "Do it.")), tmp_path)
    assert found.problems == ("its driver's preflight requires nothing, so it can't show anything",)


async def test_an_answer_alone_can_be_asked_for(tmp_path: Path) -> None:
    found = await tried(driver(agent(works), evolve(CASE, assertions=(answers_with("READY"),))), tmp_path)
    assert found.problems == ()
    found = await tried(driver(agent(works), evolve(CASE, assertions=(answers_with("set"),))), tmp_path)
    assert found.problems == ("its answer is 'ready', 'set' was asked for",)


async def test_a_driver_without_a_preflight_has_nothing_to_try(tmp_path: Path) -> None:
    found = await tried(evolve(driver(agent(works)), preflight=None), tmp_path)
    assert not found.failed
    assert found.report is None
    assert "nothing to try" in found.describe()


def test_profiles_that_run_alike_are_tried_once() -> None:
    plugins = Plugins.of(driver(agent(works)), DENY)
    one = Profile("one", Plug("agent"))
    other = evolve(one, name="other", isolation=Isolation(env={"X": "1"}))
    flights = flights_of([order_of(one), order_of(evolve(one, name="same")), order_of(other)], plugins)
    assert [flight.profiles for flight in flights] == [("one", "same"), ("other",)]
    assert len({flight.name for flight in flights}) == 2


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("writes", [True, False])
async def test_the_usual_task_is_passed_by_who_does_what_it_says_and_by_nobody_else(
    tmp_path: Path, writes: bool, runs: bool
) -> None:
    def obedient(does: bool) -> Callable[[Launch], AsyncIterator[Event]]:
        async def session(launch: Launch) -> AsyncIterator[Event]:
            yield Ready(agent="agent")
            tools = re.findall(r"write a file (\S+)|`cp \S+ (\S+)`|`(echo) ready`", launch.prompt)
            for number, names in enumerate(tools):
                yield ToolCall(str(number), "tool")
                yield evolve(works(launch, "".join(names)) if does else broken(launch, ""), id=str(number))
            yield Done("It is Ready." if does else "sorry")

        return session

    case = small_task(writes=writes, runs=runs)
    assert (await tried(driver(obedient(True), case), tmp_path)).problems == ()
    problems = (await tried(driver(obedient(False), case), tmp_path)).problems
    assert any("its file tool" in problem for problem in problems) is writes
    assert any("its shell command" in problem for problem in problems) is runs
    assert problems[-1] == "its answer is 'sorry', 'ready' was asked for"


async def test_a_run_tries_first_if_it_is_asked_to(tmp_path: Path) -> None:
    ran = []

    def counted(tool: Tool) -> DriverSpec[NoConfig]:
        async def session(launch: Launch) -> AsyncIterator[Event]:
            ran.append(launch.trial)
            yield Used(Usage(tokens=Tokens(input=10)))
            async for event in agent(tool)(launch):
                yield event

        return driver(session)

    case = Case("greet", "Say ready.", assertions=(answers_with("ready"),))
    options: dict[str, Any] = {"plugins": Plugins(), "store": tmp_path, "limits": Limits(linger_s=0.2, grace_s=0.2)}
    result = await quintain.run([case], driver=counted(works), preflight=True, **options)
    assert ran == ["preflight@default#1", "greet@default#1"]
    assert result.passed
    spent = result.summary.spend.agent.tokens
    assert spent is not None
    assert spent.input == 20
    ran.clear()
    result = await quintain.run([case], driver=counted(stopped), preflight=True, **options)
    assert ran == ["preflight@default#1"]
    assert result.summary.status == "stopped"
    assert result.summary.exit_code == 3
    assert "own sandbox" in (result.summary.reason or "")
    assert result.summary.tally.not_started == 1
    assert list((result.directory / "preflight").iterdir())
    ran.clear()
    await quintain.run([case], driver=counted(stopped), **options)
    assert ran == ["greet@default#1"]
