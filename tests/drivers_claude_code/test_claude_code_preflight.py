"""What Claude Code's preflight makes of the real Claude Code: one that works, and those whose tools can't be used."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from models.anthropic import call, prompts, say, turn
from models.server import ModelServer, Request, Script, Turn, by_turn, in_order
from quintain import Bound, OutcomeKind, Plug, Plugins, Profile, Retry
from quintain.functions import DENY
from quintain.model.codec import to_plain
from quintain.runs.preflight import Preflight, failure_of, flights_of, order_of, preflight_alone
from quintain.workspace.blobs import BlobStore
from quintain_driver_claude_code import claude_code_driver
from quintain_driver_claude_code._preflight import preflight

pytestmark = pytest.mark.anyio

FILE = "quintain-preflight.txt"
COPY = "quintain-preflight-copy.txt"
READY = turn(say("ready"))
COPIES = turn(call("Bash", command=f"cp {FILE} {COPY}", description="copies"))


@pytest.fixture
def anyio_backend() -> str:
    """One loop; the suite that every driver passes runs on both."""
    return "asyncio"


Fly = Callable[..., Awaitable[Preflight]]


@pytest.fixture
def fly(bind: Callable[..., Bound[Any]], server: ModelServer, tmp_path: Path) -> Fly:
    """Tries a configuration; the model does what it is told to do, wherever that is."""

    async def one(*said: Turn, **config: Any) -> Preflight:
        plugins = Plugins.of(claude_code_driver, DENY)
        plug = Plug("claude-code", to_plain(bind(**config).config))
        flights = flights_of([order_of(Profile("default", plug, retry=Retry(attempts=1)))], plugins)
        server.script = in_order(*said) if said else _obedient()
        host = {"PATH": "/usr/bin:/bin:/usr/local/bin", "ANTHROPIC_API_KEY": "sk-scripted-0123456789abcdef"}
        (found,) = await preflight_alone(flights, plugins, BlobStore(tmp_path / "blobs"), host, tmp_path / "preflight")
        return found

    return one


def _obedient() -> Script:
    def script(request: Request) -> Turn:
        told = re.search(r"orking directory: ([^\\\s]+)", request.body.decode())
        assert told is not None
        write = turn(call("Write", file_path=f"{told[1]}/{FILE}", content="ready\n"))
        return by_turn(write, COPIES, READY)(request)

    return script


async def test_claude_code_works(fly: Fly, server: ModelServer) -> None:
    found = await fly()
    assert found.problems == ()
    assert found.spend.cost.usd
    assert any(FILE in text and "step fails" in text for text in prompts(server.asked[0]))


async def test_tools_that_its_settings_take_away(fly: Fly) -> None:
    found = await fly(settings={"permissions": {"deny": ["Write", "Bash"]}})
    assert found.report is not None
    assert found.report.outcome.kind is OutcomeKind.COMPLETED, "a trial would have had a score of zero"
    assert found.problems[0].startswith("each of its 2 tool calls failed: ")
    assert "Bash" in found.problems[0]
    assert "its file tool wrote nothing" in found.problems[1]
    assert "its shell command wrote nothing" in found.problems[2]
    assert "what the profile's driver.config lets it do" in (failure_of([found]) or "")


async def test_tools_for_which_it_asks_and_is_refused(fly: Fly) -> None:
    found = await fly(settings={"permissions": {"ask": ["Write", "Bash"]}})
    assert found.report is not None
    assert found.report.outcome.kind is OutcomeKind.COMPLETED
    assert found.problems[0].startswith("each of its 2 tool calls was refused by a permission: ")
    assert "choose an answerer that approves" in found.advice


async def test_a_key_that_is_refused(fly: Fly) -> None:
    found = await fly(Turn(status=401, message="invalid x-api-key"))
    assert found.problems[0].startswith("it ended as infrastructure (converse, auth): ")
    assert "Log the agent in" in found.advice


async def test_a_model_that_does_nothing_of_it(fly: Fly) -> None:
    found = await fly(READY)
    assert found.problems[0] == "it used no tool"


async def test_a_plan_needs_no_more_than_an_answer(fly: Fly) -> None:
    found = await fly(READY, permission_mode="plan")
    assert found.problems == ()


@pytest.mark.parametrize(
    ("config", "asked", "left_out"),
    [
        ({}, ("write a file", "`cp "), ("`echo ",)),
        ({"permission_mode": "bypassPermissions", "allowed_tools": []}, ("write a file", "`cp "), ("`echo ",)),
        ({"permission_mode": "acceptEdits", "allowed_tools": []}, ("write a file",), ("`cp ", "`echo ")),
        ({"permission_mode": "plan"}, (), ("write a file", "`cp ", "`echo ")),
        ({"tools": ["Read"]}, (), ("write a file", "`cp ", "`echo ")),
        ({"denied_tools": ["Bash(rm *)"]}, ("write a file",), ("`cp ", "`echo ")),
        ({"denied_tools": ["Write"]}, ("`echo ",), ("write a file", "`cp ")),
        ({"allowed_tools": ["Bash(git *)", "Read"]}, (), ("write a file", "`cp ", "`echo ")),
    ],
)
def test_nothing_is_asked_for_that_the_configuration_forbids(
    config: dict[str, Any], asked: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    prompt = preflight(claude_code_driver.config(**config)).prompt
    assert all(words in prompt for words in asked)
    assert not any(words in prompt for words in left_out)
