"""The real protocol with a program around it that breaks as agents were seen to break."""

from __future__ import annotations

import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drivers_codex.conftest import Try
from models.responses import call, say, shell, turn
from models.server import Turn
from quintain import Done, Failure, Limits, Log, Message, OutcomeKind, ProtocolError, ToolResult, Unknown

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop here and the other with the program unbroken: each trial takes a second."""
    return "trio"


Faulty = Callable[[str], str]
DONE = turn(say("All done."))
WORK = (turn(shell("echo hi")), DONE)
BRIEF = Limits(total_s=60, linger_s=0.5, grace_s=0.5)
OPTIONS = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
ASKS = turn(
    call("request_user_input", questions=[{"id": "q", "header": "Q", "question": "Which?", "options": OPTIONS}])
)


@pytest.mark.parametrize("fault", ["lingers", "grandchild"])
async def test_its_word_counts_and_whatever_lives_on_is_ended(attempt: Try, faulty: Faulty, fault: str) -> None:
    began = time.monotonic()
    tried = await attempt(*WORK, executable=faulty(fault), limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert time.monotonic() - began < 30
    assert tried.report.last.answer == "All done."


async def test_one_that_falls_silent_has_stalled_and_keeps_its_spend(attempt: Try, faulty: Faulty) -> None:
    limits = Limits(total_s=60, idle_s=1.5, grace_s=0.5, linger_s=0.5)
    tried = await attempt(*WORK, executable=faulty("silent"), limits=limits)
    assert tried.report.outcome.kind is OutcomeKind.STALLED, tried.report.outcome


async def test_one_that_dies_while_it_asks_ends_the_trial(attempt: Try, faulty: Faulty) -> None:
    async def never(question: object) -> str:
        import anyio

        await anyio.sleep_forever()
        return ""

    tried = await attempt(ASKS, DONE, executable=faulty("dies_asking"), answerer=never, limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.AGENT_FAILED, tried.report.outcome


async def test_exit_0_is_no_success_without_its_word(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(*WORK, executable=faulty("stops_short"), limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.AGENT_FAILED, tried.report.outcome
    assert tried.of(Done) == []


async def test_one_that_is_killed_in_the_middle_of_a_line_keeps_what_came_before(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(*WORK, executable=faulty("cut"), limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.AGENT_FAILED, tried.report.outcome
    assert "middle of this message" in tried.of(ProtocolError)[-1].message
    spend = tried.report.spend.agent
    assert spend.tokens is not None
    assert not spend.complete


async def test_noise_around_messages_changes_nothing_and_is_kept(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(*WORK, executable=faulty("noisy"), limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert [event.text for event in tried.of(Message)] == ["All done."]
    assert any(event.text == "Update available 1 -> 2" for event in tried.of(Log))
    assert any(event.kind == "hologram/changed" for event in tried.of(Unknown))
    assert any(event.field == "params.item" for event in tried.of(ProtocolError))


async def test_12_mb_on_one_line_are_kept(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(*WORK, executable=faulty("huge"), limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert tried.report.last.answer == "All done."
    assert len(tried.of(ToolResult)) == 1


async def test_messages_that_drip_are_whole(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(turn(say("naïve ☕ 你好 🎉")), executable=faulty("drips"), limits=BRIEF)
    assert tried.report.last.answer == "naïve ☕ 你好 🎉"
    assert tried.of(ProtocolError) == []


async def test_an_error_of_the_program_after_its_word_is_seen_and_decides_nothing(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(*WORK, executable=faulty("exits_1"), limits=BRIEF)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert any("exit status 1" in conflict for conflict in tried.report.outcome.conflicts)


async def test_what_comes_after_the_end_is_late(attempt: Try, faulty: Faulty) -> None:
    tried = await attempt(*WORK, executable=faulty("talks_on"), limits=BRIEF)
    assert tried.report.last.answer == "All done."
    late = [line.event for line in tried.trace if line.late]
    assert any(isinstance(event, Message) and event.text == "PS" for event in late)


async def test_a_program_that_is_not_there_is_told(attempt: Try) -> None:
    tried = await attempt(DONE, executable="nothing-of-the-kind")
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.MISSING)
    assert "nothing-of-the-kind" in tried.report.outcome.reason


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"extra_args": ["--nope"]}, "error output"), ({"config": {"approvals_reviewer": 7}}, "config.toml")],
    ids=["argument", "setting"],
)
async def test_what_it_refuses_at_its_start_is_a_broken_setup(
    attempt: Try, settings: dict[str, Any], word: str
) -> None:
    tried = await attempt(DONE, **settings)
    assert tried.report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert word in tried.report.outcome.reason
    assert tried.models.asked == []


async def test_a_missing_key_is_told_as_that(attempt: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    tried = await attempt(DONE)
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.AUTH)
    assert "OPENAI_API_KEY" in tried.report.outcome.reason


async def test_settings_of_the_user_that_are_no_settings_are_told(
    attempt: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("= no\n")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "home"))
    tried = await attempt(DONE, isolation="user")
    assert tried.report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert "no valid TOML" in tried.report.outcome.reason


async def test_a_program_that_is_no_codex_is_told_as_one_that_broke(attempt: Try, tmp_path: Path) -> None:
    other = tmp_path / "codex"
    other.write_text("#!/bin/sh\necho 'codex-cli 0.1.0'\nexit 0\n")
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    tried = await attempt(Turn(hang=True), executable=str(other))
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.CRASH)
    shutil.rmtree(tmp_path)
