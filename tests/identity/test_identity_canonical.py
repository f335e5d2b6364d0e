"""One byte string for one meaning."""

from __future__ import annotations

import enum
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain.errors import RecordError
from quintain.identity.canonical import canonical_json, digest, digest_bytes

VECTORS: list[tuple[Any, bytes]] = [
    ({}, b"{}"),
    ([], b"[]"),
    (None, b"null"),
    ([True, False, None], b"[true,false,null]"),
    ({"b": 1, "a": [1, 2.5, "x"]}, b'{"a":[1,2.5,"x"],"b":1}'),
    ((1, (2,)), b"[1,[2]]"),
    (2**80 + 1, b"1208925819614629174706177"),
    (-(2**63), b"-9223372036854775808"),
    ([0.1, 1.0, -0.0, 1e16, 1e-7, 5e-324], b"[0.1,1.0,-0.0,1e+16,1e-07,5e-324]"),
    ("é \U0001f600 \u2028", b'"\xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\xa8"'),
    ('"\\/\b\f\n\r\t\x00\x1f\x7f', b'"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f"'),
    ("a\udcffb", b'"a\\udcffb"'),
    ({"\udc80": "\udcff"}, b'{"\\udc80":"\\udcff"}'),
]

escaped_bytes = st.integers(0xDC80, 0xDCFF).map(chr)
text = st.text(st.one_of(st.characters(codec="utf-8"), escaped_bytes))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), text),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(text, inner, max_size=5)),
    max_leaves=20,
)


@pytest.mark.parametrize(("data", "expected"), VECTORS)
def test_the_encoding_is_what_the_vectors_say(data: Any, expected: bytes) -> None:
    assert canonical_json(data) == expected


def test_the_digest_names_its_algorithm() -> None:
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest_bytes(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_keys_are_ordered_by_code_point_and_not_by_utf_16() -> None:
    assert canonical_json({"\U0001f600": 1, "\ue000": 2}) == '{"\ue000":2,"\U0001f600":1}'.encode()


@given(plain)
def test_it_reads_back_as_what_it_was(data: Any) -> None:
    assert json.loads(canonical_json(data)) == data


@given(plain, st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(data: Any, chance: random.Random) -> None:
    assert digest(shuffled(data, chance)) == digest(data)


@given(plain, plain)
def test_what_reads_differently_has_another_digest(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_with_its_path(number: float) -> None:
    with pytest.raises(RecordError) as raised:
        canonical_json({"profiles": [{"weight": 1.0}, {"weight": number}]})
    assert raised.value.path == ("profiles", 1, "weight")


@pytest.mark.parametrize("key", [1, None, True, 2.5, b"bytes", (1,)])
def test_a_key_that_is_no_text_is_refused(key: Any) -> None:
    with pytest.raises(RecordError, match="no text") as raised:
        canonical_json({"outer": {key: 1}})
    assert raised.value.path == ("outer",)


@pytest.mark.parametrize("value", [b"x", {1}, object(), iter(()), 1j])
def test_what_is_no_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(RecordError, match="no plain data") as raised:
        canonical_json([0, value])
    assert raised.value.path == (1,)


def test_endless_nesting_is_an_error_with_a_place() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecordError, match="too deeply"):
        canonical_json({"answer": deep})


def test_a_number_of_absurd_length_is_an_error_and_no_crash() -> None:
    with pytest.raises(RecordError, match="digits"):
        canonical_json({"n": 10**5000})


def test_enumerations_are_encoded_as_their_values() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    assert canonical_json({Colour.RED: Colour.RED}) == b'{"red":"red"}'


def test_hash_seed_and_locale_make_no_difference() -> None:
    code = (
        "from quintain.identity.canonical import digest\n"
        "print(digest({k: list({'b': 1.5, 'a': None}) and k for k in {'x', 'ä', 'z', '\\udcff'}}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, check=True, text=True, timeout=60
        ).stdout
        for env in environments()
    }
    assert len(seen) == 1
    assert next(iter(seen)).startswith("sha256:")


def environments() -> Iterator[dict[str, str]]:
    paths = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    yield {**paths, "PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"}
    yield {**paths, "PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}


def shuffled(data: Any, chance: random.Random) -> Any:
    if isinstance(data, dict):
        pairs = [(key, shuffled(value, chance)) for key, value in data.items()]
        chance.shuffle(pairs)
        return dict(pairs)
    return [shuffled(value, chance) for value in data] if isinstance(data, list) else data
