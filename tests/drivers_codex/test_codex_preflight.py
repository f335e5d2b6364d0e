"""What Codex's preflight makes of the real Codex: one that works, and one whose own sandbox can't."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drivers_codex.conftest import settings
from models.responses import patch, prompts, say, shell, turn
from models.server import ModelServer, Turn
from quintain import (
    Assertion,
    Campaign,
    Case,
    OutcomeKind,
    Plug,
    Plugins,
    Profile,
    Retry,
    Split,
    Subject,
    Variant,
    run_campaign,
)
from quintain.functions import DENY
from quintain.model.codec import to_plain
from quintain.runs.preflight import Preflight, failure_of, flights_of, order_of, preflight_alone
from quintain.workspace.blobs import BlobStore
from quintain_driver_codex import codex_driver
from quintain_driver_codex._preflight import preflight

pytestmark = pytest.mark.anyio

FILE = "quintain-preflight.txt"
COPY = "quintain-preflight-copy.txt"
READY = turn(say("ready"))
OBEYS = (turn(patch(FILE, "ready")), turn(shell(f"cp {FILE} {COPY}")), READY)


@pytest.fixture
def anyio_backend() -> str:
    """One loop here: each trial takes a second."""
    return "asyncio"


async def fly(config: dict[str, Any], folder: Path) -> Preflight:
    plugins = Plugins.of(codex_driver, DENY)
    plain = to_plain(codex_driver.config(**config))
    profile = Profile("default", Plug("codex", plain), retry=Retry(attempts=1))
    flights = flights_of([order_of(profile)], plugins)
    host = {"PATH": "/usr/bin:/bin:/usr/local/bin", "OPENAI_API_KEY": "sk-test-no-key-at-all"}
    (found,) = await preflight_alone(flights, plugins, BlobStore(folder / "blobs"), host, folder / "preflight")
    return found


@pytest.fixture
def confined(codex: str, tmp_path: Path) -> str:
    """Codex where nobody can make a namespace, and so no sandbox."""
    path = tmp_path / "confined"
    limits = "for kind in user mnt; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done"
    script = f'{limits}; exec {shlex.quote(codex)} "$@"'
    path.write_text(f'#!/bin/sh\nexec unshare --user --map-root-user /bin/sh -c {shlex.quote(script)} codex "$@"\n')
    path.chmod(0o755)
    return str(path)


async def test_codex_works(codex: str, serve: Callable[..., ModelServer], tmp_path: Path) -> None:
    models = serve(*OBEYS)
    found = await fly(settings(models, codex), tmp_path)
    assert found.problems == ()
    assert any(FILE in text and "step fails" in text for text in prompts(models.asked[0]))


@pytest.mark.parametrize("sandbox", ["workspace-write", "read-only"])
async def test_a_sandbox_that_can_not_be_made_is_found_and_named(
    confined: str, serve: Callable[..., ModelServer], tmp_path: Path, sandbox: str
) -> None:
    said = OBEYS if sandbox == "workspace-write" else (turn(shell("echo ready")), READY)
    found = await fly(settings(serve(*said), confined, sandbox=sandbox), tmp_path)
    assert found.report is not None
    assert found.report.outcome.kind is OutcomeKind.COMPLETED, "a trial would have had a score of zero"
    assert found.problems[0].startswith(("each of its 2 tool calls was stopped", "its only tool call was stopped"))
    assert "own sandbox: 'bwrap: Creating new namespace failed" in found.problems[0]
    assert "its shell command" in found.problems[-1]
    words = failure_of([found]) or ""
    assert "Change the agent's own sandbox in the profile's driver.config" in words
    assert found.duration_s < 30


async def test_a_campaign_ends_before_a_trial_where_codex_can_not_work(
    confined: str, serve: Callable[..., ModelServer], tmp_path: Path
) -> None:
    (tmp_path / "subject").mkdir()
    (tmp_path / "subject" / "prompt.md").write_text("Be quick.")
    models = serve(*OBEYS)
    plain = to_plain(codex_driver.config(**settings(models, confined)))
    campaign = Campaign(
        "rules",
        Subject(tmp_path / "subject", ("*.md",)),
        (Profile("default", Plug("codex", plain), retry=Retry(attempts=1)),),
        {"validation": Split((Case("one", "Do it.", assertions=(Assertion("file_exists", {"path": "x"}),)),))},
        variants=(Variant("other", text={"prompt.md": "Take your time."}),),
    )
    result = await run_campaign(campaign, store=tmp_path / "store")
    assert result.status == "stopped"
    assert result.state.settled == {}
    assert "own sandbox: 'bwrap: Creating new namespace failed" in (result.reason or "")
    assert len(models.asked) == 3


async def test_codex_works_there_without_a_sandbox_of_its_own(
    confined: str, serve: Callable[..., ModelServer], tmp_path: Path
) -> None:
    found = await fly(settings(serve(*OBEYS), confined, sandbox="danger-full-access"), tmp_path)
    assert found.problems == ()


async def test_a_model_that_does_nothing_of_it(codex: str, serve: Callable[..., ModelServer], tmp_path: Path) -> None:
    found = await fly(settings(serve(READY), codex), tmp_path)
    assert found.problems[0] == "it used no tool"
    assert "its file tool wrote nothing" in found.problems[1]


async def test_a_key_that_is_refused(codex: str, serve: Callable[..., ModelServer], tmp_path: Path) -> None:
    found = await fly(settings(serve(Turn(status=401, message="who are you?")), codex), tmp_path)
    assert found.problems[0].startswith("it ended as infrastructure (converse, auth): ")
    assert "Log the agent in" in found.advice


async def test_a_program_that_is_not_there(serve: Callable[..., ModelServer], tmp_path: Path) -> None:
    found = await fly(settings(serve(READY), "no-codex-here"), tmp_path)
    assert "no-codex-here" in found.problems[0]
    assert "missing" in found.problems[0]
    assert "quintain doctor" in found.advice


@pytest.mark.parametrize(
    ("config", "asked", "left_out"),
    [
        ({}, ("write a file", "`cp "), ("`echo ",)),
        ({"sandbox": "danger-full-access", "approval": "never"}, ("write a file", "`cp "), ("`echo ",)),
        ({"sandbox": "read-only"}, ("`echo ",), ("write a file", "`cp ")),
        ({"approval": "untrusted"}, ("`echo ",), ("write a file", "`cp ")),
    ],
)
def test_nothing_is_asked_for_that_the_configuration_forbids(
    config: dict[str, Any], asked: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    prompt = preflight(codex_driver.config(**config)).prompt
    assert all(words in prompt for words in asked)
    assert not any(words in prompt for words in left_out)
