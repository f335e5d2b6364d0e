"""Evidence is looked at out of the store: the same live and later, and nothing else can be reached through it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from quintain.contracts.assertion import Content
from quintain.contracts.assertion import Files as Contract
from quintain.errors import WorkspaceError
from quintain.model.codec import from_plain, to_plain
from quintain.model.limits import Limits
from quintain.model.tree import ChangeSet, Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.collect import collect
from quintain.workspace.evidence import Files
from quintain.workspace.staging import capture_fixtures, stage
from workspace.trees import plant


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A workspace that was staged, worked in, collected and thrown away."""
    blobs = BlobStore(tmp_path / "blobs")
    fixtures = plant(tmp_path / "fx", {"a.txt": "one", "src/b.py": "two", "gone.txt": "x", ".env": "E"})
    staged = stage(capture_fixtures(fixtures, blobs), blobs, tmp_path / "work")
    work = tmp_path / "work"
    (work / "gone.txt").unlink()
    (work / "a.txt").write_text("changed")
    plant(work, {"new/c.py": "three", "big": b"x" * 2000, "alias": "-> src", "out": "-> /etc", "loop": "-> loop"})
    plant(work, {"src/up": "-> ../a.txt", "abs": f"-> {work}/a.txt"})
    os.mkfifo(work / "pipe")
    changes = from_plain(to_plain(collect(work, staged, blobs, Limits(file_bytes=1000))), ChangeSet)
    baseline = from_plain(to_plain(staged.tree), Tree)
    shutil.rmtree(work)
    shutil.rmtree(fixtures)
    return Files(baseline, changes, BlobStore(blobs.root))


def test_it_keeps_the_contract(files: Files) -> None:
    contract: Contract = files
    assert contract.read("a.txt") == Content(b"changed")


def test_files_are_as_the_agent_left_them_or_as_it_found_them(files: Files) -> None:
    found = Files(files._baseline, ChangeSet(), files._blobs)
    assert (files.read("a.txt").data, found.read("a.txt").data) == (b"changed", b"one")
    assert (files.read("gone.txt").missing, found.read("gone.txt").data) == (True, b"x")
    assert (files.read("new/c.py").data, found.read("new/c.py").missing) == (b"three", True)
    assert files.read("src/b.py").data == found.read("src/b.py").data == b"two"


def test_an_entry_tells_what_is_there(files: Files) -> None:
    entry = files.entry("./src//b.py")
    assert entry is not None
    assert (entry.kind, entry.size, entry.mode) == ("file", 3, 0o644)
    alias = files.entry("alias")
    assert alias is not None
    assert alias.target == "src"
    assert files.entry("alias/b.py") == entry
    assert files.entry("nothing") is None
    assert files.entry("out/passwd") is None
    assert files.entry("loop/x") is None


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "src/../../x", "a\0.txt"])
def test_a_path_that_leaves_is_refused(files: Files, path: str) -> None:
    for use in (files.read, files.entry, files.glob):
        with pytest.raises(WorkspaceError):
            use(path)


@pytest.mark.parametrize(("path", "data"), [("alias/b.py", b"two"), ("src/up", b"changed"), ("alias/up", b"changed")])
def test_links_inside_are_followed(files: Files, path: str, data: bytes) -> None:
    assert files.read(path).data == data


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nothing", "there is no nothing"),
        ("a.txt/x", "there is no a.txt/x"),
        ("src", "src is a directory"),
        ("pipe", "pipe is a special file, such as a FIFO"),
        ("big", "the content of big was not kept: over the limit of 1000 bytes"),
        ("out", "out leads out of the workspace"),
        ("out/passwd", "out/passwd leads out of the workspace"),
        ("abs", "abs leads out of the workspace"),
        ("loop", "loop leads in circles"),
    ],
)
def test_why_a_file_can_not_be_read_is_said(files: Files, path: str, problem: str) -> None:
    content = files.read(path)
    assert (content.data, content.problem) == (None, problem)
    assert content.missing == problem.startswith("there is no")


def test_a_file_over_the_readers_limit_is_refused(files: Files) -> None:
    assert files.read("a.txt", limit=7).data == b"changed"
    assert files.read("a.txt", limit=6) == Content(None, "a.txt has 7 bytes, more than 6")


def test_a_content_that_the_store_lost_is_a_problem_and_no_crash(files: Files) -> None:
    entry = files.entry("a.txt")
    assert entry is not None
    files._blobs.path(entry.digest or "").write_bytes(b"CHANGED")
    content = files.read("a.txt")
    assert (content.data, content.missing) == (None, False)
    assert content.problem is not None
    assert "damaged" in content.problem


def test_patterns_find_files_and_links_in_order(files: Files) -> None:
    assert files.glob("**/*.py") == ("new/c.py", "src/b.py")
    assert files.glob("*") == ("a.txt", "abs", "alias", "big", "loop", "out")
    assert files.glob(".*") == (".env",)
    assert files.glob("src/**") == ("src/b.py", "src/up")
    assert files.glob("none*") == ()


def test_nothing_changed_is_the_baseline(tmp_path: Path) -> None:
    tree = capture_fixtures(plant(tmp_path / "fx", {"a": "1"}), BlobStore(tmp_path / "blobs"))
    assert Files(tree, ChangeSet(), BlobStore(tmp_path / "blobs")).entries is tree.entries
