"""What a variant may say, and what becomes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quintain.candidates import Captured, candidate_of, capture_subject, materialise
from quintain.errors import AuthoringError, AuthoringErrors, QuintainError
from quintain.identity.cache import DigestCache
from quintain.model.campaign import Subject, Variant
from quintain.workspace.blobs import BlobStore


class Bench:
    def __init__(self, place: Path) -> None:
        root = place / "subject"
        (root / "prompts").mkdir(parents=True)
        (root / "prompts" / "a.md").write_text("one\n")
        (root / "prompts" / "b.md").write_text("two\n")
        (root / "prompts" / "a.md").chmod(0o640)
        (root / "code.py").write_text("pass\n")
        self.subject = Subject(root, ("prompts/*.md",))
        self.blobs = BlobStore(place / "blobs")

    def captured(self) -> Captured:
        return capture_subject(self.subject, self.blobs, DigestCache())

    def contents(self, variant: Variant) -> dict[str, str]:
        candidate = candidate_of(variant, self.captured(), self.subject, self.blobs)
        return {path: self.blobs.read(digest).decode() for path, digest in candidate.components.items()}

    def git(self, *arguments: str) -> None:
        told = ["git", "-c", "user.name=A", "-c", "user.email=a@b.example", *arguments]
        subprocess.run(told, cwd=self.subject.root, check=True, capture_output=True)

    def refusal(self, variant: Variant) -> str:
        with pytest.raises((AuthoringError, AuthoringErrors)) as caught:
            candidate_of(variant, self.captured(), self.subject, self.blobs)
        return str(caught.value)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_text_replaces_a_component_and_all_else_is_as_it_was(bench: Bench) -> None:
    variant = Variant("v", text={"./prompts/a.md": "new"}, rationale="shorter")
    assert bench.contents(variant) == {"prompts/a.md": "new", "prompts/b.md": "two\n"}
    captured = bench.captured()
    candidate = candidate_of(variant, captured, bench.subject, bench.blobs)
    assert candidate.bytes == len("new") + len("two\n")
    tree = materialise(candidate, captured, bench.blobs)
    assert tree.entries["prompts/a.md"].size == 3
    assert tree.entries["prompts/a.md"].mode == 0o640
    assert tree.entries["code.py"] == captured.tree.entries["code.py"]


def test_later_sources_win(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "v" / "prompts").mkdir(parents=True)
    (tmp_path / "v" / "prompts" / "a.md").write_text("of the directory")
    (tmp_path / "v" / "prompts" / "b.md").write_text("of the directory")
    (tmp_path / "b.txt").write_text("of the file")
    variant = Variant("v", directory=tmp_path / "v", files={"prompts/b.md": tmp_path / "b.txt"})
    assert bench.contents(variant) == {"prompts/a.md": "of the directory", "prompts/b.md": "of the file"}
    variant = evolve(variant, text={"prompts/b.md": "text"})
    assert bench.contents(variant)["prompts/b.md"] == "text"


def test_what_is_no_component_may_not_be_changed(bench: Bench) -> None:
    assert "variant v: code.py doesn't fit `mutable`" in bench.refusal(Variant("v", text={"code.py": "x"}))
    assert "leads" not in bench.refusal(Variant("v", text={"../x.md": "x"}))
    assert "goes up" in bench.refusal(Variant("v", text={"../x.md": "x"}))


def test_adding_and_deleting_take_a_permission(bench: Bench) -> None:
    adding = Variant("v", text={"prompts/c.md": "three"})
    deleting = Variant("v", delete=("prompts/b.md",))
    assert "may_add" in bench.refusal(adding)
    assert "may_delete" in bench.refusal(deleting)
    bench.subject = evolve(bench.subject, may_add=True, may_delete=True)
    assert "prompts/c.md" in bench.contents(adding)
    assert bench.contents(deleting) == {"prompts/a.md": "one\n"}
    assert "is no component" in bench.refusal(Variant("v", delete=("prompts/x.md",)))
    everything = Variant("v", delete=("prompts/a.md", "prompts/b.md"))
    assert "no component would be left" in bench.refusal(everything)


def test_names_that_differ_in_capitals_only_are_refused(bench: Bench) -> None:
    bench.subject = evolve(bench.subject, may_add=True)
    words = bench.refusal(Variant("v", text={"prompts/A.md": "x"}))
    assert "prompts/A.md and prompts/a.md are one file where capitals don't count" in words


def test_a_new_file_is_not_laid_below_a_file(bench: Bench) -> None:
    bench.subject = evolve(bench.subject, mutable=("**/*.md",), may_add=True)
    assert "code.py, which is no directory" in bench.refusal(Variant("v", text={"code.py/x.md": "x"}))


@pytest.mark.parametrize("text", ["a\0b", "\udce9"])
def test_what_is_no_text_is_refused(bench: Bench, text: str) -> None:
    assert "prompts/a.md" in bench.refusal(Variant("v", text={"prompts/a.md": text}))


def test_a_revision_gives_what_git_knows_and_nothing_else(bench: Bench) -> None:
    bench.git("init", "-q", "-b", "main")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    (bench.subject.root / "prompts" / "a.md").write_text("newer\n")
    (bench.subject.root / "code.py").write_text("newer\n")
    (bench.subject.root / "prompts" / "c.md").write_text("of late\n")
    bench.git("add", "prompts/c.md")
    (bench.subject.root / "prompts" / "untracked.md").write_text("mine\n")
    variant = Variant("v", revision="main")
    assert "prompts/c.md would be deleted" in bench.refusal(variant)
    bench.subject = evolve(bench.subject, may_delete=True)
    assert bench.contents(variant) == {
        "prompts/a.md": "one\n",
        "prompts/b.md": "two\n",
        "prompts/untracked.md": "mine\n",
    }


def test_a_revision_that_is_not_there_is_told(bench: Bench) -> None:
    assert "lies in no git repository" in bench.refusal(Variant("v", revision="main"))
    bench.git("init", "-q")
    assert "there is no revision `--help`" in bench.refusal(Variant("v", revision="--help"))


def test_no_program_of_the_repository_is_run(bench: Bench, tmp_path: Path) -> None:
    bench.git("init", "-q", "-b", "main")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.smudge", "diff.x.textconv", "core.sshCommand"):
        bench.git("config", key, str(trap))
    (bench.subject.root / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    bench.contents(Variant("v", revision="main"))
    assert not (tmp_path / "sprung").exists()


names = st.sampled_from(["prompts/a.md", "prompts/b.md", "prompts/c.md", "prompts/d.md"])
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(names, texts, min_size=1), st.sets(st.sampled_from(["prompts/a.md", "prompts/b.md"])))
def test_a_candidate_holds_what_was_said_and_else_the_baseline(
    bench: Bench, text: dict[str, str], gone: set[str]
) -> None:
    subject = evolve(bench.subject, may_add=True, may_delete=True)
    captured = bench.captured()
    base = {path: bench.blobs.read(digest).decode() for path, digest in captured.components.items()}
    expected = {path: words for path, words in {**base, **text}.items() if path not in gone}
    try:
        candidate = candidate_of(Variant("v", text=text, delete=tuple(gone)), captured, subject, bench.blobs)
    except QuintainError:
        assert not expected
        return
    assert {path: bench.blobs.read(one).decode() for path, one in candidate.components.items()} == expected
    tree = materialise(candidate, captured, bench.blobs)
    assert {path for path, entry in tree.entries.items() if entry.kind == "file"} == {*expected, "code.py"}
    assert candidate.bytes == sum(len(words.encode()) for words in expected.values())
