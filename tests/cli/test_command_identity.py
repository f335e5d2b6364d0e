"""`quintain identity`: what a run depended on, and what makes two of them comparable or not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import quintain
from quintain import Case, Isolation, Launch
from quintain.cli.main import run as command
from quintain.functions import driver_of
from quintain.identity.lock import write_lock


async def _agent(launch: Launch) -> str:
    return "ok"


DRIVER = driver_of(_agent, name="agent")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "quintain.toml").write_text("")
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "main.py").write_text("print()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_run(root: Path, prompt: str = "Do it.", *, store: str = ".quintain", mode: str | None = None) -> str:
    """Run a case and return the name of the run."""
    isolation = Isolation(env={"MODE": mode} if mode else {})
    case = Case("a", prompt, fixtures=root / "fixtures")
    result = quintain.run_sync([case], driver=DRIVER, store=root / store, isolation=isolation)
    return result.directory.name


def test_show_lists_every_source(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = a_run(project)
    assert command(["identity", "show"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: sha256:")
    assert "  cases.a.prompt = sha256:" in out
    assert "  profiles.default.driver.agent.unbound = true" in out


def test_show_as_json_is_the_whole_tree(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = a_run(project)
    assert command(["identity", "show", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["root"].startswith("sha256:")
    assert found["sources"]["cases"]["a"]["prompt"].startswith("sha256:")


def test_the_same_has_no_difference(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = a_run(project), a_run(project)
    assert command(["identity", "diff", one, other]) == 0
    assert capsys.readouterr().out.startswith("the same: sha256:")
    assert command(["identity", "diff", one, other, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["equal"] is True


def test_each_difference_is_named_down_to_the_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = a_run(project)
    (project / "fixtures" / "main.py").write_text("print(1)\n")
    (project / "fixtures" / "more.py").write_text("")
    a_run(project, "Do it now.")
    assert command(["identity", "diff", one, "last"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["case", "cases.a.fixtures/main.py"],
        ["case", "cases.a.fixtures/more.py"],
        ["case", "cases.a.prompt"],
    ]


def test_a_difference_as_json_has_both_sides_and_a_sentence(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = a_run(project), a_run(project, "Do it now.")
    assert command(["identity", "diff", one, other, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (difference,) = found["differences"]
    assert (difference["name"], difference["kind"], difference["concern"]) == ("cases.a.prompt", "changed", "case")
    assert difference["before"] != difference["after"]
    assert "changed from sha256:" in difference["sentence"]


def test_directories_that_are_no_names_are_found(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = a_run(project)
    directory = project / ".quintain" / "runs" / name
    os.chdir("/")
    assert command(["identity", "diff", str(directory), str(directory / "identity.lock")]) == 0
    assert capsys.readouterr().out.startswith("the same")


def test_a_campaign_has_one_too_and_the_newest_of_all_is_last(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run(project)
    campaign = project / ".quintain" / "campaigns" / "9999-01-01T00-00-00-better-prompt-abcd"
    campaign.mkdir(parents=True)
    write_lock(campaign / "identity.lock", {"core": {"version": "9"}})
    (campaign / "run.db").touch()
    assert command(["identity", "show", "abcd"]) == 0
    assert command(["identity", "show"]) == 0
    assert capsys.readouterr().out.count('core.version = "9"') == 2
    assert command(["identity", "diff", run, "last"]) == 1


def test_another_store_s_salt_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = project / "one" / "runs" / a_run(project, store="one", mode="quick")
    other = project / "other" / "runs" / a_run(project, store="other", mode="quick")
    assert command(["identity", "diff", str(one), str(other)]) == 1
    out = capsys.readouterr().out
    assert "profiles.default.isolation.env.MODE changed" in out
    assert "different salts" in out
    assert "quick" not in out


def test_a_lock_that_was_edited_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = project / ".quintain" / "runs" / a_run(project) / "identity.lock"
    lock.write_text(lock.read_text().replace('version = "', 'version = "9'))
    assert command(["identity", "show", "last"]) == 3
    assert "changed after it was written" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["identity", "show", "nope"], ["identity", "diff", "last", "nope"]])
def test_a_name_that_fits_nothing_says_what_there_is(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    name = a_run(project)
    assert command(words) == 2
    err = capsys.readouterr().err
    assert "there is no run or campaign `nope`" in err
    assert name in err


def test_a_name_that_fits_several_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = a_run(project), a_run(project)
    assert command(["identity", "show", one[:4]]) == 2
    assert "fits several" in capsys.readouterr().err


def test_a_store_without_runs_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["identity", "show"]) == 2
    assert "there is no run or campaign in" in capsys.readouterr().err
