"""A tree that somebody else made is looked at without being led astray, and its digest is of what it says."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from quintain.errors import WorkspaceError
from quintain.identity.cache import DigestCache, settled, stamp_clock_ns
from quintain.identity.canonical import digest_bytes
from quintain.identity.files import differing, digest_file, scan_tree, tree_digest
from quintain.model.codec import from_plain, to_plain
from quintain.model.tree import Entry, Tree
from workspace.trees import as_ordinary_user, deep, ground, plant

PLAIN = {"a.txt": "one", "src/b.py": "two", "src/empty": None, "src/link": "-> ../a.txt"}


def test_a_tree_lists_every_path_in_order(tmp_path: Path) -> None:
    tree = scan_tree(plant(tmp_path / "t", PLAIN))
    assert list(tree.entries) == ["a.txt", "src", "src/b.py", "src/empty", "src/link"]
    assert tree.entries["a.txt"].digest == digest_bytes(b"one")
    assert tree.entries["a.txt"].size == 3
    assert tree.entries["src/link"] == Entry("link", 0o777, target="../a.txt")
    assert tree.entries["src/empty"].kind == "directory"


def test_moving_or_copying_a_tree_does_not_change_its_digest(tmp_path: Path) -> None:
    first = plant(tmp_path / "one", PLAIN)
    before = tree_digest(scan_tree(first))
    shutil.copytree(first, tmp_path / "deep" / "er" / "two", symlinks=True)
    other = plant(tmp_path / "three", dict(reversed(list(PLAIN.items()))))
    (other / "a.txt").chmod(0o600)
    (other / "src").chmod(0o700)
    os.utime(other / "a.txt", (1, 1))
    assert tree_digest(scan_tree(tmp_path / "deep" / "er" / "two")) == before
    assert tree_digest(scan_tree(other)) == before


@pytest.mark.parametrize(
    "edit",
    [
        lambda root: (root / "a.txt").write_text("onf"),
        lambda root: (root / "a.txt").chmod(0o755),
        lambda root: (root / "a.txt").rename(root / "A.txt"),
        lambda root: (root / "src" / "empty").rmdir(),
        lambda root: (root / "src" / "new").mkdir(),
        lambda root: [(root / "src" / "link").unlink(), (root / "src" / "link").symlink_to("b.py")],
        lambda root: [(root / "src" / "link").unlink(), (root / "src" / "link").write_text("one")],
    ],
)
def test_any_difference_that_matters_changes_the_digest(tmp_path: Path, edit: Callable[[Path], object]) -> None:
    root = plant(tmp_path / "t", PLAIN)
    before = scan_tree(root)
    edit(root)
    after = scan_tree(root)
    assert tree_digest(after) != tree_digest(before)
    assert differing(before, after)


def test_the_difference_of_two_trees_names_its_paths(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", PLAIN)
    before = scan_tree(root)
    (root / "a.txt").write_text("other")
    (root / "src" / "empty").rmdir()
    (root / "src" / "b.py").chmod(0o600)
    (root / "z").mkdir()
    assert differing(before, scan_tree(root)) == ("a.txt", "src/empty", "z")
    assert differing(before, before) == ()


def test_bytes_are_taken_as_they_are(tmp_path: Path) -> None:
    files = {"t.txt": b"a\r\nb\n", ".gitattributes": b"* text=auto eol=crlf\n"}
    tree = scan_tree(plant(tmp_path / "t", files))
    assert tree.entries["t.txt"].digest == digest_bytes(b"a\r\nb\n")


def test_special_files_are_listed_and_never_opened(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", {"ok.txt": "1"})
    os.mkfifo(root / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        here = Path.cwd()
        os.chdir(root)
        listening.bind("sock")
        os.chdir(here)
        kinds = {path: entry.kind for path, entry in scan_tree(root).entries.items()}
    assert kinds == {"ok.txt": "file", "pipe": "special", "sock": "special"}


def test_a_terabyte_of_nothing_is_not_read(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", {"small": "1"})
    with (root / "big.img").open("wb") as file:
        file.truncate(1 << 40)
    entry = scan_tree(root).entries["big.img"]
    assert (entry.size, entry.digest) == (1 << 40, None)
    assert entry.allocated is not None
    assert entry.allocated < 1 << 20
    assert entry.omitted is not None
    assert "limit" in entry.omitted


def test_names_of_any_bytes_come_back_from_json_as_they_were(tmp_path: Path) -> None:
    names = [b"new\nline", b"\xff\xfe.bin", b"-rf", b"a\"b'c`d", b"\xe2\x80\xae.txt", b" lead", b"C:colon", b"x" * 255]
    names += ["e\u0301".encode(), "é".encode()]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"1")
    tree = scan_tree(tmp_path)
    assert sorted(os.fsencode(path) for path in tree.entries) == sorted(names)
    again = from_plain(to_plain(tree), Tree)
    assert again == tree
    assert tree_digest(again) == tree_digest(tree)


@pytest.mark.parametrize(("levels", "name"), [(300, "d"), (40, "n" * 200)])
def test_depth_has_no_end_and_costs_no_file_handles(tmp_path: Path, levels: int, name: str) -> None:
    deep(tmp_path, levels, name)
    handles: list[int] = []

    def count(path: str) -> bool:
        handles.append(len(os.listdir("/dev/fd")))
        return False

    tree = scan_tree(tmp_path, ignore=count)
    assert "/".join([name] * levels + ["end.txt"]) in tree.entries
    assert max(handles) - min(handles) <= 2


def test_links_are_not_followed_wherever_they_lead(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    links = {"loop": "-> .", "up": "-> ../..", "out": "-> ../outside", "self": "-> self", "none": "-> nowhere"}
    tree = scan_tree(plant(tmp_path / "t", links))
    assert {entry.kind for entry in tree.entries.values()} == {"link"}
    assert len(tree.entries) == 5


def test_a_root_may_be_a_link_and_must_be_a_directory(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", PLAIN)
    (tmp_path / "alias").symlink_to(root)
    assert scan_tree(tmp_path / "alias") == scan_tree(root)
    with pytest.raises(WorkspaceError, match="no such directory"):
        scan_tree(root / "a.txt")
    with pytest.raises(WorkspaceError, match="no such directory"):
        scan_tree(root / "nothing")


def test_what_is_ignored_is_not_entered(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", {"node_modules/x/y.js": "1", "a.js": "2"})
    asked: list[str] = []

    def ignore(path: str) -> bool:
        asked.append(path)
        return path == "node_modules"

    tree = scan_tree(root, ignore=ignore)
    assert list(tree.entries) == ["a.js"]
    assert "node_modules/x" not in asked


def test_an_ordinary_user_learns_what_could_not_be_read_and_gets_the_rest() -> None:
    with ground() as place:

        def look() -> dict[str, str | None]:
            root = plant(place / "t", {"open.txt": "1", "locked.txt": "2", "closed/in.txt": "3", "listed/in.txt": "4"})
            (root / "locked.txt").chmod(0)
            (root / "closed").chmod(0)
            (root / "listed").chmod(0o400)
            return {path: entry.omitted for path, entry in scan_tree(root).entries.items()}

        found = as_ordinary_user(look)
    assert found.pop("open.txt") is None
    assert set(found) == {"locked.txt", "closed", "listed"}
    assert all(why and "denied" in why for why in found.values())


# while somebody else writes


def swap_when_seen(name: str, swap: Callable[[], object]) -> Callable[[str], bool]:
    def ignore(path: str) -> bool:
        if path == name:
            swap()
        return False

    return ignore


def test_a_directory_that_becomes_a_link_after_it_was_listed_is_not_followed(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", {"inner/a.txt": "1"})
    outside = plant(tmp_path / "outside", {"secret": "s"})

    def swap() -> None:
        (root / "inner").rename(tmp_path / "gone")
        (root / "inner").symlink_to(outside)

    tree = scan_tree(root, ignore=swap_when_seen("inner", swap))
    assert list(tree.entries) == ["inner"]
    assert tree.entries["inner"].omitted is not None


def test_another_directory_in_the_place_of_the_one_that_was_listed_is_not_entered(tmp_path: Path) -> None:
    root = plant(tmp_path / "t", {"inner/deep/a.txt": "1"})
    plant(tmp_path / "outside", {"deep/secret": "s"})

    def swap() -> None:
        (root / "inner").rename(tmp_path / "gone")
        (root / "inner").symlink_to(tmp_path / "outside")

    tree = scan_tree(root, ignore=swap_when_seen("inner/deep", swap))
    assert "inner/deep/secret" not in tree.entries
    assert tree.entries["inner/deep"].omitted == "unreadable: replaced while it was looked at"


@pytest.mark.parametrize("by", ["fifo", "link", "other"])
def test_a_file_that_is_replaced_after_it_was_listed_is_not_taken_for_it(tmp_path: Path, by: str) -> None:
    root = plant(tmp_path / "t", {"a.txt": "one"})
    (tmp_path / "secret").write_text("two")

    def swap() -> None:
        (root / "a.txt").unlink()
        if by == "fifo":
            os.mkfifo(root / "a.txt")
        elif by == "link":
            (root / "a.txt").symlink_to(tmp_path / "secret")
        else:
            (tmp_path / "secret").rename(root / "a.txt")

    entry = scan_tree(root, ignore=swap_when_seen("a.txt", swap)).entries["a.txt"]
    assert entry.digest is None
    assert entry.omitted is not None


def test_what_is_mounted_inside_is_named_and_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = plant(tmp_path / "t", {"mounted/a.txt": "1", "own.txt": "2"})
    real = os.fstat

    def fstat(fd: int) -> os.stat_result:
        seen = real(fd)
        return os.stat_result((*seen[:2], seen.st_dev + (seen.st_ino == root.stat().st_ino), *seen[3:10]))

    # The root is made to look like another device, so that everything in it lies on another one.
    monkeypatch.setattr(os, "fstat", fstat)
    tree = scan_tree(root)
    assert tree.entries["mounted"].omitted == "unreadable: on another file system"
    assert "mounted/a.txt" not in tree.entries


# digests that are known


def settle() -> None:
    time.sleep(0.03)


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"one")
    settle()
    cache = DigestCache()
    assert cache.find(file.stat()) is None
    assert cache.digest_file(file) == digest_bytes(b"one")
    assert cache.find(file.stat()) == digest_bytes(b"one")
    stamps = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert file.stat().st_mtime_ns == stamps.st_mtime_ns
    assert cache.digest_file(file) == digest_bytes(b"two")


def test_a_mode_that_changed_makes_it_look_again(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"one")
    settle()
    cache = DigestCache()
    cache.digest_file(file)
    file.chmod(0o700)
    assert cache.find(file.stat()) is None


def test_a_file_so_fresh_that_a_later_write_could_leave_the_same_stamps_is_not_remembered() -> None:
    now = stamp_clock_ns()
    assert not settled(now, now)
    assert settled(now - 1, now)
    # Where stamps are whole seconds, so is what can be told apart.
    whole = now - now % 1_000_000_000
    assert not settled(whole, now)
    assert settled(whole - 3_000_000_000, now)


def test_what_is_written_now_is_never_stamped_earlier_than_the_clock_said(tmp_path: Path) -> None:
    for number in range(50):
        clock = stamp_clock_ns()
        (tmp_path / str(number)).write_bytes(b"")
        assert (tmp_path / str(number)).stat().st_ctime_ns >= clock


def test_a_cache_outlives_the_process_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"one")
    settle()
    cache = DigestCache()
    cache.digest_file(file)
    place = tmp_path / "digests.json"
    cache.save(place)
    cache.save(place)
    assert place.stat().st_mode & 0o777 == 0o600
    assert DigestCache.load(place).find(file.stat()) == digest_bytes(b"one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digests.json", "tool"]


@pytest.mark.parametrize("stored", [b"", b"{", b"[]", b'{"format":1}', b'{"format":1,"files":[[1]]}', b'{"format":9}'])
def test_a_damaged_cache_is_an_empty_one(tmp_path: Path, stored: bytes) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"one")
    place = tmp_path / "digests.json"
    place.write_bytes(stored)
    assert DigestCache.load(place).find(file.stat()) is None
    assert DigestCache.load(tmp_path / "nothing").find(file.stat()) is None


def test_the_digest_of_a_file_follows_links_and_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"one")
    (tmp_path / "alias").symlink_to("tool")
    os.mkfifo(tmp_path / "pipe")
    assert digest_file(tmp_path / "alias") == digest_bytes(b"one")
    for name in ("pipe", "."):
        with pytest.raises(WorkspaceError, match="no regular file"):
            digest_file(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        digest_file(tmp_path / "nothing")


def test_large_files_are_digested_in_pieces(tmp_path: Path) -> None:
    for size in ((1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 7):
        data = os.urandom(4096) * (size // 4096) + b"x" * (size % 4096)
        (tmp_path / "f").write_bytes(data)
        assert digest_file(tmp_path / "f") == digest_bytes(data)
