"""One process at a time owns a campaign, and a dead one owns nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from quintain.campaign.owner import NAME, owned, owner_of
from quintain.errors import StoreError

HOLD = """
import sys, time
from pathlib import Path
from quintain.campaign.owner import owned
with owned(Path(sys.argv[1])):
    print("owned", flush=True)
    time.sleep(600)
"""


def holder(directory: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n"
    return process


def test_a_second_process_is_refused_and_told_who_owns_it(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        try:
            with pytest.raises(StoreError) as caught, owned(tmp_path):
                pass
            assert f"process {process.pid} on " in str(caught.value)
            assert f"process {process.pid}" in (owner_of(tmp_path) or "")
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_dead_process_owned_is_free(tmp_path: Path, number: signal.Signals) -> None:
    with holder(tmp_path) as process:
        os.kill(process.pid, number)
    assert (tmp_path / NAME).exists()
    assert owner_of(tmp_path) is None
    with owned(tmp_path):
        assert str(os.getpid()) in (owner_of(tmp_path) or "")
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_lock_file_without_an_owner_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    assert owner_of(tmp_path) is None
    with owned(tmp_path), pytest.raises(StoreError), owned(tmp_path):
        pass


def test_a_directory_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone/owner\.lock: can't be written"), owned(tmp_path / "gone"):
        pass


@pytest.mark.parametrize("call", ["truncate", "pwrite"])
def test_a_disk_that_takes_no_lock_is_one_clear_error_and_nobody_owns_it_then(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(StoreError, match=r"owner\.lock: can't be written: No space left"), owned(tmp_path):
            pass
    assert owner_of(tmp_path) is None
    with owned(tmp_path):
        pass


def test_many_processes_take_turns_without_ever_owning_it_together(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from quintain.campaign.owner import owned
from quintain.errors import StoreError
d = Path(sys.argv[1]); won = 0
while won < 30:
    try:
        with owned(d):
            with open(d / "inside", "x"): pass
            (d / "inside").unlink()
            won += 1
    except StoreError:
        pass
"""
    processes = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
