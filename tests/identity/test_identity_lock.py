"""What is written to identity.lock is what is read, and a change of it is found."""

from __future__ import annotations

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain.errors import RecordError, StoreError
from quintain.identity.canonical import canonical_json
from quintain.identity.lock import FORMAT, Lock, lock_text, read_lock, write_lock
from quintain.identity.tree import normal, root_digest

NAMES = st.text(st.characters(codec="utf-8"), max_size=5).filter(lambda name: name != "$json")
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
        st.sampled_from(["\r\n", '"""', "'''", "\x7f\x00", "\udcff", "\u2028", "# no comment"]),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.lists(st.dictionaries(NAMES, inner, max_size=2), max_size=1),
    max_leaves=3,
)
TREES = st.recursive(
    st.dictionaries(NAMES, VALUES, max_size=3), lambda inner: st.dictionaries(NAMES, inner, max_size=3)
)

TREE: dict[str, Any] = {
    "profiles": {"fast": {"driver": {"agent": {"skills/review/SKILL.md": "sha256:" + "a" * 64, "n": 3}}}},
    "core": {"version": "1.0"},
}


@given(TREES)
def test_what_was_written_is_what_is_read(tree: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "identity.lock"
        written = write_lock(path, tree)
        assert read_lock(path) == written
        assert written.root == root_digest(tree)
        assert canonical_json(dict(read_lock(path).tree)) == canonical_json(normal(tree))


def test_it_is_toml_that_says_in_which_format_it_is(tmp_path: Path) -> None:
    path = tmp_path / "identity.lock"
    write_lock(path, TREE)
    document = tomllib.loads(path.read_text())
    assert list(document) == ["format", "algorithm", "root", "sources"]
    assert document["format"] == FORMAT
    assert document["algorithm"] == "sha256"
    assert list(document["sources"]) == ["core", "profiles"]


def test_the_same_identity_is_the_same_bytes() -> None:
    other = dict(reversed(TREE.items()))
    assert lock_text(Lock(TREE, root_digest(TREE))) == lock_text(Lock(other, root_digest(other)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n = 3", "n = 4"),
        ("aaaa", "aaab"),
        ('version = "1.0"', ""),
        ("n = 3", "n = 3\nm = 1"),
        ("SKILL.md", "SKILL.MD"),
    ],
)
def test_a_change_of_any_source_is_found(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "identity.lock"
    write_lock(path, TREE)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(StoreError, match="changed after it was written") as raised:
        read_lock(path)
    assert raised.value.where == str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "format None"),
        ("format = 2\nalgorithm = 'sha256'", "format 2"),
        ("format = 1\nalgorithm = 'md5'", "'md5'"),
        ("format = ", "no TOML"),
        ("format = 1\nalgorithm = 'sha256'\n[sources]\na = 2020-01-01", "date"),
        ("format = 1\nalgorithm = 'sha256'\n[sources]\na = nan", "compared"),
        ('format = 1\nalgorithm = "sha256"\n[sources]\na = {"$json" = "{"}', "understood"),
        ("format = 1\nalgorithm = 'sha256'\nsources = 3", "understood"),
    ],
)
def test_what_is_no_lock_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "identity.lock"
    path.write_text(text)
    with pytest.raises(StoreError, match=words):
        read_lock(path)


def test_bytes_that_are_no_text_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "identity.lock"
    path.write_bytes(b"\xff")
    with pytest.raises(StoreError, match="no TOML"):
        read_lock(path)


def test_that_there_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no identity\.lock"):
        read_lock(tmp_path / "identity.lock")


def test_a_reserved_name_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no source can have the name"):
        write_lock(tmp_path / "identity.lock", {"a": {"$json": 1}})
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be written"):
        write_lock(tmp_path / "gone" / "identity.lock", TREE)


def test_what_could_not_be_put_in_its_place_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "identity.lock" / "in the way").mkdir(parents=True)
    with pytest.raises(StoreError, match="can't be written"):
        write_lock(tmp_path / "identity.lock", TREE)
    assert [path.name for path in tmp_path.iterdir()] == ["identity.lock"]
