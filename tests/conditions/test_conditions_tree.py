"""What changes an identity, by which name, and what doesn't."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen
from conditions.scenes import AgentConfig, Scene, write
from quintain.conditions import bound
from quintain.contracts.driver import DriverSpec, ExperimentPolicy
from quintain.errors import PolicyViolation, QuintainError
from quintain.functions import DENY, driver_of
from quintain.identity.canonical import canonical_json
from quintain.identity.tree import difference
from quintain.model.case import Assertion
from quintain.model.limits import LimitOverrides, Retry
from quintain.model.plain import Plug

pytestmark = pytest.mark.anyio


def _set_profile(**changes: Any) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.profile = evolve(scene.profile, **changes)

    return change


def _set_case(**changes: Any) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.case = evolve(scene.case, **changes)

    return change


def _set_isolation(**changes: Any) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.profile = evolve(scene.profile, isolation=evolve(scene.profile.isolation, **changes))

    return change


def _set_config(key: str, value: object) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        plug = scene.profile.driver
        scene.profile = evolve(scene.profile, driver=Plug(plug.name, {**plug.config, key: value}))

    return change


def _append(*names: str) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        path = scene.root.joinpath(*names)
        path.write_bytes(path.read_bytes() + b"\n")

    return change


def _add(*names: str) -> Callable[[Scene], None]:
    return lambda scene: write(scene.root.joinpath(*names), "more\n")


def _remove(*names: str) -> Callable[[Scene], None]:
    return lambda scene: scene.root.joinpath(*names).unlink()


def _spec(**changes: Any) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.agent = evolve(scene.agent, **changes)

    return change


def _check_version(scene: Scene) -> None:
    scene.check = evolve(scene.check, version="3")


def _policy(scene: Scene) -> None:
    scene.agent = evolve(scene.agent, experiment=evolve(scene.agent.experiment, version="4"))


def _region(scene: Scene) -> None:
    scene.host["REGION"] = "south"


DRIVER = "profiles.fast.driver.agent"
CASE = "cases.calculator/add"

IN = {
    "a byte of the program": (_append("bin", "agent-program"), {f"{DRIVER}.programs.agent-program.digest"}),
    "a byte of a skill": (_append("skills", "review", "SKILL.md"), {f"{DRIVER}.skills/review/SKILL.md"}),
    "a skill more": (_add("skills", "new", "SKILL.md"), {f"{DRIVER}.skills/new/SKILL.md"}),
    "a skill less": (_remove("skills", "plain.md"), {f"{DRIVER}.skills/plain.md"}),
    "a file that was not there": (_add("home", "settings.json"), {f"{DRIVER}.settings"}),
    "the model": (_set_config("model", "n"), {f"{DRIVER}.config.model", f"{DRIVER}.model"}),
    "the driver's version": (_spec(version="1.6"), {f"{DRIVER}.version"}),
    "the driver's policy": (_policy, {f"{DRIVER}.policy"}),
    "the answerer's words": (
        _set_profile(answerer=Plug("deny", {"reason": "no"})),
        {"profiles.fast.answerer.deny.config.reason"},
    ),
    "a limit": (
        lambda scene: _set_profile(limits=evolve(scene.profile.limits, total_s=9.0))(scene),
        {"profiles.fast.limits.total_s"},
    ),
    "the sandbox's network": (_set_isolation(network=False), {"profiles.fast.isolation.network"}),
    "a variable's value": (_set_isolation(env={"MODE": "slow"}), {"profiles.fast.isolation.env.MODE"}),
    "a host variable's value": (_region, {"profiles.fast.isolation.pass_env.REGION"}),
    "a secret more": (_set_isolation(secrets=("TOKEN", "OTHER")), {"profiles.fast.isolation.secrets.OTHER"}),
    "the prompt": (_set_case(prompt="Add it. "), {f"{CASE}.prompt"}),
    "the persona": (_set_case(persona="Ada"), {f"{CASE}.persona"}),
    "a parameter": (_set_case(parameters={"n": 1}), {f"{CASE}.parameters.n"}),
    "a byte of a fixture": (_append("fixtures", "main.py"), {f"{CASE}.fixtures"}),
    "a byte of what is hidden": (_append("hidden", "check.py"), {f"{CASE}.grader.hidden"}),
    "an assertion's weight": (
        _set_case(assertions=(Assertion("looks_right", weight=2.0),)),
        {f"{CASE}.grader.assertions.looks_right"},
    ),
    "an assertion more": (
        _set_case(assertions=(Assertion("looks_right"), Assertion("looks_right", id="too"))),
        {f"{CASE}.grader.assertions.too"},
    ),
    "an assertion's meaning": (
        _check_version,
        {f"{CASE}.grader.assertions.looks_right", f"{CASE}.grader.plugins.looks_right.version"},
    ),
    "what is protected": (_set_case(protected=("test_*",)), {f"{CASE}.grader.protected"}),
}


@pytest.mark.parametrize("name", IN)
async def test_each_source_that_changes_is_named_and_nothing_else_is(tmp_path: Path, name: str) -> None:
    change, names = IN[name]
    scene = Scene(tmp_path)
    before = await scene.conditions()
    change(scene)
    after = await scene.conditions()
    assert {one.name for one in difference(before.tree, after.tree)} == names
    assert before.root != after.root
    of_profile = any(one.startswith("profiles.") for one in names)
    assert (before.profile("fast") != after.profile("fast")) == of_profile
    assert (before.case("calculator/add") != after.case("calculator/add")) == (not of_profile)
    of_grader = any(".grader." in one for one in names)
    assert (before.grader("calculator/add") != after.grader("calculator/add")) == of_grader


async def test_a_limit_that_a_case_states_belongs_to_the_case(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    before = await scene.conditions()
    scene.case = evolve(scene.case, limits=LimitOverrides(timeout_s=60.0))
    after = await scene.conditions()
    assert after.tree["cases"]["calculator/add"]["limits"] == {"total_s": 60.0}
    assert before.case("calculator/add") != after.case("calculator/add")


async def test_a_driver_of_a_case_belongs_to_the_case(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.case = evolve(scene.case, driver=Plug("agent", {**scene.profile.driver.config, "model": "own"}))
    found = await scene.conditions()
    assert found.tree["cases"]["calculator/add"]["driver"]["agent"]["config"]["model"] == "own"
    assert "driver" not in found.tree["profiles"]["fast"]


def _reorder(scene: Scene) -> None:
    plug = scene.profile.driver
    scene.profile = evolve(scene.profile, driver=Plug(plug.name, dict(reversed(list(plug.config.items())))))
    scene.host = dict(reversed(scene.host.items()))


def _secret(scene: Scene) -> None:
    scene.host |= {"TOKEN": "another", "AGENT_KEY": "another"}


def _locale(scene: Scene) -> None:
    scene.host |= {"LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "TERM": "xterm", "USER": "somebody"}


def _path(scene: Scene) -> None:
    scene.host["PATH"] = os.pathsep.join(reversed([*scene.host["PATH"].split(os.pathsep), str(scene.root)]))


def _touch(scene: Scene) -> None:
    for path in scene.root.rglob("*"):
        os.utime(path, ns=(1, 1))


OUT: dict[str, Callable[[Scene], None]] = {
    "the order of keys": _reorder,
    "a secret's value": _secret,
    "locale, time zone and who one is": _locale,
    "the order of PATH": _path,
    "when files were written": _touch,
    "tags and clusters": _set_case(tags=("slow",), cluster="c"),
    "where a case was written": _set_case(source="other.toml:7"),
    "how failures are tried again": _set_profile(retry=Retry(attempts=9)),
    "what a sandboxed agent may read beside the system": _set_isolation(readable=(Path("/opt"),)),
    "what the policy binds anyway": _set_config("hooks", False),
    "a default that is written out": _set_config("model", "m"),
    "modes that no program heeds": lambda scene: scene.skill.chmod(0o600),
}


@pytest.mark.parametrize("name", OUT)
async def test_what_is_of_no_account_changes_nothing(tmp_path: Path, name: str) -> None:
    scene = Scene(tmp_path)
    before = await scene.conditions()
    OUT[name](scene)
    after = await scene.conditions()
    assert difference(before.tree, after.tree) == ()
    assert before.root == after.root


async def test_another_checkout_has_the_same_identity(tmp_path: Path) -> None:
    here, there = Scene(tmp_path / "here"), Scene(tmp_path / "far" / "away")
    one, other = await here.conditions(), await there.conditions()
    assert difference(one.tree, other.tree) == ()
    assert str(tmp_path) not in canonical_json(dict(one.tree)).decode()


async def test_line_endings_count_and_what_git_says_of_them_does_not(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    write(scene.root / "fixtures" / ".git" / "config", "[core]\n")
    before = await scene.conditions()
    write(scene.root / "fixtures" / ".git" / "config", "[core]\nautocrlf = true\n")
    assert (await scene.conditions()).root == before.root
    (scene.root / "fixtures" / "main.py").write_bytes(b"print()\r\n")
    assert (await scene.conditions()).root != before.root


async def test_no_value_of_a_variable_is_in_an_identity(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    text = canonical_json(dict((await scene.conditions()).tree)).decode()
    for value in ("s3cr3t-token", "s3cr3t-key", "north", "quick"):
        assert value not in text


async def test_no_secret_that_stands_in_a_configuration_is_in_an_identity(tmp_path: Path) -> None:
    @frozen
    class Loud:
        env: dict[str, str]
        args: tuple[str, ...]

    scene = Scene(tmp_path)
    scene.agent = DriverSpec("agent", scene.agent.open, Loud)
    config = {"env": {"PASSWORD": "s3cr3t-password"}, "args": ["--token=s3cr3t-token"]}
    scene.profile = evolve(scene.profile, driver=Plug("agent", config))
    scene.answerer = DENY
    scene.profile = evolve(scene.profile, answerer=Plug("deny", {"reason": "s3cr3t-token is all I say"}))
    tree = (await scene.conditions()).tree
    assert "s3cr3t" not in canonical_json(dict(tree)).decode()
    found = tree["profiles"]["fast"]["driver"]["agent"]["config"]
    assert found["args"] == ["--token=[redacted:TOKEN]"]
    assert found["env"]["PASSWORD"].startswith("hmac-sha256:")
    scene.host["TOKEN"] = "s3cr3t-token-of-tomorrow"
    scene.profile = evolve(
        scene.profile,
        driver=Plug("agent", {**config, "args": ["--token=s3cr3t-token-of-tomorrow"]}),
        answerer=Plug("deny", {"reason": "s3cr3t-token-of-tomorrow is all I say"}),
    )
    assert difference(tree, (await scene.conditions()).tree) == ()


async def test_values_of_variables_mean_nothing_under_another_salt(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    before = await scene.conditions()
    scene.salt = b"another salt"
    names = {one.name for one in difference(before.tree, (await scene.conditions()).tree)}
    assert names == {"profiles.fast.isolation.env.MODE", "profiles.fast.isolation.pass_env.REGION"}


async def test_a_program_that_is_not_there_stops_an_experiment_and_warns_a_run(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.program.unlink()
    with pytest.raises(QuintainError, match="no program") as raised:
        await scene.conditions()
    assert raised.value.where == f"{DRIVER}.programs.agent-program"
    found = await scene.conditions(strict=False)
    assert "no program" in "; ".join(found.warnings)
    assert found.tree["profiles"]["fast"]["driver"]["agent"]["programs"]["agent-program"] == {"unknown": True}


async def test_a_link_among_what_an_agent_reads_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.root / "skills" / "link.md").symlink_to("plain.md")
    with pytest.raises(QuintainError, match="it is a link"):
        await scene.conditions()


async def test_a_program_is_asked_for_its_version_in_a_home_of_its_own(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    write(scene.program, '#!/bin/sh\n: > "$HOME/was-here"\necho "agent 2 from $HOME and $0 ${TOKEN:-}"\n', program=True)
    found = await scene.conditions()
    program = found.tree["profiles"]["fast"]["driver"]["agent"]["programs"]["agent-program"]
    assert program["version"] == "agent 2 from {home} and {path}"
    assert not (scene.root / "home" / "was-here").exists()


async def test_two_programs_of_one_name_have_names_of_their_own(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    write(scene.root / "other" / "agent-program", "#!/bin/sh\necho other 2\n", program=True)
    runtime = scene.agent.runtime(AgentConfig(str(scene.program), ""))
    twice = evolve(
        runtime,
        executables=(
            *runtime.executables,
            evolve(runtime.executables[0], name=str(scene.root / "other" / "agent-program")),
        ),
    )
    scene.agent = evolve(scene.agent, runtime=lambda config: twice)
    found = await scene.conditions()
    programs = found.tree["profiles"]["fast"]["driver"]["agent"]["programs"]
    assert {name: one["version"] for name, one in programs.items()} == {
        "agent-program": "agent 1.0",
        "agent-program 2": "other 2",
    }


async def test_a_driver_that_says_nothing_about_experiments_is_marked(tmp_path: Path) -> None:
    async def echo(launch: object) -> str:
        return "done"

    scene = Scene(tmp_path)
    scene.agent = driver_of(echo, name="agent")
    scene.profile = evolve(scene.profile, driver=Plug("agent"))
    found = await scene.conditions()
    assert found.tree["profiles"]["fast"]["driver"]["agent"]["unbound"] is True
    assert "declares nothing about experiments" in found.warnings[0]


async def test_a_driver_can_not_say_what_the_core_says(tmp_path: Path) -> None:
    async def identity(config: object, context: object) -> dict[str, object]:
        return {"config": "mine"}

    scene = Scene(tmp_path)
    scene.agent = DriverSpec(
        "agent", scene.agent.open, AgentConfig, experiment=ExperimentPolicy("1", lambda config: config, identity)
    )
    with pytest.raises(QuintainError, match="the names config"):
        await scene.conditions()


async def test_a_refusal_leads_to_the_key_of_the_profile(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    _set_config("model", "latest")(scene)
    with pytest.raises(PolicyViolation, match="another model every day") as raised:
        await scene.conditions()
    assert raised.value.where == "profile fast: driver.config.model"
    assert raised.value.hint == 'write `model = "m"`'


async def test_a_refusal_leads_to_the_key_of_the_case_that_has_its_own_driver(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.case = evolve(scene.case, driver=Plug("agent", {**scene.profile.driver.config, "model": "latest"}))
    with pytest.raises(PolicyViolation) as raised:
        await scene.conditions()
    assert raised.value.where == "case calculator/add: driver.config.model"


async def test_what_runs_is_what_was_bound(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (template,) = (await scene.conditions()).templates
    assert template.order.driver.config["hooks"] is False
    assert template.prepared.driver_config.hooks is False
    assert bound([template]) == (template,)
