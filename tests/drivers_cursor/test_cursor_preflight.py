"""What the preflight makes of Cursor's command line; the program is a stand-in that does what it is told, or can't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from quintain import Plug, Plugins, Profile, Retry
from quintain.functions import DENY
from quintain.model.codec import to_plain
from quintain.runs.preflight import Preflight, flights_of, order_of, preflight_alone
from quintain.workspace.blobs import BlobStore
from quintain_driver_cursor import cursor_driver
from quintain_driver_cursor._preflight import preflight

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop; the suite that every driver passes runs on both."""
    return "trio"


async def fly(cursor: str, situation: str, folder: Path, **config: Any) -> Preflight:
    plugins = Plugins.of(cursor_driver, DENY)
    plain = to_plain(cursor_driver.config(executable=cursor, model=situation, **config))
    flights = flights_of([order_of(Profile("default", Plug("cursor", plain), retry=Retry(attempts=1)))], plugins)
    host = {"PATH": "/usr/bin:/bin", "CURSOR_API_KEY": "key-of-nobody"}
    (found,) = await preflight_alone(flights, plugins, BlobStore(folder / "blobs"), host, folder / "preflight")
    return found


async def test_cursor_works(cursor: str, tmp_path: Path) -> None:
    found = await fly(cursor, "obeys", tmp_path)
    assert found.problems == ()
    assert "profile default (driver cursor): works" in found.describe()


async def test_every_command_is_refused(cursor: str, tmp_path: Path) -> None:
    found = await fly(cursor, "runs", tmp_path, force=True, env={"STAND_IN_COMMAND": "false"})
    assert "its file tool wrote nothing" in "; ".join(found.problems)
    assert found.failed


async def test_talk_alone_is_not_enough(cursor: str, tmp_path: Path) -> None:
    found = await fly(cursor, "echoes", tmp_path)
    assert found.problems[0] == "it used no tool"


async def test_talk_is_enough_where_nothing_may_be_done(cursor: str, tmp_path: Path) -> None:
    found = await fly(cursor, "echoes", tmp_path, mode="ask")
    assert found.problems == ()


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    found = await fly(str(tmp_path / "nothing"), "obeys", tmp_path)
    assert "missing" in found.problems[0]


@pytest.mark.parametrize(
    ("config", "asked", "left_out"),
    [
        ({}, ("write a file", "`cp "), ("`echo ",)),
        ({"mode": "plan"}, (), ("write a file", "`cp ", "`echo ")),
        ({"deny": ["Write(*.key)"]}, ("`echo ",), ("write a file", "`cp ")),
        ({"deny": ["Shell(rm)"]}, ("write a file",), ("`cp ", "`echo ")),
        ({"force": False}, (), ("write a file", "`cp ", "`echo ")),
        ({"force": False, "allow": ["Write(**)", "Shell(cp)"]}, ("write a file", "`cp "), ("`echo ",)),
        ({"force": False, "allow": ["Shell(echo)"]}, ("`echo ",), ("write a file", "`cp ")),
    ],
)
def test_nothing_is_asked_for_that_the_configuration_forbids(
    config: dict[str, Any], asked: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    prompt = preflight(cursor_driver.config(**config)).prompt
    assert all(words in prompt for words in asked)
    assert not any(words in prompt for words in left_out)
