"""The system tells of every change that a look at all files would find; a look at all files is the reference."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.identity import notices as module
from quintain.identity.files import differing, scan_tree
from quintain.identity.notices import Notices

NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a"])


def _make(root: Path) -> None:
    for name in ("a", "d/a", "d/e/a"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def _write(root: Path, one: str, other: str) -> None:
    (root / one).write_bytes(os.urandom(3))


def _append(root: Path, one: str, other: str) -> None:
    with (root / one).open("ab") as file:
        file.write(b"x")


def _in_place(root: Path, one: str, other: str) -> None:
    with (root / one).open("r+b") as file:
        file.write(os.urandom(1))


def _by_memory(root: Path, one: str, other: str) -> None:
    with (root / one).open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] = os.urandom(1)[0]


def _rename(root: Path, one: str, other: str) -> None:
    (root / one).replace(root / other)


def _rename_folder(root: Path, one: str, other: str) -> None:
    (root / "d").rename(root / "moved")


def _link(root: Path, one: str, other: str) -> None:
    os.link(root / one, root / other)


def _through_a_name_outside(root: Path, one: str, other: str) -> None:
    outside = root.with_name(f"{root.name}-outside")
    os.link(root / one, outside)
    outside.write_bytes(os.urandom(2))
    outside.unlink()


def _remove(root: Path, one: str, other: str) -> None:
    (root / one).unlink()


def _remove_folder(root: Path, one: str, other: str) -> None:
    shutil.rmtree(root / "d")


def _mode(root: Path, one: str, other: str) -> None:
    path = root / one
    path.chmod(path.stat().st_mode ^ 0o100)


def _truncate(root: Path, one: str, other: str) -> None:
    os.truncate(root / one, 1)


def _folder(root: Path, one: str, other: str) -> None:
    (root / "d" / "new" / "deep").mkdir(parents=True)
    (root / "d" / "new" / "deep" / "a").write_bytes(b"new")


def _symlink(root: Path, one: str, other: str) -> None:
    (root / one).symlink_to(other)


def _copy_range(root: Path, one: str, other: str) -> None:
    with (root / one).open("rb") as source, (root / other).open("r+b") as target:
        os.copy_file_range(source.fileno(), target.fileno(), 100)


def _read(root: Path, one: str, other: str) -> None:
    (root / one).read_bytes()


STEPS = [
    _write,
    _append,
    _in_place,
    _by_memory,
    _rename,
    _rename_folder,
    _link,
    _through_a_name_outside,
    _remove,
    _remove_folder,
    _mode,
    _truncate,
    _folder,
    _symlink,
    _copy_range,
    _read,
]
Step = Callable[[Path, str, str], None]


@settings(max_examples=120)
@given(st.lists(st.tuples(st.sampled_from(STEPS), NAMES, NAMES), max_size=8))
def test_quiet_means_that_a_look_at_everything_finds_nothing(steps: list[tuple[Step, str, str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        _make(root)
        notices = Notices()
        assert notices.watch(root)
        before = scan_tree(root)
        for step, one, other in steps:
            with suppress(OSError, ValueError):  # there may be nothing to do it to
                step(root, one, other)
            after = scan_tree(root)
            if differing(before, after):
                assert not notices.quiet()
            assert notices.watch(root)
            notices.quiet()
            before = scan_tree(root)
        notices.close()


def test_reading_is_no_alarm(tmp_path: Path) -> None:
    _make(tmp_path)
    notices = Notices()
    assert notices.watch(tmp_path)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.read_bytes()
    scan_tree(tmp_path)
    assert notices.quiet()
    notices.close()


def test_an_alarm_is_told_once(tmp_path: Path) -> None:
    _make(tmp_path)
    notices = Notices()
    notices.watch(tmp_path)
    (tmp_path / "a").write_bytes(b"x")
    assert not notices.quiet()
    assert notices.quiet()
    notices.close()


def test_what_another_process_does_is_told_when_it_has_done_it(tmp_path: Path) -> None:
    _make(tmp_path)
    notices = Notices()
    notices.watch(tmp_path)
    subprocess.run([sys.executable, "-c", f"open({str(tmp_path / 'd/e/a')!r}, 'ab').write(b'x')"], check=True)
    assert not notices.quiet()
    notices.close()


def test_more_events_than_the_system_keeps_are_an_alarm(tmp_path: Path) -> None:
    _make(tmp_path)
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    notices = Notices()
    notices.watch(tmp_path)
    with (tmp_path / "a").open("r+b", buffering=0) as one, (tmp_path / "d/a").open("r+b", buffering=0) as other:
        for _ in range(most // 2):
            one.write(b"x")
            other.write(b"x")
    assert not notices.quiet()
    assert notices.quiet()
    notices.close()


def test_what_is_ignored_is_not_watched(tmp_path: Path) -> None:
    _make(tmp_path)
    notices = Notices()
    assert notices.watch(tmp_path, ignore=lambda path: path == "d/e")
    (tmp_path / "d/e/a").write_bytes(b"x")
    assert notices.quiet()
    (tmp_path / "d/a").write_bytes(b"x")
    assert not notices.quiet()
    notices.close()


def test_a_link_to_a_directory_is_watched_where_it_leads(tmp_path: Path) -> None:
    _make(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    notices = Notices()
    assert notices.watch(tmp_path / "link")
    (tmp_path / "real" / "a").write_bytes(b"x")
    assert not notices.quiet()
    notices.close()


def test_a_directory_that_is_not_there_is_not_watched(tmp_path: Path) -> None:
    notices = Notices()
    assert not notices.watch(tmp_path / "nothing")
    notices.close()


def test_a_file_system_that_others_write_to_is_not_watched() -> None:
    notices = Notices()
    assert not notices.watch(Path("/proc/self/fd"))
    notices.close()


def test_too_much_is_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(tmp_path)
    monkeypatch.setattr(module, "MOST_WATCHES", 3)
    notices = Notices()
    assert not notices.watch(tmp_path)
    notices.close()


def test_no_file_is_left_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Notices().close()
    notices = Notices()
    notices.close()
    notices.close()
    assert set(os.listdir("/proc/self/fd")) == before


def test_another_system_says_that_it_can_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="only read on Linux"):
        Notices()
