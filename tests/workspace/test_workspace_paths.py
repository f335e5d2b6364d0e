"""Paths inside a tree, patterns of them, and links between them, without a disk."""

from __future__ import annotations

import glob

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.errors import WorkspaceError
from quintain.model.tree import Entry
from quintain.workspace.paths import LinkError, clean, follow, matcher, parents, shown
from workspace.trees import plant


def fits(pattern: str, path: str, *, dots: bool = False) -> bool:
    return matcher(pattern, dots=dots).fullmatch(path) is not None


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a", "a"), ("./a//b/.", "a/b"), ("a/", "a"), ("", ""), (".", ""), ("...", "..."), ("..a", "..a")],
)
def test_a_path_has_one_spelling(path: str, expected: str) -> None:
    assert clean(path) == expected


@pytest.mark.parametrize("path", ["/etc/passwd", "..", "a/../b", "../a", "a/..", "a\0b"])
def test_a_path_that_leaves_is_refused_in_words(path: str) -> None:
    with pytest.raises(WorkspaceError, match=r"absolute|goes up|NUL"):
        clean(path)


def test_the_directories_above_a_path() -> None:
    assert list(parents("a/b/c")) == ["a/b", "a"]
    assert list(parents("a")) == []


def test_what_can_not_be_printed_is_escaped() -> None:
    assert shown("plain é") == "plain é"
    assert shown("new\nline") == "'new\\nline'"
    assert shown("\udcff\u202e") == "'\\udcff\\u202e'"


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("src/**", "src", False),
        ("src/**/t/*.py", "src/t/a.py", True),
        ("src/**/t/*.py", "src/a/b/t/a.py", True),
        ("src/**/t/*.py", "srct/a.py", False),
        ("**/**/a", "a", True),
        ("**", "x/y", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab]", "b", True),
        ("[!ab]", "b", False),
        ("[!ab]", "/", False),
        ("[a-c]x", "bx", True),
        ("x[]]", "x]", True),
        ("x[", "x[", True),
        ("x[!]]", "xa", True),
        ("[*]", "*", True),
        ("[*]", "a", False),
        ("[a^]", "^", True),
        ("[^a]", "^", True),
        ("a.b", "axb", False),
        ("a+(b)", "a+(b)", True),
        ("*", "new\nline", True),
        ("*", ".hidden", False),
        (".*", ".hidden", True),
        ("**/*", "a/.git/config", False),
        ("**/.git/*", "a/.git/config", True),
        ("?x", ".x", False),
        ("[.]x", ".x", False),
        ("./a", "a", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert fits(pattern, path) is expected


def test_dots_can_be_taken_along() -> None:
    assert fits("**", "a/.git/config", dots=True)
    assert fits("*", ".hidden", dots=True)


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../b"])
def test_a_pattern_that_leaves_is_refused(pattern: str) -> None:
    with pytest.raises(WorkspaceError):
        matcher(pattern)


def test_a_pattern_with_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(WorkspaceError, match="can't be used"):
        matcher("[z-a]")


names = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name.strip("."))
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
wildcards = st.lists(
    st.sampled_from(["**", "*", "a*", "?", "b?", "*.a", ".*", "[ab]", "[!b]*", "a", "b"]), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(st.sets(paths, max_size=8), wildcards.map("/".join))
def test_patterns_find_what_the_shells_do(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], pattern: str
) -> None:
    root = tmp_path_factory.mktemp("glob")
    made = [path for path in sorted(files) if not any(other.startswith(f"{path}/") for other in files)]
    plant(root, dict.fromkeys(made, "x"))
    expected = set(glob.glob(pattern, root_dir=root, recursive=True))  # noqa: PTH207  # knows shells' rule about dots
    assert {path for path in made if fits(pattern, path)} == expected & set(made)


def test_a_pattern_is_matched_in_reasonable_time_whatever_an_agent_calls_its_files() -> None:
    assert not fits("**/*a*a*a*/**/*b", "a" * 200 + "/" + "/".join(["a" * 20] * 100))


# links


def tree(**links: str) -> dict[str, Entry]:
    entries = {"d": Entry("directory", 0o755), "d/e": Entry("directory", 0o755), "d/e/f": Entry("file", 0o644)}
    return entries | {name.replace("__", "/"): Entry("link", 0o777, target=target) for name, target in links.items()}


@pytest.mark.parametrize(
    ("target", "path", "expected"),
    [
        ("d/e/f", "l", "d/e/f"),
        ("d/e", "l/f", "d/e/f"),
        ("./d/./e/", "l/f", "d/e/f"),
        ("d/../d/e", "l/f", "d/e/f"),
        ("nowhere", "l", "nowhere"),
        ("d", "l/e/../e/f", "d/e/f"),
        (".", "l/l/l/d", "d"),
    ],
)
def test_links_are_followed_part_by_part(target: str, path: str, expected: str) -> None:
    assert follow(tree(l=target), path) == expected


def test_a_link_goes_up_from_where_it_leads_and_not_from_where_it_stands() -> None:
    assert follow(tree(l="d/e", d__back="../l/../e/f"), "d/back") == "d/e/f"


def test_a_link_in_the_last_place_can_be_left_alone() -> None:
    assert follow(tree(l="d", d__m="e"), "l/m", last=False) == "d/m"


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "d/../../x", "../../..", "d/out"])
def test_a_link_that_leaves_is_told_from_one_that_goes_in_circles(target: str) -> None:
    with pytest.raises(LinkError, match="out of the workspace") as raised:
        follow(tree(l=target, d__out="../../x"), "l")
    assert raised.value.outside


@pytest.mark.parametrize("links", [{"l": "l"}, {"l": "m", "m": "l"}, {"l": "d/m", "d__m": "../l/x"}])
def test_circles_end(links: dict[str, str]) -> None:
    with pytest.raises(LinkError, match="in circles") as raised:
        follow(tree(**links), "l")
    assert not raised.value.outside


def test_a_long_chain_of_links_is_no_way_to_make_it_wait() -> None:
    links = {f"l{number}": f"l{number + 1}/{'x/' * 50}" for number in range(10_000)}
    with pytest.raises(LinkError, match="in circles"):
        follow({name: Entry("link", 0o777, target=target) for name, target in links.items()}, "l0")
