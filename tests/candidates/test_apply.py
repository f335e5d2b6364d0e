"""Writing a candidate back: whole or not at all, whatever happens, and only into what was tested."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quintain.candidates import (
    apply_candidate,
    candidate_of,
    capture_subject,
    captured_of,
    recover_apply,
    store_captured,
)
from quintain.candidates._apply import unified
from quintain.errors import UsageError, WorkspaceError
from quintain.identity.cache import DigestCache
from quintain.model.campaign import Candidate, Subject, Variant
from quintain.model.codec import dumps, to_plain
from quintain.workspace.blobs import BlobStore

OLD = {"prompts/a.md": "one\n", "prompts/b.md": "two\n", "prompts/gone.md": "old\n", "code.py": "pass\n"}
NEW = {"prompts/a.md": "uno\n", "prompts/b.md": "due\n", "prompts/new/c.md": "tre\n", "code.py": "pass\n"}
VARIANT = Variant(
    "v",
    text={path: text for path, text in NEW.items() if path != "code.py"},
    delete=("prompts/gone.md",),
)


class Bench:
    def __init__(self, place: Path) -> None:
        self.place = place
        root = place / "subject"
        (root / "prompts").mkdir(parents=True)
        for path, text in OLD.items():
            (root / path).write_text(text)
        (root / "prompts" / "a.md").chmod(0o640)
        self.subject = Subject(root, ("prompts/**",), may_add=True, may_delete=True)
        self.blobs = BlobStore(place / "blobs")
        self.captured = capture_subject(self.subject, self.blobs, DigestCache())
        self.candidate = candidate_of(VARIANT, self.captured, self.subject, self.blobs)

    def files(self) -> dict[str, str]:
        root = self.subject.root
        return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}

    def folders(self) -> list[str]:
        root = self.subject.root
        return sorted(str(place.relative_to(root)) for place in root.rglob("*") if place.is_dir())

    def apply(self, dry_run: bool = False) -> tuple[str, ...]:
        return apply_candidate(self.candidate, self.captured, self.subject, self.blobs, dry_run=dry_run).paths

    def applies_until(self, step: int) -> bool:
        """Apply in a process that is killed before its step of that number; False if it has no more steps."""
        (self.place / "candidate.json").write_text(dumps(to_plain(self.candidate)))
        (self.place / "subject.json").write_text(dumps(to_plain(self.subject)))
        stored = store_captured(self.captured, self.blobs)
        told = [sys.executable, "-c", KILLED, str(self.place), stored, str(step)]
        ended = subprocess.run(told, check=False, capture_output=True, text=True)
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        return ended.returncode != 0


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_only_what_differs_is_written_and_modes_are_kept(bench: Bench) -> None:
    code = (bench.subject.root / "code.py").stat()
    assert bench.apply() == ("prompts/a.md", "prompts/b.md", "prompts/gone.md", "prompts/new/c.md")
    assert bench.files() == NEW
    assert bench.folders() == ["prompts", "prompts/new"]
    assert (bench.subject.root / "prompts" / "a.md").stat().st_mode & 0o7777 == 0o640
    assert (bench.subject.root / "code.py").stat().st_mtime_ns == code.st_mtime_ns


def test_what_is_applied_already_is_applied_by_doing_nothing(bench: Bench) -> None:
    bench.apply()
    assert bench.apply() == ()
    assert bench.files() == NEW


def test_a_dry_run_writes_nothing_and_its_diff_does_what_applying_does(bench: Bench) -> None:
    change = apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, dry_run=True)
    assert not change.written
    assert bench.files() == OLD
    assert bench.folders() == ["prompts"]
    told = subprocess.run(["git", "apply"], input="".join(change.diffs).encode(), cwd=bench.subject.root, check=False)
    assert told.returncode == 0
    assert bench.files() == NEW


@pytest.mark.parametrize("changed", ["prompts/a.md", "code.py", "prompts/another.md"])
def test_nothing_is_written_to_a_source_that_is_not_what_was_tested(bench: Bench, changed: str) -> None:
    (bench.subject.root / changed).write_text("edited\n")
    before = bench.files()
    with pytest.raises(UsageError, match=f"not what was tested; there differs:\n  {changed}"):
        bench.apply()
    assert bench.files() == before


def test_a_failure_in_the_middle_leaves_everything_as_it_was(bench: Bench) -> None:
    steps: list[str] = []

    def fails(name: str) -> None:
        steps.append(name)
        if name == "write 3":
            raise OSError(28, "No space left on device")

    with pytest.raises(WorkspaceError, match="No space left on device; nothing is changed"):
        apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, step=fails)
    assert bench.files() == OLD
    assert bench.folders() == ["prompts"]
    assert "undo 0" in steps


def test_what_somebody_writes_meanwhile_is_not_overwritten(bench: Bench) -> None:
    def meddles(name: str) -> None:
        if name == "write 3":
            (bench.subject.root / "prompts" / "new" / "c.md").write_text("mine\n")

    with pytest.raises(WorkspaceError, match=r"prompts/new/c\.md"):
        apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, step=meddles)
    assert bench.files() == {**OLD, "prompts/new/c.md": "mine\n"}


def test_a_link_in_the_place_of_a_directory_is_not_followed(bench: Bench) -> None:
    outside = bench.place / "outside"
    outside.mkdir()

    def meddles(name: str) -> None:
        if name == "write 0":
            (bench.subject.root / "prompts").rename(bench.place / "moved")
            (bench.subject.root / "prompts").symlink_to(outside)

    with pytest.raises(WorkspaceError):
        apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, step=meddles)
    assert list(outside.iterdir()) == []


def test_two_applies_at_once_are_refused(bench: Bench) -> None:
    def again(name: str) -> None:
        if name == "write 0":
            with pytest.raises(UsageError, match="another process applies"):
                bench.apply()

    apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, step=again)
    assert bench.files() == NEW


KILLED = """
import json, os, signal, sys
from pathlib import Path
from quintain.candidates import apply_candidate, captured_of
from quintain.model.campaign import Candidate, Subject
from quintain.model.codec import from_plain
from quintain.workspace.blobs import BlobStore

place, stored, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
blobs = BlobStore(place / "blobs")
candidate = from_plain(json.loads((place / "candidate.json").read_text()), Candidate)
subject = from_plain(json.loads((place / "subject.json").read_text()), Subject)
steps = []

def dies(name):
    steps.append(name)
    if len(steps) == last:
        os.kill(os.getpid(), signal.SIGKILL)

apply_candidate(candidate, captured_of(stored, blobs), subject, blobs, step=dies)
"""


def test_a_kill_at_any_step_leaves_the_old_or_the_new_and_never_a_mixture(tmp_path: Path) -> None:
    for number in itertools.count(1):
        bench = Bench(tmp_path / str(number))
        if not bench.applies_until(number):
            break
        recovered = recover_apply(bench.subject)
        assert bench.files() in (OLD, NEW)
        assert bench.folders() in (["prompts"], ["prompts", "prompts/new"])
        if recovered:
            assert bench.files() == OLD
        bench.apply()
        assert bench.files() == NEW
    assert number > 14


def test_a_kill_while_another_kill_is_made_good_does_no_harm_either(tmp_path: Path) -> None:
    until_all_is_written, steps_of_undoing = 14, 5
    for number in range(1, steps_of_undoing + 1):
        bench = Bench(tmp_path / str(number))
        assert bench.applies_until(until_all_is_written)
        assert bench.applies_until(number)
        recover_apply(bench.subject)
        assert bench.files() == OLD
        assert bench.folders() == ["prompts"]


def test_a_half_written_source_is_not_captured(bench: Bench) -> None:
    def stops(name: str) -> None:
        if name in ("write 2", "undo 1"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, step=stops)
    with pytest.raises(WorkspaceError, match="an apply was interrupted here"):
        capture_subject(bench.subject, bench.blobs, DigestCache())
    with pytest.raises(WorkspaceError, match="an apply was interrupted here"):
        bench.apply(dry_run=True)
    change = apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs)
    assert change.recovered
    assert bench.files() == NEW


def test_an_edit_after_a_kill_is_left_and_told(bench: Bench) -> None:
    def stops(name: str) -> None:
        if name in ("write 2", "undo 1"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_candidate(bench.candidate, bench.captured, bench.subject, bench.blobs, step=stops)
    (bench.subject.root / "prompts" / "a.md").write_text("mine\n")
    with pytest.raises(WorkspaceError, match=r"somebody else has changed prompts/a\.md"):
        recover_apply(bench.subject)
    assert bench.files() == {**OLD, "prompts/a.md": "mine\n"}
    assert not recover_apply(bench.subject)


def test_what_else_lies_in_the_store_of_the_subject_stays(bench: Bench) -> None:
    (bench.subject.root / ".quintain").mkdir()
    (bench.subject.root / ".quintain" / "runs").write_text("kept")
    bench.apply()
    assert bench.files() == {**NEW, ".quintain/runs": "kept"}


def test_a_link_in_the_place_of_the_store_is_not_followed(bench: Bench) -> None:
    (bench.place / "elsewhere").mkdir()
    (bench.subject.root / ".quintain").symlink_to(bench.place / "elsewhere")
    with pytest.raises(WorkspaceError, match="no directory of its own"):
        bench.apply()
    assert list((bench.place / "elsewhere").iterdir()) == []


texts = st.text(st.sampled_from("ab\n\r\té\u2028"), max_size=12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.none() | texts, st.none() | texts)
def test_git_applies_every_diff(tmp_path: Path, old: str | None, new: str | None) -> None:
    if old == new:
        return
    file = tmp_path / "f.txt"
    file.unlink(missing_ok=True)
    if old is not None:
        file.write_bytes(old.encode())
    told = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn"]
    subprocess.run(told, input=unified("f.txt", old, new).encode(), cwd=tmp_path, check=True, capture_output=True)
    assert (file.read_bytes().decode() if file.exists() else None) == new


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["p/a.md", "p/b.md", "p/q/c.md"]), st.text("ab\n", max_size=5), min_size=1))
def test_what_is_captured_after_an_apply_is_the_candidate(tmp_path: Path, text: dict[str, str]) -> None:
    place = tmp_path / os.urandom(6).hex()
    (place / "p").mkdir(parents=True)
    (place / "p" / "a.md").write_text("base")
    subject = Subject(place, ("p/**",), may_add=True, may_delete=True)
    blobs = BlobStore(tmp_path / "blobs")
    captured = capture_subject(subject, blobs, DigestCache())
    delete = () if "p/a.md" in text else ("p/a.md",)
    candidate: Candidate = candidate_of(Variant("v", text=text, delete=delete), captured, subject, blobs)
    apply_candidate(candidate, captured, subject, blobs)
    assert capture_subject(subject, blobs, DigestCache()).components == candidate.components
    assert apply_candidate(candidate, captured, evolve(subject), blobs).paths == ()
    assert captured_of(store_captured(captured, blobs), blobs) == captured
