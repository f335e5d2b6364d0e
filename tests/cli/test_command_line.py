"""The command line as people and machines use it: real processes on small projects."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-m", "quintain"]

PROJECT = """
[profiles.default]
driver = { name = "subprocess", config = { command = ["{python}", "{project}/agent.py"] } }

[profiles.default.limits]
linger_s = 1
grace_s = 1

[profiles.default.retry]
attempts = 1
"""

AGENT = """
import sys, time
import quintain_agent
agent = quintain_agent.start(name="tester")
task = agent.prompt
if "sleep" in task:
    agent.say("sleeping")
    time.sleep(60)
if "hostile" in task:
    agent.done('\\x1b]0;owned\\x07\\x1b[2J <img src=x> ]]> \\x00')
if "overload" in task:
    agent.fail("529", failure="overload")
open("made.txt", "w").write("made\\n")
agent.use(input=10, output=2, cost_usd=0.01)
agent.done(agent.ask("Which?") or "nobody said")
"""

Quintain = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "cases").mkdir(parents=True)
    (root / "quintain.toml").write_text(PROJECT)
    (root / "agent.py").write_text(AGENT)
    return root


@pytest.fixture
def quintain(project: Path) -> Quintain:
    def call(*words: str, cwd: Path = project, **options: Any) -> subprocess.CompletedProcess[str]:
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([*PROGRAM, *words], cwd=cwd, capture_output=True, text=True, timeout=120, **options)

    return call


def add_case(project: Path, name: str, prompt: str = "do it", *, passes: bool | None = True) -> None:
    text = f'prompt = "{prompt}"\n'
    if passes is not None:
        path = "made.txt" if passes else "never.txt"
        text += f'[[assertions]]\ntype = "file_exists"\npath = "{path}"\n'
    (project / "cases" / f"{name}.case.toml").write_text(text)


def test_a_run_that_passes_exits_with_0_and_says_what_it_spent(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    done = quintain("run", "--repeat", "2")
    assert done.returncode == 0, done.stderr
    assert "2 of 2 passed" in done.stdout
    assert "24 tokens, cost $0.0200" in done.stdout


def test_a_case_that_fails_exits_with_1_and_explains_itself(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    add_case(project, "bad", passes=False)
    done = quintain("run")
    assert done.returncode == 1
    assert "never.txt" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [(("run", "-k", "nosuch"), 2), (("run", "-t", "nosuch"), 2), (("run", "--profile", "nosuch"), 2), (("nosuch",), 2)],
)
def test_what_selects_nothing_exits_with_2(
    project: Path, quintain: Quintain, words: tuple[str, ...], code: int
) -> None:
    add_case(project, "good")
    done = quintain(*words)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_only_missing_data_exits_with_3(project: Path, quintain: Quintain) -> None:
    add_case(project, "lost", "overload please")
    done = quintain("run")
    assert done.returncode == 3
    assert "infrastructure" in done.stdout + done.stderr


def test_json_lines_for_machines_are_all_that_is_on_stdout(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    done = quintain("run", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["type"] for line in lines] == ["run_began", "trial_began", "trial_ended", "run_ended"]


def test_a_run_and_its_trials_can_be_looked_at(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    quintain("run")
    assert "good@default#1" in quintain("show", "last").stdout
    page = quintain("show", "last/good#1").stdout
    for words in ("tester", "asks (ask): Which?", "added made.txt", "+made", "file_exists"):
        assert words in page
    assert json.loads(quintain("show", "last/good#1", "--json").stdout)["report"]["case"] == "good"
    events = [json.loads(line) for line in quintain("show", "last/good#1", "--events").stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all(json.loads(line) for line in quintain("show", "last/good#1", "--raw").stdout.splitlines())


def test_the_text_of_an_agent_does_nothing_to_a_terminal(project: Path, quintain: Quintain) -> None:
    add_case(project, "hostile", "hostile", passes=False)
    for words in (("run",), ("show", "last/hostile#1"), ("show", "last")):
        done = quintain(*words)
        assert not {"\x1b", "\x07", "\x00"} & set(done.stdout + done.stderr)


def test_evidence_is_graded_again_with_a_changed_case(project: Path, quintain: Quintain) -> None:
    add_case(project, "one", passes=False)
    assert quintain("run").returncode == 1
    add_case(project, "one", passes=True)
    done = quintain("grade", "last", "cases")
    assert done.returncode == 0, done.stderr
    assert "failed (score 0.00) -> passed (score 1.00)" in done.stdout


def test_only_what_did_not_pass_is_run_again(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    add_case(project, "bad", passes=False)
    quintain("run")
    done = quintain("run", "--rerun-failed", "--json")
    began = [json.loads(line) for line in done.stdout.splitlines()]
    assert began[0]["run"]["cases"] == ["bad"]


def test_a_driver_that_is_not_installed_is_one_clear_error(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    done = quintain("run", "--driver", "teapot")
    assert done.returncode == 2
    assert "pip install quintain-driver-teapot" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_key_names_file_line_and_the_nearest_key(project: Path, quintain: Quintain) -> None:
    (project / "cases" / "a.case.toml").write_text('prompt = "x"\ntimeout_sec = 5\n')
    done = quintain("run")
    assert done.returncode == 2
    for words in ("a.case.toml:2", "timeout_sec", "timeout_s"):
        assert words in done.stderr


def test_a_wrong_configuration_is_an_error_before_anything_runs(project: Path, quintain: Quintain) -> None:
    (project / "quintain.toml").write_text(PROJECT.replace("command =", "comand ="))
    add_case(project, "good")
    done = quintain("run")
    assert done.returncode == 2
    assert "comand" in done.stderr
    assert not (project / ".quintain" / "runs").exists()


def test_doctor_and_plugins_run_no_agent(project: Path, quintain: Quintain) -> None:
    add_case(project, "good")
    checks = json.loads(quintain("doctor", "--json").stdout)
    assert {check["status"] for check in checks} == {"ok"}, checks
    (project / "quintain.toml").write_text(PROJECT.replace("{python}", "no-such-python"))
    broken = quintain("doctor")
    assert broken.returncode == 1
    assert "no-such-python" in broken.stdout
    plugins = json.loads(quintain("plugins", "--json").stdout)
    assert ("driver", "subprocess") in {(plugin["kind"], plugin["name"]) for plugin in plugins}
    assert not (project / ".quintain" / "runs").exists()


def interrupted(project: Path, *, times: int) -> tuple[int, str, float]:
    process = subprocess.Popen(
        [*PROGRAM, "run", "--json", "--grace", "1"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    while "trial_began" not in process.stdout.readline():
        pass
    time.sleep(0.5)
    began = time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err, time.monotonic() - began


def test_ctrl_c_once_ends_cleanly_with_a_partial_report(project: Path) -> None:
    for name in ("a", "b", "c", "d", "e", "f"):
        add_case(project, name, "sleep", passes=None)
    code, output, _ = interrupted(project, times=1)
    assert code == 130
    assert "Once more leaves at once" in output
    assert "cancelled" in output
    assert "not started" in output


def test_ctrl_c_twice_leaves_at_once_and_kills_the_agents(project: Path) -> None:
    add_case(project, "a", "sleep", passes=None)
    code, _, took = interrupted(project, times=2)
    assert code == 130
    assert took < 30
    deadline = time.monotonic() + 20
    while any(str(project / "agent.py").encode() in line for line in _command_lines()):
        assert time.monotonic() < deadline, "the agent is still there"
        time.sleep(0.1)


def test_a_killed_harness_leaves_no_agent_behind(project: Path) -> None:
    add_case(project, "a", "sleep", passes=None)
    process = subprocess.Popen(
        [*PROGRAM, "run", "--json"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    while b"trial_began" not in process.stdout.readline():
        pass
    time.sleep(0.7)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 20
    while any(str(project / "agent.py").encode() in line for line in _command_lines()):
        assert time.monotonic() < deadline, "the agent is still there"
        time.sleep(0.1)


def _command_lines() -> list[bytes]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes())
        except OSError:
            continue
    return found


def test_with_a_terminal_a_panel_tells_what_goes_on_and_is_gone_at_the_end(project: Path) -> None:
    add_case(project, "good")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "run"],
        cwd=project,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(leader)
    assert process.wait(timeout=60) == 0
    # Drawn while it went on, with what it had cost; wiped out before the summary.
    assert b"0/1 done" in seen
    assert b"spent" in seen
    assert seen.rindex(b"\x1b[2K") < seen.index(b"1 of 1 passed")


@pytest.mark.parametrize("stdin", ["closed", "open pipe"])
def test_its_own_input_is_never_the_agents(project: Path, quintain: Quintain, stdin: str) -> None:
    (project / "agent.py").write_text("import sys; sys.stdin.read(); print('done')")
    (project / "quintain.toml").write_text(PROJECT.replace('agent.py"] }', 'agent.py"], mode = "text" }'))
    add_case(project, "reads", passes=None)
    if stdin == "closed":
        done = subprocess.run([*PROGRAM, "run"], cwd=project, capture_output=True, text=True, timeout=60, stdin=None)
    else:
        reader, writer = os.pipe()
        done = quintain("run", stdin=reader)
        os.close(reader)
        os.close(writer)
    assert "1 not graded" in done.stdout


def test_asking_for_the_version_imports_next_to_nothing() -> None:
    code = "import sys; from quintain.cli import main; main(['--version']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("quintain ")
    for module in ("anyio", "attrs", "cattrs", "pluggy", "rich", "sqlite3", "argparse", "quintain.plugins"):
        assert f"'{module}'" not in done.stderr, module


def test_help_imports_no_plugin(project: Path) -> None:
    code = "import sys; from quintain.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "run cases and say how they went" in done.stdout
    assert "quintain_driver_subprocess" not in done.stderr


def test_without_a_project_file_nothing_is_taken_for_a_case_by_accident(tmp_path: Path, quintain: Quintain) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.case.py").write_text("raise SystemExit('it was run')\n")
    done = quintain("run", cwd=tmp_path / "elsewhere")
    assert done.returncode == 2
    assert "quintain.toml" in done.stderr
    assert "it was run" not in done.stderr


def test_a_later_grade_is_shown_beside_the_first(project: Path, quintain: Quintain) -> None:
    add_case(project, "one", passes=False)
    quintain("run")
    add_case(project, "one", passes=True)
    quintain("grade", "last", "cases")
    page = quintain("show", "last/one#1").stdout
    assert "graded again at" in page
    assert "pass file_exists" in page
