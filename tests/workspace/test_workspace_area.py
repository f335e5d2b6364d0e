"""A trial works in private directories that nothing of the host surrounds and that are gone afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from quintain.errors import WorkspaceError
from quintain.workspace import area as areas_module
from quintain.workspace.area import PARTS, Areas, TrialArea, refuse_surroundings, sweep_leftovers
from workspace.trees import plant

pytestmark = pytest.mark.anyio


@pytest.fixture
def areas(tmp_path: Path) -> Areas:
    return Areas(tmp_path)


async def test_nothing_is_made_before_it_is_asked_for(areas: Areas, tmp_path: Path) -> None:
    async with TrialArea(areas) as area:
        assert not area.worked
        assert area.empty
        assert area.made() == ()
        assert list(tmp_path.iterdir()) == []
    areas.close()


async def test_its_directories_are_private_and_have_neutral_names(areas: Areas, tmp_path: Path) -> None:
    async with TrialArea(areas) as area:
        places = [area.work, area.home, area.temp]
        assert [place.stat().st_mode & 0o7777 for place in (*places, area.work.parent)] == [0o700] * 4
        assert len({*places}) == 3
        for place in places:
            assert place.parent.parent == tmp_path
            assert re.search("eval|test|hidden|grad|quintain", str(place.relative_to(tmp_path))) is None
        assert area.made() == (area.work.parent,)


async def test_what_was_used_is_removed(areas: Areas, tmp_path: Path) -> None:
    async with TrialArea(areas) as area:
        plant(area.work, {"a/b": "1"})
        plant(area.home, {".config/x": "1"})
        assert area.worked
        assert not area.empty
    assert area.trash is None
    assert list(tmp_path.iterdir()) == []


async def test_what_was_not_used_serves_again_and_is_removed_at_the_end(areas: Areas, tmp_path: Path) -> None:
    async with TrialArea(areas) as one:
        first = one.work
    async with TrialArea(areas) as two:
        assert two.work == first
        assert list(first.iterdir()) == []
    areas.close()
    assert list(tmp_path.iterdir()) == []


def leave_in_home(area: TrialArea) -> None:
    (area.home / "marker").write_text("x")


def leave_beside(area: TrialArea) -> None:
    (area.work.parent / "marker").write_text("x")


def change_mode(area: TrialArea) -> None:
    area.temp.chmod(0o777)


def take_away(area: TrialArea) -> None:
    area.temp.rmdir()


def replace(area: TrialArea) -> None:
    area.temp.rmdir()
    area.temp.symlink_to("/tmp")


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("act", [leave_in_home, leave_beside, change_mode, take_away, replace])
async def test_one_trial_finds_nothing_of_another(
    areas: Areas, tmp_path: Path, act: Callable[[TrialArea], None], settled: bool
) -> None:
    if settled:
        # As when an area serves for the second time: its stamps are old.
        async with TrialArea(areas) as area:
            assert area.work.exists()
        await anyio.sleep(0.03)
    async with TrialArea(areas) as one:
        first = one.work.parent
        act(one)
    assert not first.exists()
    async with TrialArea(areas) as two:
        assert [sorted(os.listdir(place)) for place in (two.work.parent, two.work, two.home, two.temp)] == [
            sorted(PARTS),
            [],
            [],
            [],
        ]
        assert {place.stat().st_mode & 0o7777 for place in (two.work, two.home, two.temp)} == {0o700}


async def test_a_file_that_is_written_at_once_is_never_overlooked(areas: Areas) -> None:
    # On systems with coarse stamps the directory looks as it was made; its contents decide.
    for _ in range(30):
        async with TrialArea(areas) as area:
            work = area.work
            (work / "answer.txt").write_text("x")
            stamps = area.area._stamps
            stamps[str(work)] = areas_module._stamp(str(work))
            assert not area.empty


async def test_what_can_not_be_removed_is_told(areas: Areas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.unlink

    def unlink(path: str, *, dir_fd: int | None = None) -> None:
        if path == "stuck":
            raise PermissionError(1, os.strerror(1))
        real(path, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", unlink)
        async with TrialArea(areas) as area:
            (area.work / "stuck").write_text("x")
    assert area.trash is not None
    assert area.trash.parent == tmp_path
    assert sweep_leftovers(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys, time
from pathlib import Path
from quintain.workspace.area import Areas
area = Areas(Path(sys.argv[1])).take()
Path(area.root, "work", "left").write_text("x")
print(area.root, flush=True)
time.sleep(600)
"""


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    env = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PATH": os.defpath}
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as holder:
        assert holder.stdout is not None
        root = Path(holder.stdout.readline().strip())
        os.utime(root, (1, 1))
        assert sweep_leftovers(tmp_path) == ()
        assert (root / "work" / "left").exists()
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
    assert sweep_leftovers(tmp_path) == ()
    assert not root.exists()


def test_sweeping_leaves_what_is_young_or_has_another_name(tmp_path: Path) -> None:
    plant(tmp_path, {"quarters-0123456789ab/x": "1", "quarters-old/x": "1", "q-notes/x": "1"})
    (tmp_path / "quarters-aaaaaaaaaaaa").symlink_to("q-notes")
    os.utime(tmp_path / "quarters-old", (1, 1))
    assert sweep_leftovers(tmp_path) == ()
    assert len(list(tmp_path.iterdir())) == 4
    os.utime(tmp_path / "quarters-0123456789ab", (1, 1))
    sweep_leftovers(tmp_path)
    assert not (tmp_path / "quarters-0123456789ab").exists()
    assert (tmp_path / "q-notes" / "x").exists()
    assert sweep_leftovers(tmp_path / "nothing") == ()


@pytest.mark.parametrize("found", [".git", ".hg", "AGENTS.md"])
def test_a_place_inside_a_repository_or_below_instructions_is_refused(tmp_path: Path, found: str) -> None:
    scratch = tmp_path / "a" / "b"
    scratch.mkdir(parents=True)
    refuse_surroundings(scratch)
    (tmp_path / "alias").symlink_to(scratch)
    (tmp_path / "a" / found).mkdir()
    for place in (scratch, tmp_path / "alias"):
        with pytest.raises(WorkspaceError, match=re.escape(found)):
            refuse_surroundings(place)


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no such directory"):
        refuse_surroundings(tmp_path / "nothing")
