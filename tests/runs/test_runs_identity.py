"""Every run says what it depended on, and nothing secret."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import quintain
from attrs import evolve
from quintain import Case, Isolation, Launch, Plugins
from quintain.contracts.driver import Executable, ExperimentPolicy, Runtime
from quintain.identity.lock import read_lock
from quintain.identity.tree import difference

pytestmark = pytest.mark.anyio


async def _agent(launch: Launch) -> str:
    return "ok"


DRIVER = quintain.driver_of(_agent, name="agent")


async def _run(store: Path, *, prompt: str = "Do it.", driver: Any = DRIVER, **options: Any) -> quintain.RunResult:
    return await quintain.run([Case("a", prompt)], driver=driver, plugins=Plugins(), store=store, **options)


async def test_a_run_says_what_it_depended_on(tmp_path: Path) -> None:
    one, same = await _run(tmp_path), await _run(tmp_path)
    other = await _run(tmp_path, prompt="Do it now.")
    locks = [read_lock(result.directory / "identity.lock") for result in (one, same, other)]
    assert locks[0] == locks[1]
    assert [found.name for found in difference(locks[0].tree, locks[2].tree)] == ["cases.a.prompt"]


async def test_nothing_secret_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-token")
    monkeypatch.setenv("REGION", "s3cr3t-region")
    isolation = Isolation(env={"MODE": "s3cr3t-mode"}, pass_env=("REGION",), secrets=("TOKEN",))
    result = await _run(tmp_path, isolation=isolation)
    text = (result.directory / "identity.lock").read_text()
    assert "s3cr3t" not in text
    assert "TOKEN" in text
    assert (tmp_path / "salt").stat().st_mode & 0o777 == 0o600


async def test_a_program_that_is_not_there_is_no_reason_not_to_run(tmp_path: Path) -> None:
    driver = evolve(DRIVER, runtime=lambda config: Runtime(executables=(Executable("/nothing/of/the/kind"),)))
    result = await _run(tmp_path, driver=driver)
    assert [report.outcome.kind for report in result.reports()] == ["completed"]
    programs = read_lock(result.directory / "identity.lock").tree["profiles"]["default"]["driver"]["agent"]["programs"]
    assert programs == {"kind": {"unknown": True}}


async def _raises(config: object, context: object) -> dict[str, object]:
    raise ZeroDivisionError("oh")


async def _says_too_much(config: object, context: object) -> dict[str, object]:
    return {"config": 1}


async def _says_no_data(config: object, context: object) -> dict[str, object]:
    return {"path": Path("/")}


@pytest.mark.parametrize("broken", [_raises, _says_too_much, _says_no_data])
async def test_a_driver_whose_identity_is_broken_is_marked_and_runs(tmp_path: Path, broken: Any) -> None:

    driver = evolve(DRIVER, experiment=ExperimentPolicy("1", lambda config: config, broken))
    result = await _run(tmp_path, driver=driver)
    agent = read_lock(result.directory / "identity.lock").tree["profiles"]["default"]["driver"]["agent"]
    assert agent["unknown"] is True


async def test_programs_are_read_once_and_known_by_the_next_run(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\necho 1\n")
    program.chmod(0o755)
    os.utime(program, ns=(1, 1))
    driver = evolve(DRIVER, runtime=lambda config: Runtime(executables=(Executable(str(program)),)))
    await _run(tmp_path / "store", driver=driver)
    assert (tmp_path / "store" / "digests.json").exists()
