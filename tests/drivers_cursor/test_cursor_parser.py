"""The parser is a function of lines; and what an experiment binds, and what has an identity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving.machines import digest_of_file, digest_of_tree, write
from hypothesis import given
from hypothesis import strategies as st
from quintain import (
    Capability,
    Done,
    Failed,
    IdentityContext,
    Message,
    PolicyViolation,
    QuintainError,
    Ready,
    ToolCall,
    ToolResult,
    Used,
    WorkspaceError,
)
from quintain.errors import RecordError
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.process import Line
from quintain_driver_cursor import CursorConfig, cursor_driver
from quintain_driver_cursor._driver import arguments
from quintain_driver_cursor._parser import Parser

PREPARE = cursor_driver.experiment.prepare
IDENTITY = cursor_driver.experiment.identity


def events(*lines: bytes | dict[str, Any], partial: bool = False) -> list[Any]:
    parser = Parser(partial=partial)
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return [*(event for line in data for event in parser.feed(Line(line))), *parser.finish()]


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}, **more}


RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "all"}
INIT = {"type": "system", "subtype": "init", "model": "Auto", "session_id": "s"}


@given(st.binary(max_size=300).filter(lambda data: b"\n" not in data))
def test_any_line_is_taken(data: bytes) -> None:
    for event in events(data):
        assert from_plain(json.loads(dumps(to_plain(event))), type(event)) == event


WORDS = st.sampled_from(
    ["assistant", "tool_call", "result", "system", "init", "thinking", "delta", "started", "completed", "success", "a"]
)
KEYS = st.sampled_from(
    [
        "type",
        "subtype",
        "message",
        "content",
        "text",
        "call_id",
        "tool_call",
        "shellToolCall",
        "function",
        "args",
        "result",
    ]
)
VALUES = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=6))
def test_no_message_breaks_it_and_calls_pair_with_results(lines: list[dict[str, Any]]) -> None:
    found = events(*lines)
    assert sum(isinstance(event, Done | Failed) for event in found) <= 1
    for event in found:
        assert from_plain(json.loads(dumps(to_plain(event))), type(event)) == event
    speaks = [event for event in found if isinstance(event, Message | ToolCall | ToolResult | Done | Ready)]
    assert not speaks or isinstance(speaks[0], Ready)
    calls = [event.id for event in found if isinstance(event, ToolCall)]
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(event.id for event in found if isinstance(event, ToolResult))


@given(st.lists(st.text(min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=5), st.booleans())
def test_messages_in_parts_are_told_once_with_or_without_a_whole(texts: list[str], whole: bool) -> None:
    lines = [said(part, timestamp_ms=1) for part in texts]
    lines += [said("".join(texts))] if whole else []
    told = [event.text for event in events(INIT, *lines, RESULT, partial=True) if isinstance(event, Message)]
    assert told == ["".join(texts)]


def test_a_newer_version_may_stamp_whole_messages() -> None:
    told = [event.text for event in events(INIT, said("one", timestamp_ms=1), RESULT) if isinstance(event, Message)]
    assert told == ["one"]


@pytest.mark.parametrize("usage", [{"inputTokens": None}, {"inputTokens": -1, "outputTokens": 2}, {}])
def test_tokens_that_are_no_numbers_are_unknown(usage: dict[str, Any]) -> None:
    (used,) = (event for event in events(INIT, {**RESULT, "usage": usage}) if isinstance(event, Used))
    assert used.usage.tokens is None
    assert used.usage.problem


def test_a_result_without_its_error_flag_is_not_taken_for_a_success() -> None:
    (done,) = (event for event in events(INIT, {"type": "result", "subtype": "success"}) if isinstance(event, Done))
    assert done.error


def test_noise_long_before_the_end_does_not_say_why_it_ended() -> None:
    found = events(b"network is slow today", INIT, said("I will"))
    assert not any(isinstance(event, Failed) for event in found)


def test_it_claims_nothing_that_its_public_interface_does_not_give() -> None:
    claimed = cursor_driver.runtime(CursorConfig()).capabilities
    missing = {Capability.QUESTIONS, Capability.APPROVALS, Capability.COST, Capability.USAGE, Capability.INTERRUPT}
    assert not claimed & missing


def test_the_prompt_is_no_argument_unless_that_is_asked_for() -> None:
    assert "secret task" not in " ".join(arguments(CursorConfig(), "secret task"))
    assert arguments(CursorConfig(prompt_by="argument"), "--help")[-2:] == ("--", "--help")


def test_settings_become_options() -> None:
    config = CursorConfig(
        model="m", mode="plan", force=False, sandbox="enabled", partial=True, extra_args=["--x"], mcp_servers={"a": {}}
    )
    assert arguments(config, "p")[1:] == (
        *("-p", "--output-format", "stream-json", "--trust", "--stream-partial-output", "--approve-mcps"),
        *("--model", "m", "--mode", "plan", "--sandbox", "enabled", "--x"),
    )


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"mode": "yolo"}, "mode"),
        ({"sandbox": "maybe"}, "sandbox"),
        ({"model": ""}, "`model`"),
        ({"env": {"CURSOR_CONFIG_DIR": "/x"}}, "CURSOR_CONFIG_DIR"),
        ({"mode": "ask", "allow": ["Shell(ls)"]}, "`mode`"),
        ({"temperature": 1}, "temperature"),
    ],
)
def test_what_cannot_be_meant_is_named(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises((RecordError, ValueError), match=word):
        from_plain(wrong, CursorConfig)


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"isolation": "user"}, "isolation"),
        ({"env": {"path": "/x"}}, "env.path"),
        *(
            ({"extra_args": [one]}, "extra_args")
            for one in ("--resume", "--resume=x", "--continue", "-w", "-wx", "--yolo")
        ),
        *(({"extra_args": [one]}, "extra_args") for one in ("-f", "--api-key=k", "--cloud", "-e", "--workspace=/x")),
    ],
)
def test_an_experiment_refuses_what_it_cannot_know(wrong: dict[str, Any], where: str) -> None:
    with pytest.raises(PolicyViolation) as refused:
        PREPARE(CursorConfig(**wrong))
    assert refused.value.where == where
    assert refused.value.hint


# identity


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A machine with Cursor's command line as its makers install it, and a user with settings of their own."""
    version = tmp_path / "share" / "versions" / "2026.09.18"
    program = write(version / "cursor-agent", "#!/bin/bash\nexec node index.js\n", runs=True)
    write(version / "index.js", "run()")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cursor-agent").symlink_to(program)
    write(tmp_path / "bin" / "serve", "#!/bin/sh\n", runs=True)
    home = tmp_path / "home" / ".cursor"
    write(home / "cli-config.json", "{}")
    write(home / "mcp.json", '{"mcpServers": {"mine": {"command": "serve"}}}')
    write(home / "rules" / "r.mdc", "rule")
    write(home / "skills" / "s" / "SKILL.md", "skill")
    return tmp_path


def context(place: Path) -> IdentityContext:
    return IdentityContext(place / "home", {"PATH": str(place / "bin")}, digest_of_file, digest_of_tree)


def leaves(data: Any, path: str = "") -> dict[str, Any]:
    if isinstance(data, dict) and data:
        return {name: leaf for key, inner in data.items() for name, leaf in leaves(inner, f"{path}/{key}").items()}
    return {path: data}


CHANGES = {
    "share/versions/2026.09.18/index.js": {"/package"},
    "bin/serve": {"/mcp_servers/declared/serve", "/user/mcp_servers/mine/serve"},
    "home/.cursor/cli-config.json": {"/user/cli-config.json"},
    "home/.cursor/mcp.json": {"/user/mcp.json"},
    "home/.cursor/hooks.json": {"/user/hooks.json"},
    "home/.cursor/rules/r.mdc": {"/user/rules/r.mdc"},
    "home/.cursor/skills/s/SKILL.md": {"/user/skills/s"},
}


@pytest.mark.anyio
@pytest.mark.parametrize(("changed", "named"), CHANGES.items(), ids=CHANGES)
async def test_a_change_is_named(place: Path, changed: str, named: set[str]) -> None:
    config = CursorConfig(mcp_servers={"declared": {"command": "serve"}}, isolation="user")
    before = leaves(await IDENTITY(config, context(place)))
    with (place / changed).open("a") as file:
        file.write(" \n")
    after = leaves(await IDENTITY(config, context(place)))
    assert {name for name in before | after if before.get(name) != after.get(name)} == named


@pytest.mark.anyio
async def test_nothing_of_the_user_counts_unless_it_is_read(place: Path) -> None:
    assert (await IDENTITY(CursorConfig(), context(place))).keys() == {"package"}


@pytest.mark.anyio
async def test_a_package_with_links_in_it_is_known_file_by_file(place: Path) -> None:
    def refuses(path: Path) -> str:
        raise WorkspaceError(f"{path} has a link in it")

    strict = IdentityContext(place / "home", {"PATH": str(place / "bin")}, digest_of_file, refuses)
    found = await IDENTITY(CursorConfig(), strict)
    assert found["package"].keys() == {"cursor-agent", "index.js"}


@pytest.mark.anyio
async def test_settings_that_are_no_settings_are_told(place: Path) -> None:
    write(place / "home" / ".cursor" / "mcp.json", "[]")
    with pytest.raises(QuintainError, match=r"mcp\.json"):
        await IDENTITY(CursorConfig(isolation="user"), context(place))
