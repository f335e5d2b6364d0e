"""The grade is that of the untouched grader, and what was done to it is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from quintain.model.limits import Limits
from quintain.model.tree import ChangeSet, Tree
from quintain.workspace.blobs import BlobStore
from quintain.workspace.collect import collect
from quintain.workspace.evidence import Files
from quintain.workspace.grading import Tamper, grading_copy, tampering
from quintain.workspace.staging import capture_fixtures, stage
from workspace.trees import plant

FIXTURES = {
    "calc.py": "broken",
    "tests/test_it.py": "assert calc() == 4",
    "tests/test_other.py": "assert calc(1) == 5",
    "pyproject.toml": "[project]",
    "node_modules/m/package.json": "{}",
}
HIDDEN = {"tests/test_it.py": "assert calc() == 4", "tests/test_other.py": "assert calc(1) == 5", "answers/key": "4"}


class Bench:
    """A workspace, the hidden fixtures of its case, and what became of them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.blobs = BlobStore(place / "blobs")
        self.hidden = capture_fixtures(plant(place / "hidden", HIDDEN), self.blobs)
        self.baseline = capture_fixtures(plant(place / "fx", FIXTURES), self.blobs)
        self.staged = stage(self.baseline, self.blobs, place / "work")
        self.work = place / "work"

    def changes(self) -> ChangeSet:
        return collect(self.work, self.staged, self.blobs, Limits())

    def copy(self, name: str = "copy") -> Path:
        files = Files(self.baseline, self.changes(), self.blobs)
        return grading_copy(files, self.blobs, self.hidden, self.place / name)

    def tampering(self, *protected: str, hidden: bool = True) -> dict[str, Tamper]:
        found = tampering(self.baseline, self.changes(), self.hidden if hidden else None, protected)
        assert list(found) == sorted(found, key=lambda tamper: tamper.path)
        return {tamper.path: tamper for tamper in found}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_edited_and_a_deleted_test_are_graded_as_they_were_and_told(bench: Bench) -> None:
    (bench.work / "tests" / "test_it.py").write_text("assert True")
    (bench.work / "tests" / "test_other.py").unlink()
    (bench.work / "calc.py").write_text("the agent's work")
    copy = bench.copy()
    assert (copy / "tests" / "test_it.py").read_text() == HIDDEN["tests/test_it.py"]
    assert (copy / "tests" / "test_other.py").read_text() == HIDDEN["tests/test_other.py"]
    assert (copy / "answers" / "key").read_text() == "4"
    assert (copy / "calc.py").read_text() == "the agent's work"
    found = bench.tampering()
    assert {path: tamper.kind for path, tamper in found.items()} == {
        "tests/test_it.py": "modified",
        "tests/test_other.py": "deleted",
    }
    assert "hidden fixtures" in found["tests/test_it.py"].why


def test_links_in_the_way_of_hidden_files_are_replaced_and_lead_nowhere(bench: Bench, tmp_path: Path) -> None:
    outside = plant(tmp_path / "outside", {"test_it.py": "precious"})
    for path in ("test_it.py", "test_other.py"):
        (bench.work / "tests" / path).unlink()
    (bench.work / "tests").rmdir()
    (bench.work / "tests").symlink_to(outside)
    (bench.work / "answers").symlink_to("/tmp")
    copy = bench.copy()
    assert not (copy / "tests").is_symlink()
    assert (copy / "tests" / "test_it.py").read_text() == HIDDEN["tests/test_it.py"]
    assert (outside / "test_it.py").read_text() == "precious"
    assert sorted(path.name for path in outside.iterdir()) == ["test_it.py"]
    assert {"answers", "tests", "tests/test_it.py"} <= bench.tampering().keys()


def test_a_directory_in_the_way_of_a_hidden_file_is_replaced(bench: Bench) -> None:
    (bench.work / "tests" / "test_it.py").unlink()
    plant(bench.work, {"tests/test_it.py/inner": "x", "answers": "a file where a directory will be"})
    copy = bench.copy()
    assert (copy / "tests" / "test_it.py").is_file()
    assert (copy / "answers" / "key").is_file()
    assert {"answers", "tests/test_it.py"} <= bench.tampering().keys()


def test_each_copy_is_fresh(bench: Bench) -> None:
    first = bench.copy("one")
    (first / "dropping").write_text("x")
    (first / "calc.py").write_text("x")
    second = bench.copy("two")
    assert not (second / "dropping").exists()
    assert (second / "calc.py").read_text() == "broken"


def test_what_was_not_kept_is_left_out_and_links_stay_links(bench: Bench) -> None:
    os.mkfifo(bench.work / "pipe")
    (bench.work / "calc.py").write_bytes(b"x" * 200)
    (bench.work / "link").symlink_to("/etc/hostname")
    (bench.work / "run").write_text("#!/bin/sh\n")
    (bench.work / "run").chmod(0o555)
    changes = collect(bench.work, bench.staged, bench.blobs, Limits(file_bytes=100))
    copy = grading_copy(Files(bench.baseline, changes, bench.blobs), bench.blobs, None, bench.place / "copy")
    assert not (copy / "pipe").exists()
    assert not (copy / "calc.py").exists()
    assert (copy / "link").readlink() == Path("/etc/hostname")
    assert (copy / "run").stat().st_mode & 0o777 == 0o755
    assert (copy / "tests" / "test_it.py").exists()


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "src/conftest.py",
        "sitecustomize.py",
        "x.pth",
        "pytest.ini",
        "setup.cfg",
        "tox.ini",
        "jest.config.ts",
    ],
)
def test_new_files_that_steer_tests_are_told(bench: Bench, path: str) -> None:
    plant(bench.work, {path: "x"})
    found = bench.tampering(hidden=False)
    assert {path: tamper.kind for path, tamper in found.items()} == {path: "added"}
    assert "which tests run" in found[path].why


@pytest.mark.parametrize(
    "path", ["package.json", "Makefile", "web/package.json", "calc2.py", "node_modules/x/conftest.py"]
)
def test_ordinary_new_files_are_no_news(bench: Bench, path: str) -> None:
    plant(bench.work, {path: "x"})
    assert bench.tampering() == {}


@pytest.mark.parametrize("path", ["pyproject.toml", "node_modules/m/package.json"])
def test_files_of_the_project_are_told_when_they_are_changed(bench: Bench, path: str) -> None:
    (bench.work / path).write_text("x")
    assert {path: tamper.kind for path, tamper in bench.tampering().items()} == {path: "modified"}
    (bench.work / path).unlink()
    assert {path: tamper.kind for path, tamper in bench.tampering().items()} == {path: "deleted"}


def test_protected_files_are_told_with_the_pattern(bench: Bench) -> None:
    plant(bench.work, {"tests/.cache/x": "1", "docs/a": "2"})
    (bench.work / "calc.py").write_text("x")
    found = bench.tampering("tests/**", "*.py", hidden=False)
    assert {path: tamper.why for path, tamper in found.items()} == {
        "calc.py": "it is protected by `*.py`",
        "tests/.cache/x": "it is protected by `tests/**`",
    }


def test_directories_alone_are_no_tampering(bench: Bench) -> None:
    plant(bench.work, {"answers": None, "tests/new": None})
    assert bench.tampering("tests/**") == {}


def test_nothing_changed_is_no_tampering() -> None:
    assert tampering(Tree(), ChangeSet(), None, ("**",)) == ()
