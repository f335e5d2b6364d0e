"""A package can add a subcommand: listed without import, loaded when it is called, broken on its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GREET = """
from quintain import hookimpl

print("imported")

@hookimpl
def quintain_command(cli):
    def run(args):
        print(f"hello {args.name}")
        return 7

    cli.add("greet", run, summary="say hello").add_argument("name")
"""


def distribution(root: Path, name: str, module: str, source: str) -> None:
    info = root / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[quintain.command]\ngreet = {module}\n")
    (root / f"{module}.py").write_text(source)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    return site


def quintain(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, "-m", "quintain", *words], env=env, capture_output=True, text=True, timeout=60
    )


def test_help_lists_it_without_importing_it(site: Path) -> None:
    distribution(site, "greeter", "greeter_module", GREET)
    done = quintain(site, "--help")
    assert "greet" in done.stdout
    assert "imported" not in done.stdout + done.stderr


def test_it_runs_with_its_own_arguments_and_exit_code(site: Path) -> None:
    distribution(site, "greeter", "greeter_module", GREET)
    done = quintain(site, "greet", "world")
    assert (done.returncode, done.stdout) == (7, "hello world\n")


def test_a_broken_one_is_one_clear_error_and_breaks_nothing_else(site: Path) -> None:
    distribution(site, "greeter", "greeter_module", "import not_installed_anywhere\n")
    done = quintain(site, "greet", "world")
    assert done.returncode == 2
    assert "not_installed_anywhere" in done.stderr
    assert "greeter 1.0" in done.stderr
    assert "Traceback" not in done.stderr
    assert quintain(site, "--help").returncode == 0
