"""`--preflight` and `--no-preflight` as people use them, with a driver that is installed beside the core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DRIVER = """
from attrs import evolve
from quintain import Capability, Case, Done, LimitOverrides, Ready, Runtime, ToolCall, ToolResult, driver_of, hookimpl, leaves_file

CASE = Case("any", "Write it.", assertions=(leaves_file("f.txt", "ready", by="its file tool"),))


async def session(launch):
    yield Ready(agent="pilot")
    stopped = "STOPPED" in launch.environment
    yield ToolCall("1", "write")
    if not stopped:
        (launch.workspace / "f.txt").write_text("ready")
    yield ToolResult("1", text="the sandbox\\x1b does not start" if stopped else "", error=stopped)
    yield Done("ready")


pilot = evolve(
    driver_of(session, name="pilot"),
    preflight=lambda config: CASE,
    runtime=lambda config: Runtime(capabilities=frozenset({Capability.TOOL_EVENTS})),
)


@hookimpl
def quintain_driver():
    return pilot
"""

PROJECT = """
[profiles.good]
driver = "pilot"

[profiles.bad]
driver = "pilot"

[profiles.bad.isolation]
env = { STOPPED = "1" }
"""

CASES = """
prompt = "Write it."

[[assertions]]
type = "file_exists"
path = "f.txt"
"""

CAMPAIGN = """
id = "small"
profiles = ["{profile}"]

[subject]
root = "subject"
mutable = ["*.md"]

[splits.validation]

[repetitions]
search = 1
promotion = 1

[[variants]]
id = "other"
text = {{ "prompt.md" = "2" }}
"""

Quintain = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    info = site / "pilot-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pilot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[quintain.driver]\npilot = pilot_driver\n")
    (site / "pilot_driver.py").write_text(DRIVER)
    root = tmp_path / "project"
    (root / "cases").mkdir(parents=True)
    (root / "subject").mkdir()
    (root / "subject" / "prompt.md").write_text("1")
    (root / "quintain.toml").write_text(PROJECT)
    (root / "cases" / "write.case.toml").write_text(CASES)
    return root


@pytest.fixture
def quintain(project: Path) -> Quintain:
    env = {**os.environ, "PYTHONPATH": str(project.parent / "site")}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "quintain", *words]
        return subprocess.run(
            program, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )

    return call


def test_a_run_says_what_was_tried_and_begins_nothing_that_would_be_lost(quintain: Quintain) -> None:
    done = quintain("run", "--profile", "good", "--preflight")
    assert done.returncode == 0, done.stderr
    assert "tried    profile good (driver pilot): works" in done.stderr
    done = quintain("run", "--profile", "good", "--profile", "bad", "--preflight")
    assert done.returncode == 3, done.stderr
    assert (
        "stopped: the preflight failed, so no trial was begun. profile bad: its only tool call was stopped"
        in done.stdout
    )
    assert "\x1b" not in done.stdout + done.stderr
    done = quintain("run", "--profile", "bad", "--preflight", "--json")
    (tried,) = [one for one in map(json.loads, done.stdout.splitlines()) if one["type"] == "preflight"]
    assert tried["profiles"] == ["bad"]
    assert "its file tool wrote nothing" in tried["problems"][1]


def test_doctor_tries_every_profile_and_runs_no_case(quintain: Quintain, project: Path) -> None:
    done = quintain("doctor", "--preflight")
    assert done.returncode == 1, done.stderr
    assert "ok      preflight: profile good (driver pilot): works" in done.stdout
    assert "FAILURE preflight: profile bad (driver pilot): its only tool call was stopped" in done.stdout
    assert "own sandbox in the profile's driver.config" in done.stdout
    assert not (project / ".quintain" / "runs").exists()
    assert "preflight" not in quintain("doctor").stdout


def test_an_experiment_tries_first_unless_it_is_told_not_to(quintain: Quintain, project: Path) -> None:
    for profile in ("good", "bad"):
        (project / f"{profile}.toml").write_text(CAMPAIGN.format(profile=profile))
    done = quintain("experiment", "good.toml")
    assert "tried    profile good (driver pilot): works" in done.stderr, done.stderr
    assert "report  quintain report" in done.stdout
    done = quintain("experiment", "bad.toml")
    assert done.returncode == 3, done.stderr
    assert "stopped: the preflight failed, so no trial was begun. profile bad: its only tool call" in done.stdout
    assert "--no-preflight" in done.stdout
    assert "other:write" not in done.stderr
    done = quintain("resume", "--no-preflight")
    assert "tried" not in done.stderr
    assert "other:write" in done.stderr
    assert "report  quintain report" in done.stdout
