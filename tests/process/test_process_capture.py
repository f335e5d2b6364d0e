"""The head and tail of a stream of any length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from quintain.process import Captured
from quintain.process._capture import Capture

sizes = st.integers(min_value=0, max_value=10)


@given(st.lists(st.binary(max_size=12)), sizes, sizes)
def test_head_and_tail_are_those_of_the_stream_and_the_rest_is_counted(
    chunks: list[bytes], head: int, tail: int
) -> None:
    capture = Capture(head, tail)
    for chunk in chunks:
        capture.feed(chunk)
    kept, stream = capture.captured(), b"".join(chunks)
    assert kept.head == stream[:head]
    rest = stream[head:]
    assert kept.tail == rest[max(0, len(rest) - tail) :]
    assert kept.total == len(stream)
    assert kept.dropped == max(0, len(stream) - head - tail)


def test_looking_does_not_disturb() -> None:
    capture = Capture(2, 2)
    capture.feed(b"abcdef")
    assert capture.captured() == capture.captured() == Captured(b"ab", b"ef", 6)
    capture.feed(b"g")
    assert capture.captured() == Captured(b"ab", b"fg", 7)


def test_the_text_says_how_much_is_missing_and_where() -> None:
    assert Captured(b"ab", b"ef", 1006).text() == "ab\n[... 1002 bytes left out ...]\nef"


def test_a_whole_stream_is_whole_text_even_across_head_and_tail() -> None:
    coffee = "☕".encode()
    assert Captured(coffee[:1], coffee[1:], 3).text() == "☕"
