"""The change set is what a full comparison would find, whatever an agent leaves behind."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.identity.cache import key_of
from quintain.identity.canonical import digest_bytes
from quintain.identity.files import scan_tree
from quintain.model.codec import from_plain, to_plain
from quintain.model.limits import Limits
from quintain.model.tree import Change, ChangeSet, Tree
from quintain.redaction import Redactor
from quintain.workspace import collect as collecting
from quintain.workspace.blobs import BlobStore, DiskError
from quintain.workspace.collect import collect
from quintain.workspace.evidence import Files
from quintain.workspace.staging import Staged, capture_fixtures, stage
from workspace.trees import as_ordinary_user, deep, ground, plant

FIXTURES = {
    "keep.txt": "keep",
    "gone.txt": "gone",
    "old.txt": "moved",
    "src/a.py": "one",
    "src/run": "x",
    "empty": None,
}


class Bench:
    """A store and a workspace that fixtures were staged in."""

    def __init__(self, place: Path, files: dict[str, str | bytes | None] | None = None) -> None:
        self.blobs = BlobStore(place / "blobs")
        self.work = place / "work"
        tree = capture_fixtures(plant(place / "fx", FIXTURES if files is None else files), self.blobs)
        self.staged = stage(tree, self.blobs, self.work)

    def collect(self, limits: Limits | None = None, **options: object) -> ChangeSet:
        limits = limits or Limits()
        return collect(self.work, self.staged, self.blobs, limits, **options)  # type: ignore[arg-type]

    def changes(self, limits: Limits | None = None, **options: object) -> dict[str, Change]:
        return {change.path: change for change in self.collect(limits, **options).changes}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def kinds(changes: dict[str, Change]) -> dict[str, str]:
    return {path: change.kind for path, change in changes.items()}


# what is found


def test_deleting_renaming_and_changing_only_a_mode_are_all_changes(bench: Bench) -> None:
    (bench.work / "gone.txt").unlink()
    (bench.work / "old.txt").rename(bench.work / "new.txt")
    (bench.work / "src" / "run").chmod(0o755)
    found = bench.changes()
    assert kinds(found) == {
        "gone.txt": "deleted",
        "new.txt": "added",
        "old.txt": "deleted",
        "src/run": "modified",
    }
    mode_only = found["src/run"]
    assert mode_only.before is not None
    assert mode_only.after is not None
    assert mode_only.before.digest == mode_only.after.digest
    assert (mode_only.before.mode, mode_only.after.mode) == (0o644, 0o755)


def test_contents_are_kept(bench: Bench) -> None:
    (bench.work / "keep.txt").write_text("other")
    (bench.work / "dir").mkdir()
    (bench.work / "dir" / "new.bin").write_bytes(b"\0\xff")
    found = bench.changes()
    assert kinds(found) == {"dir": "added", "dir/new.bin": "added", "keep.txt": "modified"}
    for path, data in (("keep.txt", b"other"), ("dir/new.bin", b"\0\xff")):
        after = found[path].after
        assert after is not None
        assert after.digest == digest_bytes(data)
        assert bench.blobs.read(after.digest) == data


def test_writing_the_same_again_is_no_change(bench: Bench) -> None:
    (bench.work / "keep.txt").write_text("keep")
    (bench.work / "src" / "a.py").unlink()
    (bench.work / "src" / "a.py").write_text("one")
    (bench.work / "src" / "a.py").chmod(0o644)
    os.utime(bench.work / "gone.txt", (1, 1))
    assert bench.collect() == ChangeSet()


def test_a_change_of_the_same_length_with_the_old_time_is_found(bench: Bench) -> None:
    stamps = (bench.work / "keep.txt").stat()
    (bench.work / "keep.txt").write_text("peek")
    os.utime(bench.work / "keep.txt", ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert kinds(bench.changes()) == {"keep.txt": "modified"}


def test_a_change_within_the_same_tick_of_the_clock_is_found(bench: Bench) -> None:
    # As where time stamps are coarse: what was staged and what was written at once have the same.
    (bench.work / "keep.txt").write_text("peek")
    seen = (bench.work / "keep.txt").stat()
    keys = {**bench.staged.keys, "keep.txt": key_of(seen)}
    bench.staged = Staged(bench.staged.tree, keys, seen.st_ctime_ns)
    assert kinds(bench.changes()) == {"keep.txt": "modified"}


def test_what_did_not_change_is_not_opened(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    time.sleep(0.03)
    bench.staged = stage(bench.staged.tree, bench.blobs, bench.work.with_name("again"))
    bench.work = bench.work.with_name("again")
    bench.staged = evolve(bench.staged, clock_ns=time.time_ns() + 10**9)
    monkeypatch.setattr(collecting, "_opened", lambda top, found: pytest.fail(f"{found.path} was opened"))
    assert bench.collect() == ChangeSet()


def replace_by_fifo(work: Path) -> None:
    (work / "keep.txt").unlink()
    os.mkfifo(work / "keep.txt", 0o644)


def replace_directory(work: Path) -> None:
    shutil.rmtree(work / "src")
    (work / "src").write_text("x")


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda work: [(work / "keep.txt").unlink(), (work / "keep.txt").mkdir()], {"keep.txt": "modified"}),
        (lambda work: [(work / "keep.txt").unlink(), (work / "keep.txt").symlink_to("/x")], {"keep.txt": "modified"}),
        (replace_by_fifo, {"keep.txt": "modified"}),
        (
            replace_directory,
            {"src": "modified", "src/a.py": "deleted", "src/run": "deleted"},
        ),
        (lambda work: (work / "empty").rmdir(), {"empty": "deleted"}),
        (lambda work: (work / "empty").chmod(0o700), {"empty": "modified"}),
    ],
)
def test_changes_of_kind(bench: Bench, edit: Callable[[Path], object], expected: dict[str, str]) -> None:
    edit(bench.work)
    assert kinds(bench.changes()) == expected


def test_an_empty_workspace_needs_no_staging(tmp_path: Path) -> None:
    work = plant(tmp_path / "work", {"a.txt": "1", "d/b": "2"})
    found = collect(work, None, BlobStore(tmp_path / "blobs"), Limits())
    assert [(change.path, change.kind) for change in found.changes] == [
        ("a.txt", "added"),
        ("d", "added"),
        ("d/b", "added"),
    ]


def test_a_workspace_that_is_gone_is_an_error(bench: Bench) -> None:
    shutil.rmtree(bench.work)
    with pytest.raises(FileNotFoundError):
        bench.collect()


def git(work: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=work, check=True, capture_output=True, timeout=60)


def test_what_the_agents_git_says_makes_no_difference(bench: Bench, tmp_path: Path) -> None:
    plain = Bench(tmp_path / "plain")
    for work in (bench.work, plain.work):
        (work / "keep.txt").write_text("edited")
        (work / "ignored.bin").write_bytes(b"\0\1\2")
        (work / ".gitignore").write_text("*.bin\n")
    git(bench.work, "init")
    git(bench.work, "add", "keep.txt")
    git(bench.work, "commit", "-m", "x")
    git(bench.work, "checkout", "-b", "other")
    with_git = {path: change for path, change in bench.changes().items() if path.split("/")[0] != ".git"}
    assert with_git == plain.changes()
    assert any(path.startswith(".git/objects/") for path in bench.changes())


# random trees and edits against a naive comparison


def naive(before: Tree, work: Path) -> dict[str, str]:
    """The whole tree read again and compared."""
    after = scan_tree(work).entries
    found = {}
    for path in sorted(before.entries.keys() | after.keys()):
        was, now = before.entries.get(path), after.get(path)
        if was is None or now is None:
            found[path] = "added" if was is None else "deleted"
        elif (was.kind, was.mode, was.digest, was.target) != (now.kind, now.mode, now.digest, now.target):
            found[path] = "modified"
    return found


names = st.sampled_from(["a", "b", "c", ".d", "é", "x y"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.one_of(st.binary(max_size=4), st.just(None), st.sampled_from(["-> a", "-> b/c", "-> ."]))


def try_plant(root: Path, files: dict[str, str | bytes | None]) -> None:
    for path, content in files.items():
        try:
            plant(root, {path: content})
        except OSError:
            continue


edits = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "mode", "rename", "touch", "link"]), paths, paths, st.binary(max_size=4)
    ),
    max_size=8,
)


def apply(work: Path, what: str, path: str, other: str, data: bytes) -> None:
    place = work / path
    try:
        if what == "write":
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.is_symlink():
                place.write_bytes(data)
        elif what == "delete":
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        elif what == "mode" and not place.is_symlink():
            place.chmod(0o700 | len(data))
        elif what == "rename":
            place.rename(work / other)
        elif what == "link":
            place.symlink_to(other)
        elif what == "touch":
            os.utime(place, (1, 1), follow_symlinks=False)
    except OSError:
        return


@settings(max_examples=120, deadline=None)
@given(st.dictionaries(paths, contents, max_size=8), edits)
def test_it_finds_what_a_full_comparison_finds(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, str | bytes | None],
    edits: list[tuple[str, str, str, bytes]],
) -> None:
    place = tmp_path_factory.mktemp("any")
    (place / "fx").mkdir()
    try_plant(place / "fx", files)
    bench = Bench(place, {})
    assert bench.collect() == ChangeSet()
    for edit in edits:
        apply(bench.work, *edit)
    found = bench.collect()
    assert {change.path: change.kind for change in found.changes} == naive(bench.staged.tree, bench.work)
    assert [change.path for change in found.changes] == sorted(change.path for change in found.changes)
    # The baseline with the changes is the final tree, byte for byte.
    files_now = Files(bench.staged.tree, found, bench.blobs)
    assert files_now.entries == scan_tree(bench.work).entries
    assert from_plain(to_plain(found), ChangeSet) == found


# what agents leave behind


def test_special_files_are_listed_and_never_waited_for(bench: Bench) -> None:
    os.mkfifo(bench.work / "pipe")
    here = Path.cwd()
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        os.chdir(bench.work)
        listening.bind("sock")
        os.chdir(here)
        found = bench.changes()
    assert {path: change.after.kind for path, change in found.items() if change.after} == {
        "pipe": "special",
        "sock": "special",
    }


def test_a_terabyte_of_nothing_is_listed_with_both_its_sizes(bench: Bench) -> None:
    with (bench.work / "big.img").open("wb") as file:
        file.truncate(1 << 40)
    (bench.work / "small.bin").write_bytes(bytes(5 << 20))
    collected = bench.collect()
    found = {change.path: change.after for change in collected.changes}
    big, small = found["big.img"], found["small.bin"]
    assert big is not None
    assert small is not None
    assert (big.size, big.digest) == (1 << 40, None)
    assert big.allocated is not None
    assert big.allocated < 1 << 20
    assert big.omitted == "over the limit of 16777216 bytes"
    assert small.digest == digest_bytes(bytes(5 << 20))
    assert (collected.omitted_files, collected.omitted_bytes) == (1, 1 << 40)


def test_names_of_any_bytes_are_listed_and_can_be_turned_back(bench: Bench) -> None:
    names = [b"new\nline", b"\xff\xfe.bin", b"-rf", b"a\"b'c`d", b"\xe2\x80\xae.txt", b" lead", b"x" * 255]
    names += ["e\u0301".encode(), "é".encode()]
    for name in names:
        Path(os.fsdecode(os.fsencode(bench.work) + b"/" + name)).write_bytes(name)
    found = from_plain(to_plain(bench.collect()), ChangeSet)
    assert sorted(os.fsencode(change.path) for change in found.changes) == sorted(names)
    assert all(
        change.after is not None and change.after.digest == digest_bytes(os.fsencode(change.path))
        for change in found.changes
    )


@pytest.mark.parametrize(("levels", "name"), [(300, "d"), (40, "n" * 200)])
def test_depth_has_no_end(bench: Bench, levels: int, name: str) -> None:
    deep(bench.work, levels, name)
    found = bench.changes()
    assert len(found) == levels + 1
    end = found["/".join([name] * levels + ["end.txt"])].after
    assert end is not None
    assert end.digest == digest_bytes(b"")


def test_links_are_changes_and_never_lead_anywhere(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    for name, target in (("out", str(tmp_path / "secret")), ("up", ".."), ("loop", "."), ("etc", "/etc")):
        (bench.work / name).symlink_to(target)
    found = bench.changes()
    assert {path: change.after.target for path, change in found.items() if change.after} == {
        "out": str(tmp_path / "secret"),
        "up": "..",
        "loop": ".",
        "etc": "/etc",
    }
    assert not bench.blobs.has(digest_bytes(b"SECRET"))


def test_an_ordinary_users_locked_files_are_read_and_listed_with_the_modes_that_they_had() -> None:
    with ground() as place:

        def work() -> dict[str, tuple[str, int, str | None]]:
            bench = Bench(place)
            plant(bench.work, {"a/b/c": "deep", "locked.txt": "secret"})
            (bench.work / "locked.txt").chmod(0)
            (bench.work / "a" / "b").chmod(0)
            (bench.work / "a").chmod(0o500)
            (bench.work / "src").chmod(0)
            return {
                path: (change.kind, change.after.mode, change.after.digest)
                for path, change in bench.changes().items()
                if change.after
            }

        found = as_ordinary_user(work)
    assert found == {
        "a": ("added", 0o500, None),
        "a/b": ("added", 0o000, None),
        "a/b/c": ("added", 0o644, digest_bytes(b"deep")),
        "locked.txt": ("added", 0o000, digest_bytes(b"secret")),
        "src": ("modified", 0o000, None),
    }


def test_a_root_that_is_locked_is_opened() -> None:
    with ground() as place:

        def work() -> list[str]:
            bench = Bench(place)
            (bench.work / "new").write_text("x")
            bench.work.chmod(0)
            return list(bench.changes())

        assert as_ordinary_user(work) == ["new"]


def refuse(*arguments: object) -> None:
    raise PermissionError(1, os.strerror(1))


def test_what_lies_in_a_directory_that_can_not_be_read_is_unknown_and_not_deleted() -> None:
    with ground() as place:

        def work() -> ChangeSet:
            bench = Bench(place)
            (bench.work / "src").chmod(0)
            (bench.work / "keep.txt").chmod(0)
            # As for what belongs to somebody else.
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("quintain.identity.walk.grant", refuse)
                patched.setattr("quintain.workspace.collect.grant", refuse)
                return bench.collect()

        found = as_ordinary_user(work)
    changes = {change.path: change for change in found.changes}
    assert kinds(changes) == {"keep.txt": "modified", "src": "modified"}
    for change in changes.values():
        assert change.after is not None
        assert change.after.omitted in ("unreadable: Permission denied", "unreadable: Operation not permitted")
    assert found.omitted_files == 1


# limits are about changes


def test_what_was_there_before_does_not_count(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {f"node_modules/m{n % 30}/f{n}.js": "x" * 100 for n in range(600)}
    bench = Bench(tmp_path, files | {"big.bin": b"b" * 5000})
    (bench.work / "new.txt").write_text("new")
    limits = Limits(changed_files=2, file_bytes=1000, changed_bytes=1500)
    found = bench.collect(limits)
    assert [change.path for change in found.changes] == ["new.txt"]
    assert found.omitted_files == 0
    (bench.work / "big.bin").chmod(0o755)
    os.utime(bench.work / "big.bin", (1, 1))
    assert bench.changes(limits)["big.bin"].after == evolve(bench.staged.tree.entries["big.bin"], mode=0o755)


def test_many_new_files_are_all_listed(bench: Bench) -> None:
    for number in range(2000):
        (bench.work / f"n{number:05}").write_bytes(b"")
    found = bench.collect(Limits(changed_files=500))
    assert len(found.changes) == 2000
    assert found.omitted_files == 1500
    assert found.unlisted == 0
    reasons = {change.after.omitted for change in found.changes if change.after}
    assert reasons == {None, "beyond 500 changed files"}


def test_beyond_a_bound_paths_are_counted_and_what_was_there_is_still_listed(bench: Bench) -> None:
    for number in range(100):
        (bench.work / f"n{number:05}").write_bytes(b"")
    (bench.work / "keep.txt").write_text("edited")
    (bench.work / "gone.txt").unlink()
    found = bench.collect(Limits(changed_files=10))
    assert len(found.changes) == 42
    assert found.unlisted == 60
    assert {"keep.txt", "gone.txt"} <= {change.path for change in found.changes}
    read = Files(bench.staged.tree, found, bench.blobs).read("n00099")
    assert (read.data, read.missing) == (None, False)
    assert read.problem is not None
    assert "60 more" in read.problem


def test_the_bound_on_bytes_cuts_what_tools_made_first(bench: Bench) -> None:
    plant(bench.work, {"node_modules/a.js": "x" * 600, "z.py": "z" * 600, "a.py": "a" * 600})
    (bench.work / "src" / "a.py").write_text("e" * 600)
    found = bench.collect(Limits(changed_bytes=2000))
    cut = {change.path: change.after.omitted for change in found.changes if change.after and change.after.omitted}
    assert cut == {"node_modules/a.js": "beyond 2000 bytes of changed files"}
    assert (found.omitted_files, found.omitted_bytes) == (1, 600)


def test_a_smaller_file_may_still_fit_where_a_larger_one_did_not(bench: Bench) -> None:
    plant(bench.work, {"a": "x" * 1500, "b": "x" * 1501, "c": "x" * 400})
    found = bench.changes(Limits(changed_bytes=2000, file_bytes=1500))
    omitted = {path: change.after.omitted for path, change in found.items() if change.after}
    assert omitted == {"a": None, "b": "over the limit of 1500 bytes", "c": None}


def test_a_fixture_that_became_too_large_is_modified_and_its_content_is_unknown(bench: Bench) -> None:
    (bench.work / "keep.txt").write_text("x" * 2000)
    (bench.work / "src" / "a.py").write_text("eno")
    found = bench.changes(Limits(file_bytes=2))
    assert kinds(found) == {"keep.txt": "modified", "src/a.py": "modified"}
    assert all(change.after is not None and change.after.digest is None for change in found.values())


def test_patterns_leave_paths_out_with_all_that_is_in_them(bench: Bench) -> None:
    plant(bench.work, {"cache/x/y": "1", ".cache/z": "2", "n.log": "3", "n.txt": "4"})
    shutil.rmtree(bench.work / "src")
    found = bench.changes(ignore=("*cache", "*.log", "src"))
    assert kinds(found) == {"n.txt": "added"}


def test_a_store_that_is_full_is_an_error_and_no_change_set(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.work / "new").write_text("news")

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(DiskError):
            bench.collect()
    assert kinds(bench.changes()) == {"new": "added"}


# secrets

SECRET = "s3cr3t/+CANARY=="


def test_secrets_are_in_no_content_no_name_and_no_target(bench: Bench, tmp_path: Path) -> None:
    redactor = Redactor.of({"API_KEY": SECRET})
    safe = SECRET.replace("/", "~")  # a name can have no slash; a reader may write it so, the redactor does not know it
    others = Redactor.of({"API_KEY": SECRET, "SAFE": safe})
    plant(bench.work, {"log.txt": f"key {SECRET}!", f"n_{safe}": "", f"d_{safe}/x": "1", "link": f"-> /tmp/{safe}"})
    (bench.work / "keep.txt").write_text(SECRET)
    found = bench.collect(redact=others.data)
    text = repr(to_plain(found))
    assert "CANARY" not in text
    entries = {change.path: change.after for change in found.changes}
    log = entries["log.txt"]
    assert log is not None
    assert log.redacted
    assert log.size == len(f"key {SECRET}!")
    assert bench.blobs.read(log.digest or "") == b"key [redacted:API_KEY]!"
    assert entries["n_[redacted:SAFE]"] is not None
    assert entries["d_[redacted:SAFE]/x"] is not None
    for path in bench.blobs.root.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    plain = bench.collect(redact=redactor.data)
    assert not next(change.after.redacted for change in plain.changes if change.after and change.path == "link")


def test_names_that_differ_only_in_their_secret_stay_apart(bench: Bench) -> None:
    redactor = Redactor.of({"KEY": "aaaaaaaa", "KEX": "bbbbbbbb"})
    plant(bench.work, {"aaaaaaaa": "1", "bbbbbbbb": "2"})
    found = bench.collect(redact=lambda data: redactor.data(data).replace(b"KEX", b"KEY"))
    assert sorted(change.path for change in found.changes) == ["[redacted:KEY]", "[redacted:KEY]~2"]


def test_modes_are_whole(bench: Bench) -> None:
    plant(bench.work, {"x": "1"})
    (bench.work / "x").chmod(0o4711)
    after = bench.changes()["x"].after
    assert after is not None
    assert after.mode == 0o4711
    assert stat.S_IMODE((bench.work / "x").stat().st_mode) == 0o4711
