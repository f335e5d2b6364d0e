"""A campaign that is killed at any instant goes on where it was: nothing is lost, nothing is run twice, the budget holds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from attrs import evolve
from campaign.killed_campaign import LIMIT_USD, USD, campaign_in
from quintain.campaign.ledger import Ledger
from quintain.campaign.seal import is_sealed
from quintain.campaign.state import State, read_state
from quintain.campaign.verify import verify
from quintain.model.codec import to_plain
from quintain.runs.history import campaign_names
from quintain.workspace.blobs import BlobStore

PROGRAM = Path(__file__).with_name("killed_campaign.py")
HANG_S = 120


def begun(folder: Path, directory: Path | None = None, *before: str) -> subprocess.Popen[str]:
    words = [*before, sys.executable, str(PROGRAM), str(folder), *([str(directory)] if directory else [])]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def whole(folder: Path, directory: Path | None = None) -> str:
    with begun(folder, directory) as process:
        said, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, said
    return said


def directory_in(folder: Path) -> Path | None:
    store = folder / "store"
    return store / "campaigns" / names[0] if (names := campaign_names(store)) else None


def directory_of(folder: Path) -> Path:
    found = directory_in(folder)
    assert found is not None
    return found


def state_of(directory: Path) -> State:
    with closing(Ledger(directory)) as ledger:
        assert ledger.broken() is None
        return read_state(ledger)


def ran(folder: Path) -> Counter[str]:
    path = folder / "ran"
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def as_agent_tells(trial: str) -> str:
    """A trial as its agent writes it down."""
    candidate, _, rest = trial.partition(":")
    case, _, last = rest.partition("@default#")
    style = "plain" if candidate == "baseline" else candidate
    return f"{style} {case} {int(last) - 1}"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> State:
    folder = tmp_path_factory.mktemp("undisturbed")
    whole(folder)
    return state_of(directory_of(folder))


def decided(state: State) -> object:
    """The decision, but for the spend of single trials, which an interrupted one may have paid twice."""
    assert state.decision is not None
    return to_plain(evolve(state.decision, standings=()))


def survive(folder: Path, undisturbed: State, seed: int) -> int:
    """Kill a campaign at random instants until it ends by itself; returns how often it was killed."""
    chance = random.Random(seed)
    kills, longest_s = 0, 1.5
    while True:
        directory = directory_in(folder)
        before = state_of(directory) if directory is not None else None
        if before is not None and before.status == "finished" and is_sealed(directory_of(folder)):
            break
        settled = set(before.settled) if before is not None else set[str]()
        counts = ran(folder)
        with begun(folder, directory) as process:
            try:
                said, _ = process.communicate(timeout=chance.uniform(0.1, longest_s))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                kills += 1
                longest_s = min(longest_s * 1.1, 6.0)
            else:
                assert process.returncode == 0, said
                break
        for trial in settled:
            name = as_agent_tells(trial)
            assert ran(folder)[name] == counts[name], f"{trial} was settled and ran again"
        held(folder)
    directory = directory_of(folder)
    state = state_of(directory)
    assert decided(state) == decided(undisturbed)
    assert state.settled.keys() == undisturbed.settled.keys()
    found = verify(directory, BlobStore(folder / "store" / "blobs"))
    assert found.problems == ()
    return kills


def held(folder: Path) -> None:
    """What agents really spent is within the budget, and within what the ledger says."""
    spent = sum(ran(folder).values()) * USD
    assert spent <= LIMIT_USD + 1e-9
    directory = directory_in(folder)
    state = state_of(directory) if directory is not None else None
    if state is not None:
        time.sleep(0.1)  # an agent that outlived the kill by a moment may still write
        spent = sum(ran(folder).values()) * USD
        known = state.spent.usd + sum(charge.usd for charge in state.open.values())
        assert spent <= known + 1e-9


def test_a_campaign_that_is_killed_again_and_again_ends_as_if_it_had_not_been(
    tmp_path: Path, undisturbed: State
) -> None:
    wanted = int(os.environ.get("QUINTAIN_KILLS", "20"))
    kills, round_ = 0, 0
    while kills < wanted:
        folder = tmp_path / str(round_)
        folder.mkdir()
        kills += survive(folder, undisturbed, seed=round_)
        round_ += 1
    assert kills >= wanted


def waited_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + HANG_S
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def agents_of(folder: Path) -> list[str]:
    """Processes of agents that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += [path.parent.name] if str(folder / "agent").encode() in path.read_bytes() else []
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_campaign_politely_and_it_goes_on_where_it_was(
    tmp_path: Path, undisturbed: State, number: signal.Signals
) -> None:
    with begun(tmp_path) as process:
        waited_for(lambda: ran(tmp_path).total() >= 6)
        process.send_signal(number)
        said, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 4, said
    assert f"{number.name}: no new trial begins" in said
    assert said.splitlines()[-1] == f"interrupted interrupted by {number.name}"
    directory = directory_of(tmp_path)
    state = state_of(directory)
    assert (state.open, state.status) == ({}, "interrupted")
    assert set(ran(tmp_path)) == {as_agent_tells(trial) for trial in state.settled}
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()
    whole(tmp_path, directory)
    assert decided_with_looks_of(undisturbed, state_of(directory))
    assert set(ran(tmp_path).values()) == {1}
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()


@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_two_signals_end_it_at_once_with_all_its_agents_and_it_goes_on_where_it_was(
    tmp_path: Path, undisturbed: State, number: signal.Signals
) -> None:
    with begun(tmp_path) as process:
        waited_for(lambda: ran(tmp_path).total() >= 6)
        (tmp_path / "ran.slow").touch()
        waited_for(lambda: len(agents_of(tmp_path)) >= 4)
        settled = set(state_of(directory_of(tmp_path)).settled)
        process.send_signal(number)
        time.sleep(0.3)
        process.send_signal(number)
        said, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 4, said
    assert f"{number.name} again: leaving at once" in said
    assert agents_of(tmp_path) == []
    (tmp_path / "ran.slow").unlink()
    directory = directory_of(tmp_path)
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()
    held(tmp_path)
    whole(tmp_path, directory)
    assert decided_with_looks_of(undisturbed, state_of(directory))
    assert all(ran(tmp_path)[as_agent_tells(trial)] == 1 for trial in settled)
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()


def decided_with_looks_of(undisturbed: State, state: State) -> bool:
    """The same was decided; whoever stopped it has looked at what there was once more, but not at the test split."""
    mine, other = state.decision, undisturbed.decision
    assert mine is not None
    assert other is not None
    assert mine.looks["test"] == other.looks["test"] == 1
    same = (mine.verdict, mine.candidate, mine.why, mine.confirmed)
    return same == (other.verdict, other.candidate, other.why, other.confirmed)


@pytest.mark.parametrize("bytes_", [0, 50_000, 100_000, 200_000])
def test_a_disk_that_takes_no_more_is_a_clear_error_and_nothing_is_lost(
    tmp_path: Path, undisturbed: State, bytes_: int
) -> None:
    campaign_in(tmp_path)
    with begun(tmp_path, None, "prlimit", f"--fsize={bytes_}") as process:
        said, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 3, said
    assert "Traceback" not in said
    assert str(tmp_path / "store") in said
    directory = directory_in(tmp_path)
    settled = set(state_of(directory).settled) if directory is not None else set[str]()
    held(tmp_path)
    whole(tmp_path, directory)
    directory = directory_of(tmp_path)
    assert decided_with_looks_of(undisturbed, state_of(directory))
    assert all(ran(tmp_path)[as_agent_tells(trial)] == 1 for trial in settled)
    assert verify(directory, BlobStore(tmp_path / "store" / "blobs")).problems == ()
