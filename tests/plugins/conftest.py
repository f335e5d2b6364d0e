"""Installed distributions, made of what an installation leaves behind: a folder of metadata and a module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

Install = Callable[..., Path]

DRIVER = """
from contextlib import asynccontextmanager
from quintain import DriverSpec, hookimpl

@asynccontextmanager
async def opened(config, launch):
    yield

@hookimpl
def quintain_driver():
    return DriverSpec("{name}", opened, summary="of {distribution}")
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution: `install("my-dist", {"quintain.driver": {"x": "my_dist"}}, {"my_dist": code})`.

    Each goes into a folder of its own, at the front of the path unless `last`.
    """
    modules: set[str] = set()

    def made(
        distribution: str,
        entry_points: dict[str, dict[str, str]],
        code: dict[str, str] | None = None,
        *,
        version: str = "1.0",
        last: bool = False,
    ) -> Path:
        folder = tmp_path / f"site-{distribution}-{version}"
        info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        sections = (
            f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in entry_points.items()
        )
        (info / "entry_points.txt").write_text("\n".join(sections))
        for module, text in (code or {}).items():
            (folder / f"{module}.py").write_text(dedent(text))
            modules.add(module)
        if last:
            monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
        else:
            monkeypatch.syspath_prepend(folder)
        importlib.invalidate_caches()
        return folder

    yield made
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture(scope="session")
def driver_code() -> Callable[[str, str], str]:
    """A module that declares a driver as it should."""
    return lambda name, distribution: DRIVER.format(name=name, distribution=distribution)


@pytest.fixture
def install_driver(install: Install, driver_code: Callable[[str, str], str]) -> Callable[..., Path]:
    """Install a distribution with one sound driver."""

    def made(distribution: str, name: str, **options: object) -> Path:
        module = f"{distribution.replace('-', '_')}_module"
        code = {module: driver_code(name, distribution)}
        return install(distribution, {"quintain.driver": {name: module}}, code, **options)

    return made
