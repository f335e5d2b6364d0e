"""The rules of the house."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path.parent for pattern in ("core", "drivers/*", "plugins/*") for path in ROOT.glob(f"{pattern}/pyproject.toml")
)
ADDED = [package for package in PACKAGES if package.name != "core"]

VENDORS = [
    "aider",
    "amazon",
    "anthropic",
    "azure",
    "bedrock",
    "claude",
    "cline",
    "codex",
    "copilot",
    "cursor",
    "deepseek",
    "devin",
    "gemini",
    "goose",
    "google",
    "gpt",
    "grok",
    "groq",
    "kimi",
    "langfuse",
    "litellm",
    "llama",
    "lmstudio",
    "microsoft",
    "mistral",
    "moonshot",
    "ollama",
    "openai",
    "opencode",
    "openhands",
    "openrouter",
    "qwen",
    "vertex",
    "windsurf",
]

GROUPS = ("answerer", "assertion", "command", "driver", "sink")

OTHERWISE = {"pyyaml": "yaml"}
"""Distributions whose modules have another name."""

HEAVY = ("anyio", "attrs", "cattrs", "pluggy", "rich", "sqlite3", "tomli_w", "asyncio", "importlib.metadata")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def project(package: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def sources(package: Path) -> list[Path]:
    return sorted(path for path in (package / "src").rglob("*.py"))


def roots(package: Path) -> list[Path]:
    """The folders that its wheel holds."""
    return sorted(path for path in (package / "src").iterdir() if path.is_dir() and list(path.glob("*.py")))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Top-level names that a file imports, anywhere in it, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno


def normal(distribution: str) -> str:
    return re.sub("[._-]+", "-", distribution).lower()


def requirements(package: Path) -> dict[str, str]:
    """Distributions that a package asks for, with what it says of their versions."""
    found = project(package)
    every = [
        *found.get("dependencies", []),
        *(one for some in found.get("optional-dependencies", {}).values() for one in some),
    ]
    pairs = (re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*(.*)", one) for one in every)
    return {normal(pair[1]): pair[2] for pair in pairs if pair}


def test_there_are_packages_to_look_at() -> None:
    assert PACKAGES[0] == ROOT / "core"
    assert {"subprocess", "answerers", "assertions", "sinks"} <= {package.name for package in PACKAGES}


def test_every_package_is_a_member_of_the_workspace_and_checked_for_types() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    members = [named(package) for package in PACKAGES]
    assert tools["quintain"]["workspace"]["members"] == members
    assert tools["mypy"]["files"] == [f"{member}/src" for member in members]


# the core knows no vendor


def test_no_vendor_is_named_in_the_core() -> None:
    words = re.compile(rf"(?<![a-z])(?:{'|'.join(VENDORS)})(?![a-z])", re.IGNORECASE)
    texts = [path for path in (ROOT / "core").rglob("*") if path.suffix in (".py", ".md", ".toml") and path.is_file()]
    found = [
        f"{named(path)}:{number}: {match[0]}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in words.finditer(line)
    ]
    assert len(texts) > 50
    assert found == []


# packages


@pytest.mark.parametrize("package", PACKAGES, ids=named)
def test_a_package_is_typed_and_says_what_it_is(package: Path) -> None:
    found = project(package)
    for root in roots(package):
        assert (root / "py.typed").is_file(), f"{root.name} has no py.typed"
    assert len((package / "README.md").read_text(encoding="utf-8")) > 80
    assert found["readme"] == "README.md"
    assert found["description"]
    assert found["license"] == "MIT"
    assert found["requires-python"] == ">=3.11"


@pytest.mark.parametrize("package", ADDED, ids=named)
def test_a_package_beside_the_core_states_the_versions_of_it_that_it_works_with(package: Path) -> None:
    assert re.fullmatch(r">=\d+(\.\d+)*,<\d+(\.\d+)*", requirements(package)["quintain"])


@pytest.mark.parametrize("package", PACKAGES, ids=named)
def test_every_dependency_has_a_lower_bound_and_no_exact_one(package: Path) -> None:
    for name, version in requirements(package).items():
        assert version.startswith(">="), f"{name} {version}"


@pytest.mark.parametrize("package", ADDED, ids=named)
def test_a_package_beside_the_core_is_found_by_its_entry_points(package: Path) -> None:
    groups = project(package)["entry-points"]
    assert groups
    assert set(groups) <= {f"quintain.{word}" for word in GROUPS}
    assert project(package)["name"].startswith("quintain-")


@pytest.mark.parametrize("package", PACKAGES, ids=named)
def test_a_package_imports_only_what_it_asks_for(package: Path) -> None:
    known = {OTHERWISE.get(name, name.replace("-", "_")) for name in requirements(package)}
    known |= {root.name for root in roots(package)} | sys.stdlib_module_names
    found = {
        f"{named(path)}:{line}: {name}"
        for path in sources(package)
        for name, line in imports(path)
        if name not in known and not path.with_name(f"{name}.py").exists()
    }
    assert found == set()


@pytest.mark.parametrize("package", [one for one in PACKAGES if one.parent.name == "drivers"], ids=named)
def test_a_driver_starts_processes_only_through_the_core(package: Path) -> None:
    """So that limits, the sandbox, capture and killing are the core's, once, for every driver."""
    found = [
        f"{named(path)}:{line}"
        for path in sources(package)
        for name, line in imports(path)
        if name in ("subprocess", "pty")
    ]
    assert found == []


# floors and sizes


def test_a_room_imports_only_from_floors_below_it() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", PACKAGES, ids=named)
def test_no_file_has_grown_until_a_room_is_missing(package: Path) -> None:
    found = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources(package)}
    assert {name: lines for name, lines in found.items() if lines > 400} == {}


@pytest.mark.parametrize("package", PACKAGES, ids=named)
def test_no_function_has_grown_out_of_sight(package: Path) -> None:
    found = [
        f"{named(path)}:{node.lineno}: {node.name}"
        for path in sources(package)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > 55
    ]
    assert found == []


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    described = ast.get_docstring(function) is not None
    begin = function.body[0].end_lineno if described else function.lineno
    return (function.end_lineno or 0) - (begin or 0)


# starting up


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, quintain; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_can_be_had_and_no_other() -> None:
    import quintain

    assert sorted(quintain.__all__) == sorted(set(quintain.__all__))
    for name in quintain.__all__:
        assert getattr(quintain, name) is not None
    assert dir(quintain) == sorted(quintain.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(quintain, "nothing")  # noqa: B009  # to mypy it isn't there either
