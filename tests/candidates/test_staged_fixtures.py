"""A subject in the workspace of a case."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quintain.candidates import staged_fixtures
from quintain.errors import WorkspaceError
from quintain.model.tree import Entry, Tree
from quintain.trial.fixtures import Fixtures
from quintain.workspace.blobs import BlobStore
from quintain.workspace.staging import stage


def tree_of(blobs: BlobStore, files: dict[str, str]) -> Tree:
    found = {path: Entry("file", 0o644, len(text), blobs.put_bytes(text.encode())) for path, text in files.items()}
    return Tree(dict(sorted(found.items())))


def laid(fixtures: Fixtures, blobs: BlobStore, place: Path) -> dict[str, str]:
    assert fixtures.visible is not None
    stage(fixtures.visible, blobs, place)
    return {str(file.relative_to(place)): file.read_text() for file in place.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("into", "prefix"), [(".", ""), ("agent", "agent/"), ("./a/b/", "a/b/")])
def test_the_subject_is_laid_where_it_is_wanted(tmp_path: Path, into: str, prefix: str) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    fixtures = Fixtures(tree_of(blobs, {"src/main.py": "main"}))
    merged = staged_fixtures(fixtures, tree_of(blobs, {"prompts/p.md": "p"}), into, blobs)
    assert laid(merged, blobs, tmp_path / "work") == {"src/main.py": "main", f"{prefix}prompts/p.md": "p"}
    assert merged.visible_digest is not None
    assert Fixtures.stored(merged.visible_digest, None, blobs).visible == merged.visible


def test_a_case_without_fixtures_gets_the_subject_alone(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    merged = staged_fixtures(Fixtures(), tree_of(blobs, {"p.md": "p"}), ".", blobs)
    assert laid(merged, blobs, tmp_path / "work") == {"p.md": "p"}


@pytest.mark.parametrize(
    ("case", "subject", "into", "words"),
    [
        ("a.md", "a.md", ".", "a.md is in the fixtures of the case, and a.md of the subject"),
        ("x/a.md", "a.md", "x", "x/a.md is in the fixtures of the case, and a.md of the subject"),
        ("a", "a/b.md", ".", "a is in the fixtures"),
        ("x", "b.md", "x", "x is in the fixtures"),
    ],
)
def test_a_path_in_both_is_an_error_that_names_both(
    tmp_path: Path, case: str, subject: str, into: str, words: str
) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    with pytest.raises(WorkspaceError, match=words):
        staged_fixtures(Fixtures(tree_of(blobs, {case: "1"})), tree_of(blobs, {subject: "2"}), into, blobs)


def test_directories_are_shared(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    folder = {"docs": Entry("directory", 0o755)}
    fixtures = Fixtures(Tree(folder | dict(tree_of(blobs, {"docs/a": "a"}).entries)))
    subject = Tree(folder | dict(tree_of(blobs, {"docs/b": "b"}).entries))
    assert laid(staged_fixtures(fixtures, subject, ".", blobs), blobs, tmp_path / "w") == {"docs/a": "a", "docs/b": "b"}


paths = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(paths), st.sets(paths, min_size=1), st.sampled_from([".", "a", "a/b"]))
def test_nothing_of_either_is_ever_lost(tmp_path: Path, case: set[str], subject: set[str], into: str) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    wanted = {f"{into}/{path}" if into != "." else path: "subject" for path in subject}
    everything = [*case, *wanted]
    clash = any(one == other or other.startswith(f"{one}/") for one in case for other in wanted) or any(
        one.startswith(f"{other}/") for one in case for other in wanted
    )
    inner = [one for group in (case, subject) for one in group for other in group if other.startswith(f"{one}/")]
    if inner:
        return  # no directory has such files
    fixtures = Fixtures(tree_of(blobs, dict.fromkeys(case, "case")))
    try:
        merged = staged_fixtures(fixtures, tree_of(blobs, dict.fromkeys(subject, "subject")), into, blobs)
    except WorkspaceError:
        assert clash
        return
    assert not clash
    assert merged.visible is not None
    files = {path for path, entry in merged.visible.entries.items() if entry.kind == "file"}
    assert files == set(everything)
