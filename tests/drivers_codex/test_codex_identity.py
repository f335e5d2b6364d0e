"""What Codex consists of and reads: each source has a name, and a change of it changes that name alone."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from driving.machines import digest_of_file, digest_of_tree, write
from hypothesis import given
from hypothesis import strategies as st
from quintain import IdentityContext, PolicyViolation, QuintainError
from quintain.errors import RecordError
from quintain.model.codec import from_plain
from quintain_driver_codex import CodexConfig, codex_driver
from quintain_driver_codex._binary import behind
from quintain_driver_codex._home import settings
from quintain_driver_codex._toml import dumps, merged

pytestmark = pytest.mark.anyio

PREPARE = codex_driver.experiment.prepare
IDENTITY = codex_driver.experiment.identity


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A machine with Codex from npm, a tool server, skills, and a user with settings of their own."""
    modules = tmp_path / "node_modules" / "@openai"
    write(modules / "codex" / "package.json", '{"name": "@openai/codex"}')
    shim = write(modules / "codex" / "bin" / "codex.js", "#!/usr/bin/env node\n", runs=True)
    vendor = modules / "codex-linux-x64" / "vendor" / "x86_64"
    write(vendor / "bin" / "codex", "\x7fELF", runs=True)
    write(vendor / "codex-path" / "rg", "\x7fELF rg", runs=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(shim)
    write(tmp_path / "bin" / "serve", "#!/bin/sh\n", runs=True)
    write(tmp_path / "server.js", "serve()")
    write(tmp_path / "skills" / "greet" / "SKILL.md", "greet")
    home = tmp_path / "home" / ".codex"
    servers = f'[mcp_servers.mine]\ncommand = "serve"\nargs = ["{tmp_path}/server.js"]\nenv = {{TOKEN = "hush"}}\n'
    write(home / "config.toml", f'model = "m"\n{servers}')
    write(home / "AGENTS.md", "be good")
    write(home / "prompts" / "p.md", "prompt")
    write(home / "skills" / "s" / "SKILL.md", "skill")
    write(home / "rules" / "default.rules", "rule")
    return tmp_path


@pytest.fixture
def context(place: Path) -> IdentityContext:
    return IdentityContext(
        place / "home", {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}, digest_of_file, digest_of_tree
    )


def config(place: Path) -> CodexConfig:
    servers = {"declared": {"command": "serve", "args": [str(place / "server.js")]}}
    return CodexConfig(mcp_servers=servers, skills=[str(place / "skills" / "greet")], isolation="user")


def leaves(data: Any, path: str = "") -> dict[str, Any]:
    if isinstance(data, dict) and data:
        return {name: leaf for key, inner in data.items() for name, leaf in leaves(inner, f"{path}/{key}").items()}
    return {path: data}


VENDOR = "node_modules/@openai/codex-linux-x64/vendor/x86_64"
USER = "home/.codex"
CHANGES = {
    f"{VENDOR}/bin/codex": {"/binary"},
    f"{VENDOR}/codex-path/rg": {"/helpers/rg"},
    "skills/greet/SKILL.md": {"/skills/greet"},
    "bin/serve": {"/mcp_servers/declared/serve", "/user/mcp_servers/mine/files/serve"},
    "server.js": {"/mcp_servers/declared/1 server.js", "/user/mcp_servers/mine/files/1 server.js"},
    f"{USER}/AGENTS.md": {"/user/AGENTS.md"},
    f"{USER}/prompts/p.md": {"/user/prompts/p.md"},
    f"{USER}/skills/s/SKILL.md": {"/user/skills/s"},
    f"{USER}/rules/default.rules": {"/user/rules/default.rules"},
}


@pytest.mark.parametrize(("changed", "named"), CHANGES.items(), ids=CHANGES)
async def test_a_change_is_named(place: Path, context: IdentityContext, changed: str, named: set[str]) -> None:
    before = leaves(await IDENTITY(config(place), context))
    with (place / changed).open("a") as file:
        file.write("# changed")
    after = leaves(await IDENTITY(config(place), context))
    assert {name for name in before | after if before.get(name) != after.get(name)} == named


async def test_a_change_of_a_tool_servers_definition_is_named(place: Path, context: IdentityContext) -> None:
    before = leaves(await IDENTITY(config(place), context))
    with (place / USER / "config.toml").open("a") as file:
        file.write("startup_timeout_sec = 9\n")
    after = leaves(await IDENTITY(config(place), context))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"/user/config.toml", "/user/mcp_servers/mine/definition"}


@pytest.mark.parametrize("added", ["AGENTS.override.md", "hooks.json", "prompts/q.md", "skills/t/SKILL.md"])
async def test_what_is_added_is_named(place: Path, context: IdentityContext, added: str) -> None:
    before = leaves(await IDENTITY(config(place), context))
    write(place / USER / added, "new")
    after = leaves(await IDENTITY(config(place), context))
    (changed,) = {name for name in after if before.get(name) != after[name]}
    assert changed.startswith("/user/" + "/".join(added.split("/")[:2]))


async def test_nothing_of_the_user_counts_unless_it_is_read(place: Path, context: IdentityContext) -> None:
    assert await IDENTITY(CodexConfig(), context) == {
        "binary": digest_of_file(place / VENDOR / "bin" / "codex"),
        "helpers": {"rg": digest_of_file(place / VENDOR / "codex-path" / "rg")},
    }


async def test_no_secret_of_a_definition_is_in_it(place: Path, context: IdentityContext) -> None:
    before = await IDENTITY(config(place), context)
    text = (place / USER / "config.toml").read_text()
    write(place / USER / "config.toml", text.replace("hush", "other"))
    after = await IDENTITY(config(place), context)
    assert "hush" not in json.dumps(before)
    assert before["user"]["mcp_servers"] == after["user"]["mcp_servers"]


async def test_a_tool_server_that_is_not_there_is_told(context: IdentityContext) -> None:
    with pytest.raises(QuintainError, match="`gone` is not there"):
        await IDENTITY(CodexConfig(mcp_servers={"x": {"command": "gone"}}), context)


def test_the_program_behind_npms_script_is_the_one_that_is_run(place: Path) -> None:
    shim = (place / "bin" / "codex").resolve()
    assert behind(shim) == place / VENDOR / "bin" / "codex"
    write(place / "node_modules/@openai/codex-linux-arm64/vendor/aarch64/bin/codex", "\x7fELF", runs=True)
    assert behind(shim) == shim, "only the script knows which of two is right"


def test_another_program_of_that_name_is_run_as_it_is(tmp_path: Path) -> None:
    other = write(tmp_path / "bin" / "codex.js", "#!/bin/sh\n", runs=True)
    assert behind(other) == other


# what an experiment refuses


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"isolation": "user"}, "isolation"),
        ({"ephemeral": False}, "ephemeral"),
        ({"env": {"PATH": "/elsewhere"}}, "env.PATH"),
        ({"env": {"PathExt": ".x"}}, "env.PathExt"),
        ({"config": {"profile": "p"}}, "config.profile"),
        ({"config": {"model_instructions_file": "/x"}}, "config.model_instructions_file"),
        ({"config": {"notify": ["x"]}}, "config.notify"),
        ({"config": {"project_doc_fallback_filenames": ["X.md"]}}, "config.project_doc_fallback_filenames"),
        ({"config": {"a": {"b": [{"MCP_servers": {}}]}}}, "config.a.b.MCP_servers"),
        *(
            ({"extra_args": [argument]}, "extra_args")
            for argument in ("--add-dir", "--add-dir=/x", "--cd", "-C", "-C/x", "--config=a=1", "-c", "-ca=1")
        ),
        *(
            ({"extra_args": [argument]}, "extra_args")
            for argument in ("--profile", "-p", "-px", "--enable", "--remote=x")
        ),
    ],
)
def test_an_experiment_refuses_what_it_cannot_know(wrong: dict[str, Any], where: str) -> None:
    with pytest.raises(PolicyViolation) as refused:
        PREPARE(CodexConfig(**wrong))
    assert refused.value.where == where
    assert refused.value.hint


def test_an_experiment_takes_what_has_a_digest(place: Path) -> None:
    taken = CodexConfig(
        model="m",
        skills=[str(place / "skills" / "greet")],
        mcp_servers={"x": {"command": "serve"}},
        config={"model_providers": {"p": {"name": "p"}}},
        extra_args=["--strict-config"],
        env={"LANG": "C"},
    )
    assert PREPARE(taken) == taken


# what is written down


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"sandbox": "none"}, "sandbox"),
        ({"approval": "always"}, "approval"),
        ({"isolation": "mine"}, "isolation"),
        ({"model": ""}, "`model`"),
        ({"config": {"model": "m"}}, "`config.model`"),
        ({"config": {"sandbox_mode": "x"}}, "sandbox"),
        ({"config": {"mcp_servers": {}}}, "`mcp_servers`"),
        ({"env": {"CODEX_HOME": "/x"}}, "`env.CODEX_HOME`"),
        ({"skills": ["relative"]}, "`skills`"),
        ({"base_url": "http://x", "config": {"model_provider": "y"}}, "`base_url`"),
    ],
)
def test_what_cannot_be_meant_is_named(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises((RecordError, ValueError), match=word):
        from_plain(wrong, CodexConfig)


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=5))
def test_settings_are_read_as_they_were_meant(found: dict[str, Any]) -> None:
    assert tomllib.loads(dumps(found)) == found


def test_what_is_asked_for_lies_over_the_users_settings_and_leaves_the_rest() -> None:
    user = {"model_reasoning_effort": "low", "tui": {"theme": "x"}, "mcp_servers": {"theirs": {"command": "t"}}}
    found = settings(
        CodexConfig(isolation="user", effort="high", mcp_servers={"ours": {"command": "o", "required": False}}), user
    )
    assert found["model_reasoning_effort"] == "high"
    assert found["tui"] == {"theme": "x"}
    assert found["mcp_servers"] == {"theirs": {"command": "t"}, "ours": {"command": "o", "required": False}}


def test_an_endpoint_of_the_environment_is_used_unless_a_provider_is_chosen() -> None:
    assert settings(CodexConfig(), {}, "http://e")["model_providers"]["endpoint"]["base_url"] == "http://e"
    assert (
        settings(CodexConfig(base_url="http://c"), {}, "http://e")["model_providers"]["endpoint"]["base_url"]
        == "http://c"
    )
    chosen = CodexConfig(config={"model_provider": "p", "model_providers": {"p": {"env_key": "P_KEY"}}})
    assert "endpoint" not in settings(chosen, {}, "http://e")["model_providers"]
    assert codex_driver.runtime(chosen).host_environment == ("P_KEY",)
    assert codex_driver.runtime(CodexConfig()).host_environment == ("OPENAI_API_KEY",)
    assert codex_driver.runtime(CodexConfig(credentials="login")).host_environment == ()


@given(VALUES, VALUES)
def test_the_upper_of_two_values_counts(below: Any, above: Any) -> None:
    assert merged({"a": below}, {"a": above})["a"] == (
        merged(below, above) if isinstance(below, dict) and isinstance(above, dict) else above
    )
