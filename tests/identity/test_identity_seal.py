"""A sealed tree costs a look a file while nothing happens, and names what happened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from quintain.errors import WorkspaceError
from quintain.identity import files
from quintain.identity.cache import DigestCache
from quintain.identity.files import scan_tree, tree_digest
from quintain.identity.seal import TreeSeal
from workspace.trees import plant

PLAIN = {"SKILL.md": "be good", "lib/a.py": "one", "lib/b.py": "two", "lib/link": "-> a.py", "empty": None}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = plant(tmp_path / "skills", PLAIN)
    time.sleep(0.03)
    return made


def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_file(*args: object, **options: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(files, "open_file", open_file)


def test_nothing_is_read_again_while_nothing_changes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = TreeSeal(root)
    assert seal.digest == tree_digest(scan_tree(root))
    no_reading(monkeypatch)
    assert [seal.changed() for _ in range(3)] == [()] * 3


def test_a_second_seal_of_known_files_reads_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DigestCache()
    first = TreeSeal(root, cache)
    no_reading(monkeypatch)
    assert TreeSeal(root, cache).digest == first.digest


def rewrite_without_a_trace(root: Path) -> None:
    stamps = (root / "lib" / "a.py").stat()
    (root / "lib" / "a.py").write_text("eno")
    os.utime(root / "lib" / "a.py", ns=(stamps.st_atime_ns, stamps.st_mtime_ns))


def replace_link(root: Path) -> None:
    (root / "lib" / "link").unlink()
    (root / "lib" / "link").symlink_to("b.py")


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda root: (root / "SKILL.md").write_text("be bad!"), ("SKILL.md",)),
        (rewrite_without_a_trace, ("lib/a.py",)),
        (lambda root: (root / "lib" / "c.py").write_text("new"), ("lib/c.py",)),
        (lambda root: (root / "lib" / "b.py").unlink(), ("lib/b.py",)),
        (lambda root: (root / "lib" / "b.py").rename(root / "lib" / "c.py"), ("lib/b.py", "lib/c.py")),
        (lambda root: (root / "SKILL.md").chmod(0o755), ("SKILL.md",)),
        (lambda root: (root / "empty").rmdir(), ("empty",)),
        (lambda root: (root / "empty" / "more").mkdir(), ("empty/more",)),
        (replace_link, ("lib/link",)),
    ],
)
def test_what_changed_is_named_and_stays_named(
    root: Path, edit: Callable[[Path], object], named: tuple[str, ...]
) -> None:
    seal = TreeSeal(root)
    edit(root)
    assert seal.changed() == named
    time.sleep(0.03)
    assert seal.changed() == named


def test_what_means_the_same_is_no_change_and_is_sealed_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = TreeSeal(root)
    (root / "SKILL.md").write_text("be good")
    (root / "lib" / "a.py").chmod(0o640)
    os.utime(root / "lib" / "b.py")
    time.sleep(0.03)
    assert seal.changed() == ()
    no_reading(monkeypatch)
    assert seal.changed() == ()


def test_a_change_that_is_taken_back_is_none(root: Path) -> None:
    seal = TreeSeal(root)
    (root / "SKILL.md").write_text("be bad!")
    assert seal.changed() == ("SKILL.md",)
    (root / "SKILL.md").write_text("be good")
    assert seal.changed() == ()


def test_a_tree_that_was_just_written_is_sealed_by_its_contents(tmp_path: Path) -> None:
    root = plant(tmp_path / "fresh", PLAIN)
    seal = TreeSeal(root)
    assert seal.changed() == ()
    (root / "SKILL.md").write_text("be bad!")
    assert seal.changed() == ("SKILL.md",)


def test_what_is_ignored_may_change(root: Path) -> None:
    seal = TreeSeal(root, ignore=lambda path: path in ("lib", "cache"))
    (root / "lib" / "a.py").write_text("other")
    (root / "cache").mkdir()
    assert seal.changed() == ()
    (root / "cache" / "x").write_text("1")
    (root / "SKILL.md").write_text("be bad!")
    assert seal.changed() == ("SKILL.md",)


def test_a_tree_that_is_gone_is_an_error(root: Path) -> None:
    seal = TreeSeal(root)
    root.rename(root.with_name("elsewhere"))
    with pytest.raises(WorkspaceError, match="no such directory"):
        seal.changed()
