"""A new project runs as it is made, and nothing that is there is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import quintain
from attrs import frozen
from quintain import AssertionSpec, Evidence, Limits, Plugins, Verdict
from quintain.authoring import discover, make_project, open_project
from quintain.errors import UsageError
from quintain_driver_subprocess import subprocess_driver


@frozen
class Argv:
    argv: tuple[str, ...]


@frozen
class Paths:
    paths: tuple[str, ...]


async def command(config: Argv, evidence: Evidence) -> Verdict:
    result = await evidence.run(config.argv, timeout_s=60)
    return Verdict.of(result.code == 0, result.stderr)


def changed_only(config: Paths, evidence: Evidence) -> Verdict:
    changed = tuple(change.path for change in evidence.changes.changes)
    return Verdict.of(changed == config.paths, f"changed: {changed}")


PLUGINS = Plugins.of(
    subprocess_driver,
    AssertionSpec("command", command, Argv),
    AssertionSpec("changed_only", changed_only, Paths),
)


@pytest.mark.anyio
async def test_it_runs_as_it_is_made(tmp_path: Path) -> None:
    made = make_project(tmp_path / "demo")
    assert {one.what for one in made} == {"created"}
    project = open_project(tmp_path / "demo", required=True).project
    cases = discover([], project).cases
    assert (project.name, [case.id for case in cases]) == ("demo", ["count", "longest"])
    result = await quintain.run(
        cases,
        profiles=[project.profiles["default"]],
        plugins=PLUGINS,
        store=project.store,
        limits=Limits(linger_s=1, grace_s=1),
    )
    tally = result.summary.tally
    said = [assertion.reason for report in result.reports() if report.grade for assertion in report.grade.results]
    assert (tally.passed, tally.planned, [one for one in said if one.strip() and "words.py" not in one]) == (2, 2, [])


@pytest.mark.anyio
async def test_its_hidden_tests_fail_without_the_agents_work(tmp_path: Path) -> None:
    make_project(tmp_path)
    project = open_project(tmp_path).project
    result = await quintain.run(
        discover([], project).cases, driver=quintain.driver_of(idle), plugins=PLUGINS, store=project.store
    )
    assert result.summary.tally.failed == 2


async def idle(launch: quintain.Launch) -> str:
    return "done"


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("mine")
    (tmp_path / ".gitignore").write_text("*.log")
    done = {one.path.name: one.what for one in make_project(tmp_path)}
    assert (done["agent.py"], done["quintain.toml"], done[".gitignore"]) == ("kept", "created", "extended")
    assert (tmp_path / "agent.py").read_text() == "mine"
    assert (tmp_path / ".gitignore").read_text() == "*.log\n.quintain/\n"
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {one.what for one in make_project(tmp_path)} == {"kept"}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("folder", "name"),
    [('a "b" \\c {project} NAME', 'a "b" \\c {project} NAME'), (os.fsdecode(b"a\xff\n\x7fb"), "ab")],
)
def test_a_folder_may_have_any_name(tmp_path: Path, folder: str, name: str) -> None:
    make_project(tmp_path / folder)
    assert open_project(tmp_path / folder).project.name == name


def test_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="can't be written"):
        make_project(tmp_path / "file")
