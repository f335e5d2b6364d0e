"""What an agent can reach: with a sandbox nothing of the graders, the project or other trials; without, it is said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import quintain
from quintain import Case, Isolation, Limits, Plugins, Retry

pytestmark = pytest.mark.anyio

ISOLATED = Isolation(sandbox="bwrap", network=False, readable=(Path(sys.prefix), Path(sys.base_prefix)))

SEARCH = r"""
import glob
found = set()
def look(path):
    try:
        with open(path, "rb") as file:
            data = file.read(2_000_000)
    except OSError:
        return
    for word in WORDS:
        if word.encode() in data:
            found.add(word)
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    if int(pid) != os.getpid():
        look(f"/proc/{pid}/environ"); look(f"/proc/{pid}/cmdline")
for root in ROOTS:
    for folder, folders, files in os.walk(root):
        for name in files:
            look(os.path.join(folder, name))
emit("ready"); emit("done", text=",".join(sorted(found)))
"""


@pytest.fixture
def secrets_of_the_grader(tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """Fixtures and hidden fixtures in a project, with words that nobody else has."""
    project = tmp_path / "project"
    visible, hidden = project / "fixtures", project / "hidden"
    visible.mkdir(parents=True)
    hidden.mkdir()
    (visible / "task.txt").write_text("to be seen")
    (hidden / "answer.txt").write_text("TOKEN-" + "hidden-9f3 quintain-canary-abcdefgh1")
    (project / "campaign.toml").write_text("TOKEN-" + "campaign-9f3")
    return visible, hidden, ["TOKEN-" + "hidden-9f3", "TOKEN-" + "campaign-9f3"]


def searching(words: list[str], roots: list[str]) -> str:
    # The words are put together by the program, so that its own command line doesn't hold them.
    return SEARCH.replace("WORDS", f'["TOKEN-" + w for w in {[w[6:] for w in words]}]').replace("ROOTS", str(roots))


async def test_a_sandboxed_agent_finds_nothing_of_the_grader(
    lab: Any, tmp_path: Path, secrets_of_the_grader: Any, bubblewrap: Any
) -> None:
    visible, hidden, words = secrets_of_the_grader
    case = Case("one", "x", fixtures=visible, hidden=hidden)
    program = searching(words, [str(tmp_path), "/tmp", "/var/tmp", ".", ".."])
    report = await lab.run(program, case=case, isolation=ISOLATED)
    assert report.last.answer == "", report
    assert report.last.isolation == "bwrap"


async def test_without_a_sandbox_the_report_says_so(lab: Any) -> None:
    report = await lab.run('emit("ready"); emit("done", text="ok")')
    assert report.last.isolation == "none"


async def test_hidden_fixtures_are_nowhere_while_an_agent_of_no_sandbox_runs(
    lab: Any, secrets_of_the_grader: Any
) -> None:
    visible, hidden, words = secrets_of_the_grader
    case = Case("one", "x", fixtures=visible, hidden=hidden)
    report = await lab.run(searching(words, [".", ".."]), case=case)
    assert report.last.answer == ""


async def test_a_canary_of_the_hidden_fixtures_in_the_trace_is_a_finding(lab: Any, secrets_of_the_grader: Any) -> None:
    visible, hidden, _ = secrets_of_the_grader
    case = Case("one", "x", fixtures=visible, hidden=hidden)
    program = 'emit("ready"); emit("message", text="I saw quintain-canary-" + "abcdefgh1"); emit("done", text="ok")'
    report = await lab.run(program, case=case)
    assert [finding.kind for finding in report.last.findings] == ["leak"]


async def test_editing_the_visible_test_changes_no_grade_and_is_reported(lab: Any, tmp_path: Path) -> None:
    visible, hidden = tmp_path / "fixtures", tmp_path / "hidden"
    (visible / "tests").mkdir(parents=True)
    (hidden / "tests").mkdir(parents=True)
    (visible / "work.py").write_text("VALUE = 1\n")
    for place in (visible, hidden):
        (place / "tests" / "check.py").write_text("import work\nassert work.VALUE == 2\n")
    (visible / "tests" / "other.py").write_text("assert True\n")

    async def graded(evidence: quintain.Evidence) -> quintain.Verdict:
        done = await evidence.run(["python3", "tests/check.py"], timeout_s=30, env={"PYTHONPATH": "."})
        return quintain.Verdict.of(done.code == 0, f"{done.code}: {done.stderr[-200:]}")

    case = Case(
        "one", "x", fixtures=visible, hidden=hidden, protected=("tests/**",), assertions=(quintain.check(graded),)
    )
    cheats = 'open("tests/check.py", "w").write("assert True"); os.remove("tests/other.py")\n'
    done = 'emit("ready"); emit("done", text="tests pass now")'
    report = await lab.run(cheats + done, case=case)
    assert report.passed is False
    assert report.grade is not None
    assert {(f.kind, f.paths) for f in report.grade.findings} == {
        ("tampering", ("tests/check.py",)),
        ("tampering", ("tests/other.py",)),
    }
    honest = await lab.run('open("work.py", "w").write("VALUE = 2")\n' + done, case=case)
    assert honest.passed is True
    assert honest.grade is not None
    assert honest.grade.findings == ()


async def test_a_repository_of_fixtures_carries_no_history(lab: Any, tmp_path: Path) -> None:
    import subprocess

    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*args: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *args], cwd=repository, check=True, capture_output=True)

    git("init", "-q")
    (repository / "f").write_text("FIXED-42")
    git("add", "f")
    git("commit", "-qm", "fix")
    (repository / "f").write_text("broken")
    git("commit", "-qam", "base")
    program = """
out = subprocess.run("git log --all -p; git stash list; find .", shell=True, capture_output=True, text=True).stdout
emit("ready"); emit("done", text=out)
"""
    report = await lab.run(program, case=Case("one", "x", fixtures=repository))
    assert report.last.answer is not None
    assert "FIXED-42" not in report.last.answer
    assert "./f" in report.last.answer


async def test_each_command_of_a_grader_gets_the_agents_workspace_and_not_the_last_ones_droppings(lab: Any) -> None:
    async def drops(evidence: quintain.Evidence) -> bool:
        return (await evidence.run(["touch", "dropping"], timeout_s=20)).code == 0

    async def counts(evidence: quintain.Evidence) -> quintain.Verdict:
        found = (await evidence.run(["ls"], timeout_s=20)).stdout.split()
        return quintain.Verdict.of(found == ["ok.txt"], str(found))

    case = Case("one", "x", assertions=(quintain.check(drops), quintain.check(counts)))
    assert (await lab.run('open("ok.txt", "w").close(); emit("ready"); emit("done", text="ok")', case=case)).passed


async def test_a_command_of_a_grader_that_hangs_is_killed(lab: Any, alive: Any) -> None:
    async def hangs(evidence: quintain.Evidence) -> quintain.Verdict:
        done = await evidence.run(["sh", "-c", "sleep 600; : unlikely-word-77"], timeout_s=0.5)
        return quintain.Verdict.of(not done.timed_out, f"timed out: {done.timed_out}")

    case = Case("one", "x", assertions=(quintain.check(hangs),))
    report = await lab.run('emit("ready"); emit("done", text="ok")', case=case)
    assert report.passed is False
    assert alive("unlikely-word-77") == []


async def test_strange_files_are_collected_without_waiting_or_reading_holes(lab: Any) -> None:
    program = r"""
os.mkfifo("pipe"); s = socket.socket(socket.AF_UNIX); s.bind("sock")
with open("big.img", "wb") as file: file.truncate(1 << 40)
for n in [b"new\nline", b"\xff\xfe.bin", b"-rf", b"a\"b'c`d", b" lead", b"x" * 255, "e\u0301".encode(), "é".encode()]:
    open(n, "wb").write(b"1")
os.makedirs("/".join(["d"] * 200))
emit("ready"); emit("done", text="ok")
"""
    seen: dict[str, Any] = {}

    def look(evidence: quintain.Evidence) -> bool:
        seen.update({change.path: change.after for change in evidence.changes.changes})
        return True

    result = await quintain.run(
        [Case("one", "x", assertions=(quintain.check(look),))],
        driver=lab.driver(program),
        store=lab.store,
        plugins=Plugins(),
        limits=Limits(linger_s=1, grace_s=0.5),
        retry=Retry(attempts=1),
    )
    assert result.passed, result.summary
    assert seen["pipe"].kind == seen["sock"].kind == "special"
    assert seen["big.img"].size == 1 << 40
    assert seen["big.img"].digest is None
    assert seen["big.img"].allocated is not None
    names = {name.encode("utf-8", "surrogateescape") for name in seen}
    assert {b"new\nline", b"\xff\xfe.bin", b"-rf", "e\u0301".encode(), "é".encode()} <= names
