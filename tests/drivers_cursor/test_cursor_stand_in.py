"""What the driver makes of Cursor's documented stream, its quirks and its failures; the program is a stand-in."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from drivers_cursor.conftest import Try
from quintain import (
    Done,
    Failed,
    Failure,
    Limits,
    Log,
    Message,
    OutcomeKind,
    ProtocolError,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Unknown,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop; the suite that every driver passes runs on both."""
    return "trio"


async def test_work_is_told_with_its_tools_and_the_last_message_is_the_answer(attempt: Try) -> None:
    tried = await attempt("works")
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert tried.only(Ready).model == "Works"
    assert [event.text for event in tried.of(Reasoning)] == ["I should look first."]
    assert [event.text for event in tried.of(Message)] == ["Let me see.", "All done."]
    shell, write = tried.of(ToolResult)
    assert (shell.name, shell.text, shell.error, shell.duration_s) == ("shell", "hi\n", False, 0.012)
    assert (write.name, write.duration_s) == ("write", 0.5)
    assert [event.id for event in tried.of(ToolCall)] == [shell.id, write.id]
    assert tried.report.last.answer == "All done."
    assert tried.files == {"new.txt"}


async def test_parts_of_a_message_are_not_told_twice(attempt: Try) -> None:
    tried = await attempt("works", partial=True)
    assert [event.text for event in tried.of(Message)] == ["Let me see.", "All done."]


async def test_tokens_that_are_not_told_are_unknown_and_not_nothing(attempt: Try) -> None:
    spend = (await attempt("works")).report.spend.agent
    assert (spend.tokens, spend.cost.usd, spend.complete) == (None, None, False)


async def test_tokens_that_are_told_are_counted(attempt: Try) -> None:
    spend = (await attempt("counts")).report.spend.agent
    assert spend.tokens is not None
    assert (spend.tokens.total, spend.tokens.cache_read, spend.complete) == (160, 20, True)
    assert spend.cost.usd is None


async def test_without_force_a_command_is_refused_and_does_not_happen(attempt: Try, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for force in (False, True):
        tried = await attempt("runs", force=force, env={"STAND_IN_COMMAND": f"touch {mark}"})
        result = tried.only(ToolResult)
        assert (result.denied, result.error, mark.exists()) == (not force, not force, force)
        assert tried.only(Done).denials == int(not force)
        assert tried.report.outcome.kind is OutcomeKind.COMPLETED


async def test_what_is_denied_stays_denied(attempt: Try) -> None:
    tried = await attempt("runs", deny=["Shell(touch)"], env={"STAND_IN_COMMAND": "touch new.txt"})
    assert tried.only(ToolResult).denied
    assert tried.files == set()


async def test_tool_servers_are_declared_and_approved(attempt: Try) -> None:
    servers = {"tiny": {"command": "serve", "args": ["x"]}}
    tried = await attempt("servers", mcp_servers=servers)
    assert json.loads(tried.only(Message).text) == {"approved": True, "servers": {"mcpServers": servers}}
    used = tried.of(ToolCall)[0]
    assert (used.name, used.server, used.input) == ("add", "tiny", {"a": 1})
    well, badly = tried.of(ToolResult)
    assert (well.text, well.error, badly.text, badly.error) == ("2", False, "no such number", True)


async def test_settings_of_the_user_are_read_only_if_that_is_asked_for(
    attempt: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "cli-config.json").write_text('{"permissions": {"deny": ["Shell(touch)"]}}')
    monkeypatch.setenv("CURSOR_CONFIG_DIR", str(tmp_path / "user"))
    command = {"STAND_IN_COMMAND": "touch new.txt"}
    assert (await attempt("runs", env=command)).files == {"new.txt"}
    assert (await attempt("runs", env=command, isolation="user")).files == set()


async def test_calls_at_once_are_paired_in_any_order_and_those_that_never_end_are_ended(attempt: Try) -> None:
    tried = await attempt("parallel")
    results = {event.id: event for event in tried.of(ToolResult)}
    assert {id: (event.text, event.error) for id, event in results.items()} == {
        "a": ("A", False),
        "b": ("B", False),
        "z": ("no such file", True),
        "f": ("it had not ended when the agent did", True),
    }
    assert [event.name for event in tried.of(ToolCall)] == ["read", "read", "read", "lookup"]


@pytest.mark.parametrize("situation", ["lingers", "grandchild"])
async def test_its_word_counts_and_whatever_lives_on_is_ended(attempt: Try, situation: str) -> None:
    began = time.monotonic()
    tried = await attempt(situation)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED
    assert time.monotonic() - began < 20


async def test_one_that_hangs_has_stalled(attempt: Try) -> None:
    tried = await attempt("hangs", limits=Limits(total_s=30, idle_s=1, grace_s=0.5, linger_s=0.5))
    assert tried.report.outcome.kind is OutcomeKind.STALLED, tried.report.outcome


@pytest.mark.parametrize("situation", ["silent", "fails", "cut"])
async def test_only_a_result_is_a_success(attempt: Try, situation: str) -> None:
    tried = await attempt(situation)
    assert tried.report.outcome.kind is OutcomeKind.AGENT_FAILED, tried.report.outcome
    assert "something broke" in tried.report.outcome.reason or situation != "fails"


async def test_a_directory_that_is_not_trusted_is_a_broken_setup_whatever_the_exit_status(
    attempt: Try, cursor: str, tmp_path: Path
) -> None:
    careless = tmp_path / "careless"
    careless.write_text(f'#!/bin/sh\nexec {cursor} -p --output-format stream-json "hi"\n')
    careless.chmod(0o755)
    tried = await attempt("works", executable=str(careless))
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.MISSING)
    assert "Workspace Trust Required" in tried.report.outcome.reason


async def test_one_that_is_not_logged_in_is_no_failure_of_the_agent(
    attempt: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CURSOR_API_KEY")
    tried = await attempt("works")
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.AUTH)


@pytest.mark.parametrize(
    ("situation", "failure"),
    [("nope", Failure.MISSING), ("limited", Failure.RATE_LIMIT), ("wrong", Failure.RATE_LIMIT)],
)
async def test_failures_around_it_are_no_failures_of_the_agent(attempt: Try, situation: str, failure: Failure) -> None:
    tried = await attempt(situation)
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, failure)


async def test_an_option_that_it_does_not_know_is_a_broken_setup(attempt: Try) -> None:
    tried = await attempt("works", extra_args=["--no-such-thing"])
    assert (tried.report.outcome.kind, tried.report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.CRASH)


async def test_its_own_failure_is_its_own(attempt: Try) -> None:
    tried = await attempt("errors")
    assert tried.report.outcome.kind is OutcomeKind.AGENT_FAILED
    assert tried.only(Failed).reason == "the task can't be done"


async def test_noise_around_messages_changes_nothing_and_is_kept(attempt: Try) -> None:
    tried = await attempt("noisy")
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert [event.text for event in tried.of(Message)] == ["caf\ufffd", "All done."]
    assert any(event.text == "Update available" for event in tried.of(Log))
    assert [event.kind for event in tried.of(Unknown)] == ["hologram"]
    assert any(event.field == "message.call_id" for event in tried.of(ProtocolError))


async def test_12_mb_on_one_line_are_kept(attempt: Try) -> None:
    tried = await attempt("huge")
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert tried.report.last.answer == "All done."


async def test_what_comes_after_its_result_is_late_and_changes_nothing(attempt: Try) -> None:
    tried = await attempt("talks_on")
    assert tried.report.last.answer == "ok"
    assert any(line.late and isinstance(line.event, Message) for line in tried.trace)


@pytest.mark.parametrize("prompt", ["--help", "- [ ] \"$HOME\" `id`\n'q' \\ end ", "naïve ☕"])
async def test_a_prompt_can_be_an_argument_and_is_no_option(attempt: Try, prompt: str) -> None:
    tried = await attempt("echoes", prompt=prompt, prompt_by="argument")
    assert tried.report.last.answer == prompt


async def test_a_prompt_that_is_too_long_for_an_argument_is_refused_before_anything_starts(attempt: Try) -> None:
    tried = await attempt("echoes", prompt="x" * 200_000, prompt_by="argument")
    assert tried.report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert "200000 bytes" in tried.report.outcome.reason
