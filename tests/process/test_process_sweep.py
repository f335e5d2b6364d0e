"""Processes that nobody answers for are found by their marker, and only those."""

from __future__ import annotations

import os
import subprocess
import uuid
from contextlib import AbstractContextManager
from pathlib import Path

from process.agents import alive, bystander, eventually
from quintain.process import sweep

NAME = f"QUINTAIN_SWEEP_{uuid.uuid4().hex}"


def stray(value: str, program: str = "sleep 600") -> AbstractContextManager[subprocess.Popen[bytes]]:
    return bystander("/bin/sh", "-c", f"{program}; :", env={"PATH": os.defpath, NAME: value})


def sweepable(value: str) -> int:
    """How many would be swept, found without killing."""
    asked: list[str] = []

    def refuse(found: str) -> bool:
        asked.append(found)
        return False

    sweep(NAME, refuse)
    return asked.count(value)


def test_orphans_are_killed_and_others_are_not() -> None:
    with stray("dead-1") as one, stray("dead-2") as two, stray("living") as other:
        assert eventually(lambda: [sweepable(value) for value in ("dead-1", "dead-2", "living")] == [2, 2, 2])
        assert sweep(NAME, lambda value: value.startswith("dead")) == 4
        assert eventually(lambda: not alive(one.pid) and not alive(two.pid))
        assert alive(other.pid)


def test_one_that_ignores_signals_goes_with_its_children() -> None:
    with stray("stubborn", "trap '' TERM HUP INT; sleep 600 & sleep 600 & wait"):
        assert eventually(lambda: sweepable("stubborn") == 3)
        assert sweep(NAME, lambda value: value == "stubborn") == 3
        assert sweepable("stubborn") == 0


def test_another_variable_with_a_longer_name_is_no_marker() -> None:
    with bystander("/bin/sleep", "600", env={f"{NAME}_2": "dead", f"X{NAME}": "dead"}) as other:
        assert eventually(lambda: NAME.encode() in Path(f"/proc/{other.pid}/environ").read_bytes())
        assert sweep(NAME, lambda _: True) == 0


def test_nothing_to_sweep_is_none_swept() -> None:
    assert sweep(f"{NAME}_NOBODY", lambda _: True) == 0
