"""Fixtures are read once, refused if they are unsafe, and laid out the same for every trial."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from quintain.errors import StoreError, WorkspaceError
from quintain.identity.canonical import digest_bytes
from quintain.identity.files import scan_tree, tree_digest
from quintain.model.limits import Limits
from quintain.model.tree import Entry, Tree
from quintain.workspace.blobs import SMALL, BlobStore
from quintain.workspace.collect import collect
from quintain.workspace.staging import capture_fixtures, overlay, stage
from workspace.trees import as_ordinary_user, deep, ground, plant

PLAIN = {"a.txt": "one", "src/b.py": "two", "src/empty": None, "src/link": "-> ../a.txt", "big.bin": b"x" * (SMALL + 1)}


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


# reading fixtures


def test_a_directory_becomes_a_tree_whose_contents_are_in_the_store(blobs: BlobStore, tmp_path: Path) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", PLAIN), blobs)
    assert list(tree.entries) == ["a.txt", "big.bin", "src", "src/b.py", "src/empty", "src/link"]
    assert blobs.read(tree.entries["a.txt"].digest or "") == b"one"
    assert blobs.read(tree.entries["big.bin"].digest or "") == b"x" * (SMALL + 1)


def test_the_tree_says_what_the_files_say_and_not_how_they_were_checked_out(blobs: BlobStore, tmp_path: Path) -> None:
    trees = []
    for number, mask in enumerate((0o022, 0o077, 0o002)):
        with umask(mask):
            root = plant(tmp_path / str(number), {**PLAIN, "run.sh": "#!/bin/sh\n", "t.txt": "a\r\nb\n"})
            (root / "run.sh").chmod((root / "run.sh").stat().st_mode | 0o100)
            (root / ".gitattributes").write_text("* text=auto eol=crlf\n")
            trees.append(capture_fixtures(root, blobs))
    assert trees[0] == trees[1] == trees[2]
    assert trees[0].entries["run.sh"].mode == 0o755
    assert trees[0].entries["t.txt"].digest == digest_bytes(b"a\r\nb\n")


def test_a_history_stays_behind_unless_it_is_asked_for(blobs: BlobStore, tmp_path: Path) -> None:
    root = plant(
        tmp_path / "fx",
        {".git/objects/aa": "FIXED-42", ".gitignore": "x", "sub/.git": "gitdir: ../.git/modules/sub", "f": "broken"},
    )
    tree = capture_fixtures(root, blobs)
    assert list(tree.entries) == [".gitignore", "f", "sub"]
    assert all(b"FIXED-42" not in path.read_bytes() for path in blobs.root.rglob("*") if path.is_file())
    assert ".git/objects/aa" in capture_fixtures(root, blobs, include_git=True).entries


def test_what_was_read_before_is_not_read_again(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = plant(tmp_path / "fx", PLAIN)
    time.sleep(0.03)
    first = capture_fixtures(root, blobs)
    with monkeypatch.context() as patched:
        patched.setattr("quintain.workspace.staging.open_regular", lambda *a, **o: pytest.fail("a file was opened"))
        assert capture_fixtures(root, blobs) == first
    stamps = (root / "a.txt").stat()
    (root / "a.txt").write_text("eno")
    os.utime(root / "a.txt", ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert capture_fixtures(root, blobs).entries["a.txt"].digest == digest_bytes(b"eno")


def test_links_inside_are_kept_as_links_and_circles_are_not_entered(blobs: BlobStore, tmp_path: Path) -> None:
    links = {"sub/loop": "-> .", "sub/self": "-> self", "sub/up": "-> ..", "dangling": "-> sub/nothing", "to": "-> sub"}
    tree = capture_fixtures(plant(tmp_path / "fx", links), blobs)
    assert {path: entry.target for path, entry in tree.entries.items() if entry.kind == "link"} == {
        path: target[3:] for path, target in links.items()
    }


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"leak": "-> /etc/passwd"}, "leak"),
        ({"sub/up": "-> ../../.."}, "sub/up"),
        ({"peek": "-> ../sibling/answers.yaml"}, "peek"),
        ({"sub/back": "-> ../../fx/a"}, "sub/back"),
        ({"inner/up": "-> ..", "x": "-> inner/up/../secret"}, "x"),
        ({"new\nline": "-> /"}, "new\\nline"),
    ],
)
def test_a_link_that_leads_out_is_refused_by_name(
    blobs: BlobStore, tmp_path: Path, files: dict[str, str], named: str
) -> None:
    (tmp_path / "secret").write_text("SECRET-host")
    with pytest.raises(WorkspaceError, match="leads out of the directory") as raised:
        capture_fixtures(plant(tmp_path / "fx", {**files, "ok": "1"}), blobs)
    assert named in str(raised.value)
    assert str(raised.value).isprintable() or "\n  " in str(raised.value)


def test_special_files_are_refused_by_name_without_being_opened(blobs: BlobStore, tmp_path: Path) -> None:
    root = plant(tmp_path / "fx", {"ok": "1"})
    os.mkfifo(root / "pipe")
    with pytest.raises(WorkspaceError, match="it is a FIFO") as raised:
        capture_fixtures(root, blobs)
    assert raised.value.where == str(root / "pipe")
    (root / "pipe").unlink()
    here = Path.cwd()
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        os.chdir(root)
        listening.bind("sock")
        os.chdir(here)
        with pytest.raises(WorkspaceError, match="it is a socket"):
            capture_fixtures(root, blobs)


def test_a_device_is_refused_by_root_who_alone_can_make_one(blobs: BlobStore, tmp_path: Path) -> None:
    root = plant(tmp_path / "fx", {"ok": "1"})
    if os.geteuid() == 0:
        os.mknod(root / "dev", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    else:
        (root / "dev").symlink_to("/dev/zero")
    with pytest.raises(WorkspaceError, match=r"it is a device|leads out"):
        capture_fixtures(root, blobs)


def test_a_file_that_nobody_may_read_is_refused_for_root_too(blobs: BlobStore, tmp_path: Path) -> None:
    root = plant(tmp_path / "fx", {"ok": "1", "locked": "2"})
    (root / "locked").chmod(0)
    with pytest.raises(WorkspaceError, match="nobody may read it"):
        capture_fixtures(root, blobs)


def test_an_ordinary_user_is_told_of_all_that_can_not_be_read() -> None:
    with ground() as place:

        def capture() -> str:
            root = plant(place / "fx", {"closed/a": "1", "locked": "2", "ok": "3"})
            (root / "closed").chmod(0)
            (root / "locked").chmod(0)
            try:
                capture_fixtures(root, BlobStore(place / "blobs"))
            except WorkspaceError as error:
                return str(error)
            raise AssertionError("it was taken")

        message = as_ordinary_user(capture)
    assert "2 things" in message
    assert "closed: unreadable: Permission denied" in message
    assert "locked: nobody may read it" in message


def test_many_problems_are_counted_and_some_are_named(blobs: BlobStore, tmp_path: Path) -> None:
    root = plant(tmp_path / "fx", {f"l{number:02}": "-> /x" for number in range(30)})
    with pytest.raises(WorkspaceError, match="30 things") as raised:
        capture_fixtures(root, blobs)
    assert "l00: " in raised.value.message
    assert "and 20 more" in raised.value.message


def test_a_fixture_of_absurd_size_is_refused_without_being_read(blobs: BlobStore, tmp_path: Path) -> None:
    root = plant(tmp_path / "fx", {"ok": "1"})
    with (root / "big.img").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(WorkspaceError, match=str(1 << 40)):
        capture_fixtures(root, blobs)


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_fixtures_are_a_directory(blobs: BlobStore, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match="no such directory"):
        capture_fixtures(tmp_path / name, blobs)


def test_a_fixture_directory_may_be_a_link(blobs: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(plant(tmp_path / "fx", PLAIN))
    assert next(iter(capture_fixtures(tmp_path / "alias", blobs).entries)) == "a.txt"


def test_a_fixture_that_changes_while_it_is_read_is_refused(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = plant(tmp_path / "fx", {"a.txt": "one"})
    real = blobs.put_open

    def put_open(fd: int, size: int, *, limit: int | None = None) -> tuple[str, int] | None:
        kept = real(fd, size, limit=limit)
        with (root / "a.txt").open("a") as file:
            file.write("more")
        return kept

    monkeypatch.setattr(blobs, "put_open", put_open)
    with pytest.raises(WorkspaceError, match="changed while it was read"):
        capture_fixtures(root, blobs)


def test_a_store_that_is_full_is_no_fault_of_the_fixtures(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = plant(tmp_path / "fx", {"a.txt": "one"})

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StoreError, match="3 bytes can't be kept"):
            capture_fixtures(root, blobs)


# laying them out


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000, 0o027])
def test_what_is_laid_out_is_what_was_read_whatever_the_umask(blobs: BlobStore, tmp_path: Path, mask: int) -> None:
    root = plant(tmp_path / "fx", {**PLAIN, "run.sh": "#!/bin/sh\n"})
    (root / "run.sh").chmod(0o755)
    (root / "a.txt").chmod(0o444)
    tree = capture_fixtures(root, blobs)
    with umask(mask):
        stage(tree, blobs, tmp_path / "work")
    assert tree_digest(scan_tree(tmp_path / "work")) == tree_digest(tree)
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (tmp_path / "work").rglob("*")}
    assert modes["a.txt"] == 0o644
    assert modes["run.sh"] == 0o755
    assert modes["src"] == modes["empty"] == 0o755


def test_each_trial_starts_from_the_same_whatever_the_last_one_did(blobs: BlobStore, tmp_path: Path) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", PLAIN), blobs)
    for number in range(3):
        work = tmp_path / f"work{number}"
        stage(tree, blobs, work)
        assert tree_digest(scan_tree(work)) == tree_digest(tree)
        for path in (work / "a.txt", work / "big.bin", work / "src" / "b.py"):
            path.write_text("spoilt")
        (work / "try").write_text("x")
    assert (tmp_path / "fx" / "a.txt").read_text() == "one"


def test_what_was_staged_and_not_touched_has_no_changes(blobs: BlobStore, tmp_path: Path) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", PLAIN), blobs)
    staged = stage(tree, blobs, tmp_path / "work")
    assert collect(tmp_path / "work", staged, blobs, Limits()).changes == ()
    time.sleep(0.03)
    assert collect(tmp_path / "work", staged, blobs, Limits()).changes == ()


@pytest.mark.parametrize(("levels", "name"), [(300, "d"), (40, "n" * 200)])
def test_deep_trees_are_read_and_laid_out(blobs: BlobStore, tmp_path: Path, levels: int, name: str) -> None:
    (tmp_path / "fx").mkdir()
    deep(tmp_path / "fx", levels, name)
    tree = capture_fixtures(tmp_path / "fx", blobs)
    staged = stage(tree, blobs, tmp_path / "work")
    assert scan_tree(tmp_path / "work").entries.keys() == tree.entries.keys()
    assert collect(tmp_path / "work", staged, blobs, Limits()).changes == ()


def test_only_an_empty_directory_is_laid_out_in(blobs: BlobStore, tmp_path: Path) -> None:
    plant(tmp_path / "work", {"old": "x"})
    with pytest.raises(WorkspaceError, match="empty directory"):
        stage(Tree(), blobs, tmp_path / "work")
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    with pytest.raises((OSError, WorkspaceError)):
        stage(Tree(), blobs, tmp_path / "alias")


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "a//x", ".", "a/.", "a\0"])
def test_a_tree_can_not_lead_out_of_the_directory(blobs: BlobStore, tmp_path: Path, path: str) -> None:
    entry = Entry("file", 0o644, 1, blobs.put_bytes(b"x"))
    with pytest.raises(WorkspaceError, match="no path inside"):
        stage(Tree({path: entry}), blobs, tmp_path / "in" / "work")
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["work"]


def test_directories_that_a_tree_only_implies_are_made(blobs: BlobStore, tmp_path: Path) -> None:
    stage(Tree({"a/b/c": Entry("file", 0o644, 1, blobs.put_bytes(b"x"))}), blobs, tmp_path / "work")
    assert (tmp_path / "work" / "a" / "b" / "c").read_bytes() == b"x"


def test_no_mode_lets_a_program_run_as_somebody_else(blobs: BlobStore, tmp_path: Path) -> None:
    stage(Tree({"x": Entry("file", 0o6755, 1, blobs.put_bytes(b"x"))}), blobs, tmp_path / "work")
    assert stat.S_IMODE((tmp_path / "work" / "x").stat().st_mode) == 0o755


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(b"eno")])
def test_a_content_that_is_gone_or_damaged_is_never_laid_out(
    blobs: BlobStore, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", {"a.txt": "one"}), blobs)
    spoil(blobs.path(tree.entries["a.txt"].digest or ""))
    with pytest.raises(StoreError, match=r"not in the store|damaged"):
        stage(tree, blobs, tmp_path / "work")


def test_a_disk_that_is_full_is_told_with_the_place(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", PLAIN), blobs)

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match=str(tmp_path / "work")) as raised:
            stage(tree, blobs, tmp_path / "work")
    assert raised.value.errno == errno.ENOSPC


def test_names_of_any_bytes_are_laid_out(blobs: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "fx").mkdir()
    for name in (b"new\nline", b"\xff\xfe", b"-rf", b"x" * 255, "e\u0301".encode(), "é".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/fx/" + name)).write_bytes(name)
    stage(capture_fixtures(tmp_path / "fx", blobs), blobs, tmp_path / "work")
    assert scan_tree(tmp_path / "work") == scan_tree(tmp_path / "fx")


# one tree over another


def file(content: bytes) -> Entry:
    return Entry("file", 0o644, len(content), digest_bytes(content))


FOLDER = Entry("directory", 0o755)


@pytest.mark.parametrize(
    ("under", "over", "expected"),
    [
        ({"a": file(b"1")}, {"b": file(b"2")}, {"a": file(b"1"), "b": file(b"2")}),
        ({"a": file(b"1")}, {"a": file(b"2")}, {"a": file(b"2")}),
        (
            {"a": Entry("link", 0o777, target="/etc")},
            {"a": FOLDER, "a/b": file(b"2")},
            {"a": FOLDER, "a/b": file(b"2")},
        ),
        ({"a": Entry("link", 0o777, target="/etc")}, {"a/b": file(b"2")}, {"a": FOLDER, "a/b": file(b"2")}),
        ({"a": FOLDER, "a/b": file(b"1"), "ab": file(b"3")}, {"a": file(b"2")}, {"a": file(b"2"), "ab": file(b"3")}),
        (
            {"a": FOLDER, "a/b": file(b"1")},
            {"a": FOLDER, "a/c": file(b"2")},
            {"a": FOLDER, "a/b": file(b"1"), "a/c": file(b"2")},
        ),
        ({"a": file(b"1")}, {"a/b/c": file(b"2")}, {"a": FOLDER, "a/b/c": file(b"2")}),
    ],
)
def test_a_tree_is_laid_over_another(
    under: dict[str, Entry], over: dict[str, Entry], expected: dict[str, Entry]
) -> None:
    found = overlay(Tree(under), Tree(over))
    assert found == Tree(expected)
    assert list(found.entries) == sorted(found.entries)


def test_a_copy_by_other_means_is_the_same_tree(blobs: BlobStore, tmp_path: Path) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", PLAIN), blobs)
    shutil.copytree(tmp_path / "fx", tmp_path / "copy", symlinks=True)
    assert capture_fixtures(tmp_path / "copy", BlobStore(tmp_path / "others")) == tree
