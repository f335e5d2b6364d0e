"""Plugins as people install them: real wheels in a fresh environment, beside the core."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{distribution}"
version = "{version}"
dependencies = ["quintain>=0.1"]

[project.entry-points."quintain.driver"]
{name} = "{module}"
"""


def wheel(folder: Path, distribution: str, name: str, code: str, version: str = "1.0") -> Path:
    module = distribution.replace("-", "_")
    project = folder / distribution
    (project / "src" / module).mkdir(parents=True)
    (project / "src" / module / "__init__.py").write_text(code)
    (project / "pyproject.toml").write_text(
        PROJECT.format(distribution=distribution, version=version, name=name, module=module)
    )
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder / "wheels"),
        str(project),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = (folder / "wheels").glob(f"{module}-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, driver_code: Callable[[str, str], str]) -> Callable[..., Any]:
    """A fresh environment with three wheels in it, in which a piece of code prints JSON."""
    folder = tmp_path_factory.mktemp("installed")
    wheels = [
        wheel(folder, "left-driver", "codename", driver_code("codename", "left"), "1.5"),
        wheel(folder, "right-driver", "codename", driver_code("codename", "right"), "2.0"),
        wheel(folder, "broken-driver", "broken", "print('on import')\nimport not_installed_anywhere\n"),
    ]
    home = folder / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    (site,) = home.glob("lib/python*/site-packages")
    # What the core needs, and the core itself, come from the environment that runs this test.
    (site / "_outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, *map(str, wheels)], check=True, capture_output=True)

    def answers(code: str) -> Any:
        done = subprocess.run(
            [str(python), "-W", "error", "-c", dedent(code)], check=True, capture_output=True, text=True, cwd=folder
        )
        return json.loads(done.stdout)

    return answers


def test_installed_plugins_are_listed_without_being_imported(environment: Any) -> None:
    found = environment("""
        import json, sys
        from quintain.plugins import Plugins
        plugins = Plugins.from_entry_points()
        names = plugins.names("driver")
        used = plugins.use("driver", "broken")
        loaded = [name for name in sys.modules if name.endswith("_driver")]
        print(json.dumps([names, used.distribution, used.version, loaded]))
    """)
    names, *rest = found
    assert {"codename", "broken"} <= set(names)
    assert rest == ["broken-driver", "1.0", []]


def test_of_two_installed_wheels_with_one_name_one_is_chosen(environment: Any) -> None:
    found = environment("""
        import json
        from quintain.errors import PluginError
        from quintain.plugins import Plugins
        try:
            Plugins.from_entry_points().driver("codename")
        except PluginError as error:
            message = error.message
        chosen = Plugins.from_entry_points({"driver:codename": "right_driver"})
        used = chosen.use("driver", "codename")
        print(json.dumps([message, chosen.driver("codename").summary, used.distribution, used.version]))
    """)
    message = "driver `codename` is claimed by left-driver (left_driver) and by right-driver (right_driver)"
    assert found == [message, "of right", "right-driver", "2.0"]


def test_a_broken_wheel_is_shown_as_broken_and_its_words_stay_out_of_the_output(environment: Any) -> None:
    found = environment("""
        import json
        from quintain.plugins import Plugins
        checked = Plugins.from_entry_points({"driver:codename": "left-driver"}).check()
        print(json.dumps({f"{one.plugin.kind}:{one.plugin.distribution}": one.error for one in checked}))
    """)
    assert "driver `broken` of broken-driver 1.0: can't be loaded" in found["driver:broken-driver"]
    assert "not_installed_anywhere" in found["driver:broken-driver"]
    assert (found["driver:left-driver"], found["driver:right-driver"]) == (None, None)
    assert found["answerer:quintain"] is None
