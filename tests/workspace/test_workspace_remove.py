"""Removing takes all of it, nothing else, and what resists is put away and told."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from quintain.identity import walk
from quintain.workspace import remove
from quintain.workspace.remove import TRASH, remove_tree, sweep_trash
from workspace.trees import as_ordinary_user, deep, ground, plant


def test_everything_is_removed(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", {"a": "1", "b/c/d": "2", "e": None, "l": "-> /etc", "b/m": "-> ../a"})
    os.mkfifo(root / "pipe")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff\n")).write_bytes(b"")
    assert remove_tree(root) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("levels", "name"), [(300, "d"), (60, "n" * 200), (1500, "d")])
def test_depth_has_no_end(tmp_path: Path, levels: int, name: str) -> None:
    (tmp_path / "t").mkdir()
    deep(tmp_path / "t", levels, name)
    assert remove_tree(tmp_path / "t") is None
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_what_they_lead_to_stays(tmp_path: Path) -> None:
    outside = plant(tmp_path / "outside", {"precious": "x", "d/precious": "y"})
    root = plant(tmp_path / "t", {"a": f"-> {outside}", "b": "-> ../outside/precious", "c": "-> ../outside/d"})
    assert remove_tree(root) is None
    assert (outside / "precious").read_text() == "x"
    assert (outside / "d" / "precious").read_text() == "y"
    (tmp_path / "link").symlink_to(outside)
    assert remove_tree(tmp_path / "link") is None
    assert (outside / "precious").exists()
    assert not (tmp_path / "link").is_symlink()


def test_a_single_file_and_nothing_at_all_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    assert remove_tree(tmp_path / "f") is None
    assert remove_tree(tmp_path / "f") is None
    assert remove_tree(tmp_path / "no" / "such") is None


def test_an_ordinary_users_locked_directories_are_unlocked() -> None:
    with ground() as place:

        def work() -> list[str]:
            root = plant(place / "t", {"a/b/c": "1", "r/s/t": "2", "x": "3"})
            deep(root, 300)
            (root / "x").chmod(0)
            (root / "a" / "b").chmod(0)
            (root / "a").chmod(0o500)
            (root / "r" / "s").chmod(0o400)
            root.chmod(0)
            assert remove_tree(root) is None
            return os.listdir(place)

        assert as_ordinary_user(work) == []


def test_a_file_may_keep_its_mode_and_other_hard_links_keep_it(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    (tmp_path / "mine").chmod(0o400)
    (tmp_path / "t").mkdir()
    os.link(tmp_path / "mine", tmp_path / "t" / "linked")
    assert remove_tree(tmp_path / "t") is None
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o400
    assert (tmp_path / "mine").read_text() == "x"


def resist(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make one file as immutable as a file system can."""
    real = os.unlink

    def unlink(path: str, *, dir_fd: int | None = None) -> None:
        if path == name:
            raise PermissionError(1, os.strerror(1))
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)


def test_what_resists_is_put_away_told_and_swept_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = plant(tmp_path / "t", {"a/stuck": "1", "a/other": "2", "b/c": "3"})
    with monkeypatch.context() as patched:
        resist(patched, "stuck")
        trash = remove_tree(root)
        assert trash is not None
        assert trash.parent == tmp_path
        assert trash.name.startswith(TRASH)
        assert not root.exists()
        assert [path.relative_to(trash).as_posix() for path in sorted(trash.rglob("*"))] == ["a", "a/stuck"]
        assert sweep_trash(tmp_path) == (trash,)
    assert sweep_trash(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_sweeping_takes_nothing_that_is_not_labelled(tmp_path: Path) -> None:
    names = [TRASH, f"{TRASH}short", f"x{TRASH}{'0' * 16}", "work"]
    plant(tmp_path, {f"{name}/f": "x" for name in names})
    (tmp_path / f"{TRASH}{'1' * 16}").symlink_to("work")
    assert sweep_trash(tmp_path) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert (tmp_path / "work" / "f").exists()
    assert sweep_trash(tmp_path / "nothing") == ()


def test_another_users_trash_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = plant(tmp_path / f"{TRASH}{'0' * 16}", {"f": "x"})
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    assert sweep_trash(tmp_path) == ()
    assert (place / "f").exists()


def test_a_directory_that_becomes_a_link_while_it_is_removed_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = plant(tmp_path / "outside", {"precious": "x"})
    root = plant(tmp_path / "t", {"a/b/f": "1", "a/b/d/g": "2"})
    real = walk.open_beneath

    def open_beneath(top: int, path: str, *flags: int) -> int:
        if path == "a/b":
            (root / "a").rename(root / "moved")
            (root / "a").symlink_to(outside.parent / "decoy")
            plant(outside.parent / "decoy" / "b", {"precious": "x"})
            monkeypatch.setattr(remove, "open_beneath", real)
        return real(top, path, *flags)

    monkeypatch.setattr(remove, "open_beneath", open_beneath)
    remove_tree(root)
    assert (outside.parent / "decoy" / "b" / "precious").read_text() == "x"


def test_what_is_mounted_inside_is_not_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = plant(tmp_path / "t", {"mounted/precious": "1", "own": "2"})
    mounted = (root / "mounted").stat().st_ino
    real = os.fstat

    def fstat(fd: int) -> os.stat_result:
        seen = real(fd)
        return os.stat_result((*seen[:2], seen.st_dev + (seen.st_ino == mounted), *seen[3:10]))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", fstat)
        trash = remove_tree(root)
    assert trash is not None
    assert (trash / "mounted" / "precious").read_text() == "1"
    assert not (trash / "own").exists()


def test_many_files_are_removed_as_fast_as_others_do_it(tmp_path: Path) -> None:
    files = {f"d{number % 40}/f{number}": "x" for number in range(2000)}
    plant(tmp_path / "ours", files)
    plant(tmp_path / "theirs", files)
    began = time.perf_counter()
    assert remove_tree(tmp_path / "ours") is None
    ours = time.perf_counter() - began
    began = time.perf_counter()
    subprocess.run(["rm", "-r", str(tmp_path / "theirs")], check=True)
    assert ours < 20 * (time.perf_counter() - began) + 1
