"""Lines out of bytes: the same however the stream is cut, exact, and bounded."""

from __future__ import annotations

import hashlib
import itertools

from hypothesis import given
from hypothesis import strategies as st
from quintain.process import Line, LineSplitter
from quintain.process._framing import HEAD_BYTES

streams = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"\xff", "☕".encode(), b"\x00"])).map(b"".join)


def split(chunks: list[bytes], limit: int) -> list[Line]:
    splitter = LineSplitter(limit)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    last = splitter.finish()
    return lines if last is None else [*lines, last]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def as_specified(data: bytes, limit: int) -> list[Line]:
    """The rule in its plainest form, for a stream that is there as a whole."""
    *whole, fragment = data.split(b"\n")
    contents = [(content.removesuffix(b"\r"), True) for content in whole]
    if fragment:
        contents.append((fragment, False))
    lines = []
    for content, complete in contents:
        if len(content) <= limit:
            lines.append(Line(content, 0, complete))
        else:
            head = content[: min(limit, HEAD_BYTES)]
            lines.append(Line(head, len(content) - len(head), complete, hashlib.sha256(content).hexdigest()))
    return lines


@given(streams, st.lists(st.integers(min_value=0, max_value=200), max_size=12), st.integers(min_value=0, max_value=8))
def test_lines_do_not_depend_on_where_the_stream_was_cut(data: bytes, places: list[int], limit: int) -> None:
    assert split(cut(data, places), limit) == as_specified(data, limit)


@given(streams)
def test_one_byte_at_a_time_gives_the_same_lines_as_all_at_once(data: bytes) -> None:
    assert split([data[i : i + 1] for i in range(len(data))], 100) == split([data], 100)


@given(streams)
def test_no_byte_is_lost_below_the_limit(data: bytes) -> None:
    lines = split([data], 10_000)
    plain = data.replace(b"\r\n", b"\n")
    assert b"\n".join(line.data for line in lines).rstrip(b"\n") == plain.rstrip(b"\n")


def test_a_character_in_two_pieces_is_one_character() -> None:
    coffee = "☕".encode()
    (line,) = split([coffee[:1], coffee[1:], b"\n"], 100)
    assert (line.text, line.exact) == ("☕", True)


def test_bytes_that_are_not_text_are_kept_and_said_not_to_be_exact() -> None:
    (line,) = split([b"caf\xe9 \x00\n"], 100)
    assert line.data == b"caf\xe9 \x00"
    assert line.text == "caf\N{REPLACEMENT CHARACTER} \x00"
    assert not line.exact


def test_only_a_newline_ends_a_line() -> None:
    separators = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g".encode()
    assert [line.data for line in split([separators + b"\n"], 100)] == [separators]


def test_only_one_carriage_return_belongs_to_the_line_end() -> None:
    assert [line.data for line in split([b"a\r\r\n\r\n"], 100)] == [b"a\r", b""]


def test_a_long_line_keeps_its_head_and_is_counted_and_named_by_its_digest() -> None:
    content = b"0123456789" * 100_000
    long, short = split(cut(content + b"\nafter\n", list(range(0, 1_000_000, 65_536))), 500_000)
    assert long.data == content[:HEAD_BYTES]
    assert long.dropped == len(content) - HEAD_BYTES
    assert long.digest == hashlib.sha256(content).hexdigest()
    assert not long.exact
    assert short == Line(b"after")


def test_a_line_as_long_as_the_limit_is_whole_whatever_its_line_end() -> None:
    lines = split([b"12345\n12345\r\n123456\n12345"], 5)
    assert [(line.data, line.dropped) for line in lines] == [(b"12345", 0), (b"12345", 0), (b"12345", 1), (b"12345", 0)]


def test_a_fragment_at_the_end_is_kept_as_it_came() -> None:
    assert split([b"whole\nhalf\r"], 100) == [Line(b"whole"), Line(b"half\r", complete=False)]


def test_an_empty_stream_has_no_lines_and_an_empty_line_is_one() -> None:
    assert split([], 100) == []
    assert split([b"\n"], 100) == [Line(b"")]
