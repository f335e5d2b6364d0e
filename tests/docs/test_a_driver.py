"""The page on drivers builds a package that is found, and passes the conformance kit, where the workspace is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import pytest
from attrs import frozen
from docs.pages import ROOT, named_files

PAGE = "docs/tutorials/a-driver.md"
FILES = named_files(PAGE)
PROJECT = FILES.pop("quintain.toml")
AGENT = """
import sys
prompt = sys.stdin.buffer.read(int(sys.stdin.buffer.readline())).decode()
print(f"I was told: {prompt}")
"""

PROBE = """
import json, quintain, quintain_driver_liner
plugins = quintain.Plugins.from_entry_points()
use = plugins.use("driver", "liner")
print(json.dumps({
    "files": [quintain.__file__, quintain_driver_liner.__file__],
    "name": plugins.driver("liner").name,
    "from": [use.distribution, use.version],
}))
"""


def run(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program away from the settings of this test run."""
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL_"))
    }
    return subprocess.run(
        [str(word) for word in argv], cwd=cwd, env=outside, capture_output=True, text=True, timeout=240
    )


def done(*argv: str | Path, cwd: Path) -> str:
    """Standard output of a program that has to succeed."""
    ended = run(*argv, cwd=cwd)
    assert ended.returncode == 0, f"{argv}: {ended.stdout[-3000:]}{ended.stderr[-3000:]}"
    return ended.stdout


@frozen
class Fresh:
    """An environment of its own, and a folder with nothing in it but the page's test."""

    environment: Path
    folder: Path

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Both packages as wheels in an environment; what they need comes after them, from the workspace's."""
    root = tmp_path_factory.mktemp("a-driver")
    package, wheels, environment, folder = (root / name for name in ("package", "wheels", "environment", "folder"))
    for name, text in FILES.items():
        target = (folder if name.startswith("test_") else package) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for source in (ROOT / "core", package):
        done(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, source, cwd=root)
    done(sys.executable, "-m", "venv", "--without-pip", environment, cwd=root)
    here = Fresh(environment, folder)
    install = ("pip", "--python", here.python, "install", "--quiet", "--no-index", "--no-deps")
    done(sys.executable, "-m", *install, *sorted(wheels.glob("*.whl")), cwd=root)
    # A path file adds a folder at the end, and doesn't read the path files in it: no editable install is seen.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "workspace.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    return here


def test_the_package_is_three_files_and_the_driver_about_forty_lines() -> None:
    assert sorted(FILES) == ["pyproject.toml", "quintain_driver_liner/__init__.py", "test_liner.py"]
    code = [line for line in FILES["quintain_driver_liner/__init__.py"].splitlines() if line.strip()]
    assert 35 <= len(code) <= 45


def test_the_driver_is_found_through_its_entry_point_in_the_wheels_alone(fresh: Fresh) -> None:
    found = json.loads(done(fresh.python, "-c", PROBE, cwd=fresh.folder))
    for file in found["files"]:
        assert Path(file).is_relative_to(fresh.environment), file
    assert found["name"] == "liner"
    assert found["from"] == ["quintain-driver-liner", "0.1.0"]


def test_the_page_s_test_passes_as_it_is_written(fresh: Fresh) -> None:
    results = fresh.folder / "results.xml"
    ended = run(fresh.python, "-m", "pytest", "-q", f"--junit-xml={results}", cwd=fresh.folder)
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    cases = list(ElementTree.parse(results).iter("testcase"))
    names = {case.get("name", "").partition("[")[0] for case in cases}
    assert [case.get("name") for case in cases if len(case)] == []
    assert len(cases) >= 40
    assert {
        "test_a_session_begins_with_ready_and_ends_once",
        "test_a_question_is_answered_in_the_same_session",
        "test_an_agent_that_hangs_is_stopped_and_gone",
        "test_an_agent_that_fails_is_no_success",
        "test_an_agent_that_dies_while_it_asks_ends_the_trial",
    } <= names


def test_the_project_of_the_page_runs_its_agent_by_the_driver(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "quintain.toml").write_text(PROJECT)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "one.case.toml").write_text('prompt = "Say hello."\n')
    quintain = (fresh.python, "-m", "quintain")

    assert "quintain-driver-liner 0.1.0" in done(*quintain, "plugins", cwd=tmp_path)
    ended = run(*quintain, "run", cwd=tmp_path)
    assert "1 trial: 1 case" in ended.stderr, ended.stderr

    assert "driver liner: quintain-driver-liner 0.1.0" in done(*quintain, "show", "last", cwd=tmp_path)
    assert "is done: I was told: Say hello." in done(*quintain, "show", "last/one", cwd=tmp_path)
