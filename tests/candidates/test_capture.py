"""What is read of a subject, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from attrs import evolve
from quintain.candidates import (
    baseline,
    capture_subject,
    captured_of,
    components_digest,
    materialise,
    refuse_duplicates,
    store_captured,
    subject_unchanged,
)
from quintain.errors import AuthoringError, WorkspaceError
from quintain.identity.cache import DigestCache
from quintain.model.campaign import Subject
from quintain.workspace.blobs import BlobStore


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    root = tmp_path / "subject"
    (root / "prompts").mkdir(parents=True)
    (root / "prompts" / "system.md").write_text("Be brief.\n")
    (root / "prompts" / "user.md").write_text("Ask.\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    return Subject(root, ("prompts/**/*.md",))


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def test_what_fits_mutable_is_a_component_and_all_else_is_context(subject: Subject, blobs: BlobStore) -> None:
    captured = capture_subject(subject, blobs, DigestCache())
    assert sorted(captured.components) == ["prompts/system.md", "prompts/user.md"]
    assert captured.bytes == len("Be brief.\n") + len("Ask.\n")
    assert captured.context_bytes == len("#!/bin/sh\n")
    assert blobs.read(captured.tree.entries["run.sh"].digest or "") == b"#!/bin/sh\n"
    assert captured.tree.entries["run.sh"].mode == 0o755


def test_a_component_changes_the_digest_and_not_that_of_the_context(subject: Subject, blobs: BlobStore) -> None:
    before = capture_subject(subject, blobs, DigestCache())
    (subject.root / "prompts" / "system.md").write_text("Be long.\n")
    after = capture_subject(subject, blobs, DigestCache())
    assert after.digest != before.digest
    assert after.context == before.context
    (subject.root / "run.sh").write_text("#!/bin/sh -e\n")
    assert capture_subject(subject, blobs, DigestCache()).context != before.context


def test_histories_stores_secrets_and_installed_things_are_no_part(subject: Subject, blobs: BlobStore) -> None:
    before = capture_subject(subject, blobs, DigestCache())
    for path in (
        ".git/HEAD",
        "prompts/.git",
        ".env",
        "a/.env.local",
        "node_modules/x/y.md",
        ".quintain/runs/1",
        "x/.npmrc",
    ):
        file = subject.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    extra = capture_subject(evolve(subject, exclude=("a/**", "x")), blobs, DigestCache())
    assert extra.tree == before.tree


def test_a_pattern_that_fits_nothing_is_told_with_the_pattern(subject: Subject, blobs: BlobStore) -> None:
    with pytest.raises(WorkspaceError, match=r"no file fits `mutable` \(promts/\*\.md\)"):
        capture_subject(evolve(subject, mutable=("promts/*.md",)), blobs, DigestCache())


@pytest.mark.parametrize(
    ("content", "words"), [(b"a\0b", "holds a NUL at byte 1"), (b"caf\xe9", "the byte 0xe9 stands at 3")]
)
def test_a_component_that_is_no_text_is_refused(subject: Subject, blobs: BlobStore, content: bytes, words: str) -> None:
    (subject.root / "prompts" / "system.md").write_bytes(content)
    with pytest.raises(WorkspaceError, match=words) as caught:
        capture_subject(subject, blobs, DigestCache())
    assert caught.value.where == str(subject.root / "prompts" / "system.md")


def test_the_same_bytes_outside_of_components_are_welcome(subject: Subject, blobs: BlobStore) -> None:
    (subject.root / "logo.png").write_bytes(b"\x89PNG\0")
    assert "logo.png" in capture_subject(subject, blobs, DigestCache()).tree.entries


def test_links_stay_inside_and_special_files_stay_out(subject: Subject, blobs: BlobStore) -> None:
    (subject.root / "latest.md").symlink_to("prompts/system.md")
    assert capture_subject(subject, blobs, DigestCache()).tree.entries["latest.md"].target == "prompts/system.md"
    (subject.root / "out").symlink_to("../elsewhere")
    os.mkfifo(subject.root / "pipe")
    with pytest.raises(WorkspaceError, match="2 things") as caught:
        capture_subject(subject, blobs, DigestCache())
    assert "out: it is a link that leads out of the subject, to ../elsewhere" in caught.value.message
    assert "pipe: it is a FIFO" in caught.value.message


def test_a_root_that_is_not_there_is_told(subject: Subject, blobs: BlobStore) -> None:
    with pytest.raises(WorkspaceError, match="no such directory"):
        capture_subject(evolve(subject, root=subject.root / "nowhere"), blobs, DigestCache())


def test_what_changed_since_is_named(subject: Subject, blobs: BlobStore) -> None:
    captured = capture_subject(subject, blobs, DigestCache())
    assert subject_unchanged(captured, subject, DigestCache()) == ()
    (subject.root / "prompts" / "new.md").write_text("x")
    (subject.root / "run.sh").unlink()
    assert subject_unchanged(captured, subject, DigestCache()) == ("prompts/new.md", "run.sh")


def test_the_baseline_is_the_source(subject: Subject, blobs: BlobStore) -> None:
    captured = capture_subject(subject, blobs, DigestCache())
    candidate = baseline(captured)
    assert candidate.digest == components_digest(captured.components)
    assert materialise(candidate, captured, blobs) == captured.tree


def test_what_was_captured_can_be_kept(subject: Subject, blobs: BlobStore) -> None:
    captured = capture_subject(subject, blobs, DigestCache())
    assert captured_of(store_captured(captured, blobs), blobs) == captured


def test_two_names_for_one_candidate_are_refused_by_both(subject: Subject, blobs: BlobStore) -> None:
    one = baseline(capture_subject(subject, blobs, DigestCache()))
    with pytest.raises(AuthoringError, match="`baseline` and `again` are the same"):
        refuse_duplicates([one, evolve(one, id="again")])
