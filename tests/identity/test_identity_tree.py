"""Identities: one root for one meaning, and every difference has a name."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain.errors import RecordError
from quintain.identity.canonical import canonical_json
from quintain.identity.tree import (
    Difference,
    DifferenceKind,
    difference,
    flatten,
    leaves,
    normal,
    root_digest,
    safe_name,
)

NAMES = st.text(st.characters(codec="utf-8"), max_size=4)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    NAMES,
    st.lists(st.one_of(st.integers(0, 2), NAMES), max_size=2),
)
TREES = st.recursive(
    st.dictionaries(NAMES, VALUES, max_size=3), lambda inner: st.dictionaries(NAMES, inner, max_size=3)
)

DIGEST = "sha256:" + "0" * 64
OTHER = "sha256:" + "f" * 64

VECTORS: list[tuple[dict[str, Any], str]] = [
    ({}, "{}"),
    ({"b": 1, "a": 1.0}, '{"a":1.0,"b":1}'),
    ({"a": {"y": True, "x": None, "w": {}}}, '{"a":{"y":true}}'),
    ({"ä": "é\n\x00", "Z": ("1", [2])}, '{"Z":["1",[2]],"ä":"é\\n\\u0000"}'),
    ({"skills/review/SKILL.md": DIGEST}, f'{{"skills/review/SKILL.md":"{DIGEST}"}}'),
    ({"n": 2**70, "f": 1e300, "small": 5e-324}, '{"f":1e+300,"n":1180591620717411303424,"small":5e-324}'),
]


@pytest.mark.parametrize(("tree", "encoded"), VECTORS)
def test_a_tree_has_one_encoding_and_its_root_is_the_digest_of_it(tree: dict[str, Any], encoded: str) -> None:
    assert canonical_json(normal(tree)) == encoded.encode()
    assert root_digest(tree) == f"sha256:{hashlib.sha256(encoded.encode()).hexdigest()}"


def test_the_root_of_nothing_is_known() -> None:
    assert root_digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@given(TREES)
def test_the_order_of_keys_says_nothing(tree: dict[str, Any]) -> None:
    assert root_digest(_reversed(tree)) == root_digest(tree)


@given(TREES)
def test_what_is_empty_is_as_if_it_were_not_there(tree: dict[str, Any]) -> None:
    assert root_digest({**tree, "nothing more": {"at all": {}, "whatever": None}}) == root_digest(tree)


@given(TREES, TREES)
def test_nothing_differs_if_and_only_if_the_roots_are_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (difference(one, other) == ()) == (root_digest(one) == root_digest(other))
    assert difference(one, one) == ()


@given(TREES, TREES)
def test_a_difference_the_other_way_round_is_the_same_with_its_sides_swapped(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    swapped: dict[str, DifferenceKind] = {"added": "removed", "removed": "added", "changed": "changed"}
    back = [Difference(d.name, d.after, d.before, swapped[d.kind]) for d in difference(other, one)]
    assert list(difference(one, other)) == back


@given(TREES)
def test_every_leaf_has_a_name_of_its_own(tree: dict[str, Any]) -> None:
    assert len(flatten(tree)) == len(leaves(tree))


def test_names_are_dotted_and_not_quoted() -> None:
    tree = {"profiles": {"fast": {"driver": {"agent-like": {"skills/review/SKILL.md": DIGEST}}}}}
    assert flatten(tree) == {"profiles.fast.driver.agent-like.skills/review/SKILL.md": DIGEST}


def test_two_sources_never_share_a_name() -> None:
    assert flatten({"a": {"b": 1}, "a.b": 2}) == {"a.b": 1, '["a.b"]': 2}


def test_the_name_of_what_changed_is_told_with_both_sides() -> None:
    before = {"profiles": {"fast": {"skills/review/SKILL.md": DIGEST, "model": "m1", "gone": 1}}}
    after = {"profiles": {"fast": {"skills/review/SKILL.md": OTHER, "model": "m2", "new": [1]}}}
    assert [str(one) for one in difference(before, after)] == [
        "profiles.fast.gone is gone (1 before)",
        'profiles.fast.model changed from "m1" to "m2"',
        "profiles.fast.new was added ([1])",
        "profiles.fast.skills/review/SKILL.md changed from sha256:000000000000 to sha256:ffffffffffff",
    ]


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0, False), ("1", 1), ([], "[]"), ([1], [1.0])])
def test_values_of_different_kinds_are_different(one: Any, other: Any) -> None:
    (found,) = difference({"a": one}, {"a": other})
    assert found.kind == "changed"


def test_a_long_value_is_told_in_short() -> None:
    (found,) = difference({"a": "x" * 5000}, {"a": "y"})
    assert len(str(found)) < 200
    assert found.before == "x" * 5000


@pytest.mark.parametrize(
    "tree", [{"a": {"b": float("nan")}}, {"a": {"b": object()}}, {"a": {1: 2}}, {"a": {"\udcff": 1}}]
)
def test_what_is_no_plain_data_is_refused_with_its_place(tree: Any) -> None:
    with pytest.raises(RecordError) as raised:
        root_digest(tree)
    assert raised.value.where is not None
    assert raised.value.where.startswith("a")


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_file_names_of_any_bytes_have_names_of_their_own(names: list[str]) -> None:
    safe = [safe_name(name) for name in names]
    assert safe[0] != safe[1]
    assert root_digest({safe[0]: 1}) != root_digest({safe[1]: 1})


def _reversed(tree: Any) -> Any:
    return {name: _reversed(tree[name]) for name in reversed(tree)} if isinstance(tree, dict) else tree
