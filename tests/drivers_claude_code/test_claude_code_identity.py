"""What Claude Code consists of and reads: each source has a name, and a change of it changes that name alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from driving.machines import digest_of_file, digest_of_tree, write
from quintain import Capability, IdentityContext, PolicyViolation, QuintainError
from quintain.errors import RecordError
from quintain.model.codec import from_plain
from quintain_driver_claude_code import ClaudeCodeConfig, claude_code_driver
from quintain_driver_claude_code._arguments import arguments, settings, variables
from quintain_driver_claude_code._binary import chain
from quintain_driver_claude_code._home import _login

MODEL = "claude-sonnet-4-5"
PREPARE = claude_code_driver.experiment.prepare
IDENTITY = claude_code_driver.experiment.identity


def append(path: Path, text: str) -> Path:
    return write(path, path.read_text() + text)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A machine with Claude Code behind a script, a tool server, skills, and a user with settings of their own."""
    package = tmp_path / "node_modules" / "@anthropic-ai"
    stub = write(package / "claude-code" / "bin" / "claude.exe", "#!/bin/sh\nexit 1\n", runs=True)
    write(package / "claude-code-linux-x64" / "claude", "\x7fELF", runs=True)
    write(tmp_path / "bin" / "claude", f'#!/bin/sh\nexec "{stub}" "$@"\n', runs=True)
    write(tmp_path / "bin" / "serve", "#!/bin/sh\n", runs=True)
    write(tmp_path / "server.js", "serve()")
    write(tmp_path / "skills" / "greet" / "SKILL.md", "greet")
    write(tmp_path / "plug" / ".claude-plugin" / "plugin.json", '{"name": "plug"}')
    write(tmp_path / "cache" / "more" / "skills" / "x" / "SKILL.md", "x")
    home = tmp_path / "home" / ".claude"
    write(home / "settings.json", json.dumps({"enabledPlugins": {"more@market": True, "off@market": False}}))
    write(home / "CLAUDE.md", "be good")
    for name in ("rules", "output-styles", "agents", "commands"):
        write(home / name / "one.md", name)
    write(home / "skills" / "s" / "SKILL.md", "skill")
    records = {"plugins": {"more@market": [{"installPath": str(tmp_path / "cache" / "more")}]}}
    write(home / "plugins" / "installed_plugins.json", json.dumps(records))
    server = {"command": "serve", "args": [str(tmp_path / "server.js")], "env": {"TOKEN": "hush"}}
    write(home.parent / ".claude.json", json.dumps({"mcpServers": {"mine": server}, "numStartups": 7}))
    return tmp_path


def context(place: Path) -> IdentityContext:
    return IdentityContext(place / "home", {"PATH": f"{place}/bin:/usr/bin:/bin"}, digest_of_file, digest_of_tree)


def config(place: Path) -> ClaudeCodeConfig:
    return ClaudeCodeConfig(
        model=MODEL,
        isolation="user",
        skills=(str(place / "skills" / "greet"),),
        plugins=(str(place / "plug"),),
        mcp_servers={"ours": {"command": "serve", "args": [str(place / "server.js")]}},
    )


def flat(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}|")
        else:
            yield f"{above}{key}", value


async def seen(place: Path) -> dict[str, Any]:
    return dict(flat(await IDENTITY(config(place), context(place))))


def servers(place: Path, **change: Any) -> None:
    path = place / "home" / ".claude.json"
    state = json.loads(path.read_text())
    state["mcpServers"]["mine"] |= change
    path.write_text(json.dumps(state))


CHANGES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "shim": (
        lambda place: write(place / "node_modules/@anthropic-ai/claude-code/bin/claude.exe", "#!/bin/sh\nexit 2\n"),
        {"behind|claude.exe"},
    ),
    "program": (
        lambda place: write(place / "node_modules/@anthropic-ai/claude-code-linux-x64/claude", "\x7fELF 2"),
        {"behind|claude"},
    ),
    "skill": (lambda place: write(place / "skills/greet/SKILL.md", "hail"), {"skills|greet"}),
    "plugin": (lambda place: write(place / "plug/more.md", "new"), {"plugins|plug"}),
    "server's program": (
        lambda place: write(place / "bin/serve", "#!/bin/sh\n:\n"),
        {"mcp_servers|ours|serve", "user|mcp_servers|mine|files|serve"},
    ),
    "server's file": (
        lambda place: write(place / "server.js", "serve(2)"),
        {"mcp_servers|ours|1 server.js", "user|mcp_servers|mine|files|1 server.js"},
    ),
    "user's server": (
        lambda place: servers(place, type="stdio"),
        {"user|mcp_servers|mine|definition"},
    ),
    "user's settings": (
        lambda place: write(place / "home/.claude/settings.json", '{"enabledPlugins": {"more@market": true}, "a": 1}'),
        {"user|settings.json"},
    ),
    "user's instructions": (lambda place: write(place / "home/.claude/CLAUDE.md", "be bad"), {"user|CLAUDE.md"}),
    "user's rules": (lambda place: write(place / "home/.claude/rules/one.md", "x"), {"user|rules"}),
    "user's style": (lambda place: write(place / "home/.claude/output-styles/two.md", "x"), {"user|output-styles"}),
    "user's agents": (lambda place: (place / "home/.claude/agents/one.md").unlink(), {"user|agents"}),
    "user's commands": (lambda place: write(place / "home/.claude/commands/one.md", "x"), {"user|commands"}),
    "user's skills": (lambda place: write(place / "home/.claude/skills/s/SKILL.md", "x"), {"user|skills"}),
    "installed plugin": (
        lambda place: write(place / "cache/more/skills/x/SKILL.md", "y"),
        {"user|plugins|more@market"},
    ),
    "list of installed plugins": (
        lambda place: append(place / "home/.claude/plugins/installed_plugins.json", "\n"),
        {"user|plugins/installed_plugins.json"},
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_of_one_source_is_named_and_no_other(place: Path, change: str) -> None:
    before = await seen(place)
    make, names = CHANGES[change]
    make(place)
    after = await seen(place)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == names


@pytest.mark.anyio
async def test_what_changes_nothing_is_not_named(place: Path) -> None:
    before = await seen(place)
    servers(place, env={"TOKEN": "hush-2"})
    write(place / "home" / ".claude" / "history.jsonl", "{}")
    write(place / "cache" / "other" / "x", "x")
    assert await seen(place) == before
    assert "hush" not in json.dumps(before)
    assert str(place) not in json.dumps(before)


@pytest.mark.anyio
async def test_nothing_of_the_user_is_named_in_a_clean_isolation(place: Path) -> None:
    found = await IDENTITY(ClaudeCodeConfig(model=MODEL), context(place))
    assert "user" not in found


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda home: write(home / "settings.json", "{"), "settings.json is no valid JSON"),
        (lambda home: write(home / "settings.json", "[]"), "no JSON object"),
        (lambda home: write(home / "settings.json", '{"enabledPlugins": 1}'), "enabledPlugins"),
        (lambda home: (home / "plugins" / "installed_plugins.json").unlink(), "no installed content"),
        (lambda home: write(home.parent / ".claude.json", "{"), ".claude.json is no valid JSON"),
    ],
)
async def test_settings_that_can_not_be_read_are_told(place: Path, spoil: Callable[[Path], object], words: str) -> None:
    spoil(place / "home" / ".claude")
    with pytest.raises(QuintainError, match=words):
        await IDENTITY(config(place), context(place))


def test_the_program_behind_scripts_and_placeholders_is_found(place: Path) -> None:
    behind = list(chain(place / "bin" / "claude", "/usr/bin:/bin"))
    assert [one.name for one in behind] == ["claude.exe", "claude"]
    assert behind[-1].read_text() == "\x7fELF"


# experiments


@pytest.mark.parametrize(
    ("refused", "where"),
    [
        ({"env": {"PATH": "/elsewhere"}}, "env.PATH"),
        ({"env": {"pathext": ".EXE"}}, "env.pathext"),
        ({"env": {"LD_PRELOAD": "x.so"}}, "env.LD_PRELOAD"),
        ({"settings": {"hooks": {"Stop": []}}}, "settings.hooks"),
        ({"settings": {"apiKeyHelper": "key.sh"}}, "settings.apiKeyHelper"),
        (
            {"settings": {"permissions": {"additionalDirectories": ["/x"]}}},
            "settings.permissions.additionalDirectories",
        ),
        ({"settings": {"env": {"PATH": "/x"}}}, "settings.env"),
        ({"settings": {"enabledPlugins": {}}}, "settings.enabledPlugins"),
        ({"model": None}, "model"),
        ({"model": "sonnet"}, "model"),
        ({"model": "opus[1m]"}, "model"),
        *(
            ({"extra_args": (argument,)}, "extra_args")
            for argument in (
                "--continue",
                "-c",
                "--resume=abc",
                "-r",
                "--fork-session",
                "--add-dir",
                "--append-system-prompt-file=x",
                "--system-prompt-file",
                "--mcp-config=x",
                "--plugin-dir",
                "--settings={}",
                "--setting-sources",
                "--fallback-model=haiku",
            )
        ),
    ],
)
def test_what_can_not_be_reproduced_is_refused_with_what_to_write_instead(refused: Any, where: str) -> None:
    with pytest.raises(PolicyViolation) as caught:
        PREPARE(ClaudeCodeConfig(**{"model": MODEL, **refused}))
    assert caught.value.where == where
    assert caught.value.hint


@pytest.mark.parametrize("model", [MODEL, "claude-opus-4-1-20250805", "us.anthropic.claude-sonnet-4-5-v1:0"])
def test_a_model_is_exact_by_its_id(model: str) -> None:
    assert claude_code_driver.runtime(ClaudeCodeConfig(model=model)).model == model


def test_an_experiment_binds_hooks_and_background_tasks() -> None:
    bound = PREPARE(ClaudeCodeConfig(model=MODEL))
    assert settings(bound, ())["disableAllHooks"] is True
    env = variables(bound, Path("/h"), Path("/t"))
    for name in ("AUTO_MEMORY", "BACKGROUND_TASKS", "OFFICIAL_MARKETPLACE_AUTOINSTALL", "NONESSENTIAL_TRAFFIC"):
        assert env[f"CLAUDE_CODE_DISABLE_{name}"] == "1"
    assert env["DISABLE_AUTOUPDATER"] == "1"
    assert env["CLAUDE_CODE_AUTO_CONNECT_IDE"] == "false"


# configurations


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"modle": "x"}, "modle"),
        ({"permission_mode": "yolo"}, "permission_mode"),
        ({"isolation": "none"}, "isolation"),
        ({"credentials": "guess"}, "credentials"),
        ({"allowed_tools": "Bash"}, "allowed_tools"),
        ({"model": ""}, "model"),
        ({"max_turns": 0}, "max_turns"),
        ({"max_budget_usd": 0}, "max_budget_usd"),
        ({"max_retries": -1}, "max_retries"),
        ({"skills": ["relative"]}, "skills"),
        ({"plugins": ["/a/x", "/b/x"]}, "plugins"),
        ({"extra_args": ["--model=x"]}, "write `model`"),
        ({"extra_args": ["--output-format"]}, "output-format"),
        ({"env": {"CLAUDE_CONFIG_DIR": "/x"}}, "CLAUDE_CONFIG_DIR"),
    ],
)
def test_what_can_not_be_meant_is_refused_by_its_key(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(RecordError, match=words):
        from_plain(wrong, ClaudeCodeConfig)


def line(usd: float | None = None, **given: Any) -> list[str]:
    more: dict[str, Any] = {"mcp": Path("/h/mcp.json"), "plugins": (Path("/h/p"),), "above": (Path("/a"),)}
    return list(arguments(ClaudeCodeConfig(**given), usd=usd, **more))


def test_every_key_is_in_the_command_line() -> None:
    found = line(
        model="m", effort="low", permission_mode="plan", tools=("Read",), denied_tools=("WebFetch",), system_prompt="a",
        append_system_prompt="b", agent="c", agents={"c": {"prompt": "d"}}, max_turns=3, extra_args=("--brief",),
    )  # fmt: skip
    pairs = dict(pairwise(found))
    wanted = {
        "--model": "m",
        "--effort": "low",
        "--permission-mode": "plan",
        "--tools": "Read",
        "--disallowed-tools": "WebFetch",
        "--system-prompt": "a",
        "--append-system-prompt": "b",
        "--agent": "c",
        "--agents": '{"c": {"prompt": "d"}}',
        "--max-turns": "3",
        "--mcp-config": "/h/mcp.json",
        "--plugin-dir": "/h/p",
        "--setting-sources": "user,project,local",
        "--permission-prompt-tool": "stdio",
    }
    assert {name: pairs.get(name) for name in wanted} == wanted
    assert "--strict-mcp-config" in found
    assert found[-1] == "--brief"


def test_the_smaller_budget_counts() -> None:
    for given, usd, wanted in ((None, 0.5, "0.5"), (0.2, 0.5, "0.2"), (0.2, None, "0.2")):
        found = line(usd, max_budget_usd=given)
        assert found[found.index("--max-budget-usd") + 1] == wanted
    assert "--max-budget-usd" not in line()


def test_instructions_above_the_workspace_are_left_out() -> None:
    given = ClaudeCodeConfig(settings={"claudeMdExcludes": ["/x"], "a": 1})
    found = settings(given, (Path("/up"),))
    assert found["a"] == 1
    assert {"/x", "/up/CLAUDE.md", "/up/.claude/CLAUDE.md"} <= set(found["claudeMdExcludes"])


def test_capabilities_follow_from_what_it_may_ask() -> None:
    for given, missing in (
        ({"questions": False}, Capability.QUESTIONS),
        ({"permission_mode": "dontAsk"}, Capability.APPROVALS),
    ):
        assert missing not in claude_code_driver.runtime(ClaudeCodeConfig(**given)).capabilities
        assert missing in claude_code_driver.runtime(ClaudeCodeConfig()).capabilities


def test_only_the_variable_of_its_credentials_is_asked_for() -> None:
    for credentials, names in (
        ("key", ("ANTHROPIC_API_KEY",)),
        ("token", ("CLAUDE_CODE_OAUTH_TOKEN",)),
        ("login", ()),
    ):
        given = from_plain({"credentials": credentials}, ClaudeCodeConfig)
        assert claude_code_driver.runtime(given).host_environment == names


# a login


def test_a_login_is_passed_on_without_what_could_renew_it(tmp_path: Path) -> None:
    login = {"accessToken": "short", "refreshToken": "long", "expiresAt": (time.time() + 600) * 1000}
    write(tmp_path / ".credentials.json", json.dumps({"claudeAiOauth": login}))
    assert _login(tmp_path) == {"CLAUDE_CODE_OAUTH_TOKEN": "short"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "is not there"),
        ("{", "no login"),
        ("{}", "no login"),
        ("[]", "no login"),
        ('{"claudeAiOauth": {"accessToken": "t", "expiresAt": 1000}}', "expired"),
    ],
)
def test_a_login_that_can_not_work_is_told_with_what_to_do(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        write(tmp_path / ".credentials.json", text)
    with pytest.raises(QuintainError, match=words) as caught:
        _login(tmp_path)
    assert "log in" in (caught.value.hint or "")
