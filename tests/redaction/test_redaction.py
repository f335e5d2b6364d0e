"""Secrets are gone from whatever is kept, however they were written; everything else stays as it was."""

from __future__ import annotations

import base64
import json
import os
import string
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from quintain.errors import UsageError
from quintain.redaction import SHORTEST, Redactor

KEY = "s3cr3t/+CANARY=="

plain_secrets = st.text("abcXYZ0189-_.~", min_size=6, max_size=40)
odd_secrets = st.text('abnu0e9\\/"+= %&<é☕🎉\n\t\udcff', min_size=6, max_size=14).filter(
    lambda text: len(text.strip()) >= 6
)
secrets = plain_secrets | odd_secrets
around = st.text('abnu0e9\\/"+= é☕\n{}[]:,', max_size=12)

UNRESERVED = string.ascii_letters + string.digits + "-._"


def redactor(*values: str) -> Redactor:
    return Redactor.of({f"S{number}": value for number, value in enumerate(values)})


# the ways to write a secret


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        base64.b64encode(KEY.encode()).decode().rstrip("="),
        quote(KEY),
        quote(KEY, safe=""),
        "s3cr3t%2f%2bCANARY%3d%3D",
        quote(quote(KEY, safe=""), safe=""),
        json.dumps(KEY)[1:-1],
        KEY.replace("/", "\\/"),
        KEY.replace("=", "\\u003d"),
        KEY.replace("=", "\\u003D"),
        json.dumps(json.dumps(KEY.replace("/", "\\/")))[3:-3],
        KEY.replace("/", "_"),
    ],
)
def test_a_secret_is_marked_by_its_name_however_it_is_written(written: str) -> None:
    known = Redactor.of({"API_KEY": KEY})
    assert known.text(f"key: {written} !") == "key: [redacted:API_KEY] !"
    assert b"[redacted:API_KEY]" in known.data(f"key: {written} !".encode())


def test_a_secret_that_the_agent_split_is_not_found() -> None:
    """As the documentation says."""
    split = KEY[:8] + "\n" + KEY[8:]
    assert Redactor.of({"API_KEY": KEY}).text(split) == split


@given(around, secrets, around)
def test_no_secret_stays_in_a_text(before: str, secret: str, after: str) -> None:
    known = redactor(secret)
    clean = known.text(before + secret + after)
    assert secret.strip() not in clean
    assert known.text(clean) == clean


@given(
    st.text(st.characters(codec=None, exclude_categories=()), min_size=6).filter(lambda text: len(text.strip()) >= 6)
)
def test_any_text_can_be_a_secret(secret: str) -> None:
    clean = redactor(secret).text(f"<{secret}>>")
    assert secret.strip() not in clean
    assert clean.startswith("<")
    assert clean.endswith(">")


@given(around, secrets, around, st.booleans(), st.integers(1, 3))
def test_no_secret_stays_in_json_and_json_stays_json(
    before: str, secret: str, after: str, ascii: bool, depth: int
) -> None:
    assume('"' not in secret)
    line = before + secret + after
    for _ in range(depth):
        line = json.dumps({"k": [line]}, ensure_ascii=ascii)
    clean = redactor(secret).text(line)
    value: Any = json.loads(clean)["k"][0]
    for _ in range(depth - 1):
        # What was inside JSON as text is gone from it too, if it can still be read.
        assert secret.strip() not in value
        try:
            value = json.loads(value)["k"][0]
        except (ValueError, KeyError, TypeError, IndexError):
            return
    assert secret.strip() not in value


@given(around, secrets, around, st.booleans())
def test_a_secret_with_quotes_is_gone_from_json(before: str, secret: str, after: str, ascii: bool) -> None:
    clean = redactor(secret).text(json.dumps(json.dumps(before + secret + after, ensure_ascii=ascii)))
    assert secret.strip() not in clean
    for escaped in (json.dumps(secret.strip())[1:-1], json.dumps(json.dumps(secret.strip()))[3:-3]):
        assert escaped not in clean


json_texts = st.recursive(
    st.text('abnu0e9\\/\n"{}é\udcff', max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("nu0e9\\", max_size=4), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=400)
@given(json_texts, st.text("nu0e9\\/abé", min_size=6, max_size=9), st.booleans())
@example({"a": "\nsecret"}, "nsecret", True)
@example({"a": "xéabcdef"}, "00e9abcdef", True)
@example({"a": "xéabcdef"}, "9abcdef", True)
@example({"a": 'abcdef"'}, "abcdef\\", True)
@example({"a": 'abcdef\\"x'}, "abcdef\\", True)
@example({"a": "abcdefé"}, "abcdef\\", True)
@example({"a": "abcdefé"}, "abcdef\\u00", True)
@example({"a": "\\nsecret"}, "nsecret", True)
@example({"a": "abcde\nx"}, "abcde\\n", True)
@example({"a": "abcde\\"}, "abcde\\", True)
def test_no_escape_is_torn(value: Any, secret: str, ascii: bool) -> None:
    """Also where a secret seems to begin or end in the middle of one."""
    if isinstance(value, dict):
        value["more"] = f"x\\{secret}\\x{secret}é{secret}"
    clean = redactor(secret).text(json.dumps(value, ensure_ascii=ascii))
    assert secret not in json.dumps(json.loads(clean), ensure_ascii=False).replace("\\\\", "\\") or _only_by_joining(
        clean, secret
    )


@pytest.mark.parametrize("after", ["\\u00e9", "\\n", '\\"', "\\\\"])
def test_an_escape_that_a_secret_seems_to_end_in_goes_as_a_whole(after: str) -> None:
    """`abcdef` and an escape look like the secret `abcdef` with a backslash at its end."""
    assert redactor("abcdef\\").text(f'["abcdef{after}x"]') == '["[redacted:S0]x"]'


def _only_by_joining(clean: str, secret: str) -> bool:
    """The secret is in no single text of it."""

    def texts(value: Any) -> list[str]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, dict):
            return [text for pair in value.items() for one in pair for text in texts(one)]
        return [text for one in value for text in texts(one)]

    return not any(secret in text for text in texts(json.loads(clean)))


@pytest.mark.parametrize(
    ("encode", "decode"),
    [
        (lambda text: quote(text, safe=""), unquote),
        (quote, unquote),
        (quote_plus, unquote_plus),
        (
            lambda text: "".join(
                f"%{byte:02x}" if chr(byte) not in UNRESERVED else chr(byte) for byte in text.encode()
            ),
            unquote,
        ),
    ],
)
def test_no_secret_stays_in_a_url(encode: Callable[[str], str], decode: Callable[[str], str]) -> None:
    @given(around, secrets.filter(lambda text: text.isprintable()), around)
    def gone(before: str, secret: str, after: str) -> None:
        clean = redactor(secret).text("https://x/?q=" + encode(before + secret + after))
        assert secret.strip() not in decode(clean)

    gone()


@given(st.binary(max_size=7), secrets, st.binary(max_size=7), st.booleans())
@example(b"ab", "abcdef", b"", False)
@example(b"a", "abcdef", b"a", True)
def test_no_secret_stays_in_base64_wherever_it_begins(before: bytes, secret: str, after: bytes, urlsafe: bool) -> None:
    value = secret.strip().encode("utf-8", "surrogateescape")
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    encoded = encode(before + value + after).decode()
    first, last = -(-len(before) * 8 // 6), (len(before) + len(value)) * 8 // 6
    clean = redactor(secret).text(f"x {encoded} y")
    assert encoded[first:last] not in clean, "all characters that the secret alone decides"


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_what_stands_around_a_secret_in_base64_stays(before: bytes, after: bytes) -> None:
    value = b"S3CR3T-VALUE!"
    encoded = base64.b64encode(before + value + after).decode()
    first, last = -(-len(before) * 8 // 6), (len(before) + len(value)) * 8 // 6
    clean = Redactor.of({"A": value.decode()}).text(encoded)
    # At the end of the text the character that holds but a few bits of it goes too.
    assert clean in {f"{encoded[:first]}[redacted:A]{rest}" for rest in (encoded[last:], encoded[last + 1 :], "")}


@given(st.integers(0, 2), secrets)
def test_no_secret_stays_in_json_inside_base64(shift: int, secret: str) -> None:
    document = json.dumps({"k": secret}).encode()
    encoded = base64.b64encode(b"x" * shift + document).decode()
    clean = redactor(secret).text(encoded)
    assert clean != encoded
    inside = json.dumps(secret.strip())[1:-1].encode()
    at = shift + document.index(inside)
    assert encoded[-(-at * 8 // 6) : (at + len(inside)) * 8 // 6] not in clean


# bytes


@given(st.binary(max_size=20), secrets, st.binary(max_size=20))
def test_no_secret_stays_in_bytes_that_are_no_text(before: bytes, secret: str, after: bytes) -> None:
    value = secret.strip()
    assume("\udcff" not in value)
    clean = redactor(secret).data(before + value.encode() + after)
    assert value.encode() not in clean


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_the_bytes_around_a_secret_stay(before: bytes, after: bytes) -> None:
    assume(b"\\" not in before)
    clean = Redactor.of({"A": "S3CR3T-VALUE"}).data(before + b"S3CR3T-VALUE" + after)
    assert clean == before + b"[redacted:A]" + after


def test_a_secret_that_is_no_utf_8_is_found_as_the_environment_gives_it() -> None:
    data = b"\xe9\xe8\xe7-latin-\xff"
    known = Redactor.of({"A": os.fsdecode(data)})
    assert known.data(b"x" + data + b"y") == b"x[redacted:A]y"


# what is no secret


@given(st.text(st.characters(codec=None, exclude_categories=())), st.binary())
def test_what_holds_no_secret_is_the_same_object(text: str, data: bytes) -> None:
    known = Redactor.of({"A": "an-improbable-value/+é"})
    assert known.text(text) is text
    assert known.data(data) is data


def test_what_only_begins_like_a_secret_stays() -> None:
    known = Redactor.of({"A": "abcdefgh"})
    assert known.text("abcdefg abcdef bcdefgh ABCDEFGH") == "abcdefg abcdef bcdefgh ABCDEFGH"


def test_a_redactor_of_nothing_does_nothing() -> None:
    for known in (Redactor(), Redactor.of({}), Redactor.of({"A": "", "B": " \n"})):
        assert not known.active
        assert known.names == ()
        assert known.text(KEY) == KEY
        assert known.data(KEY.encode()) == KEY.encode()
        assert known.data_or_none is None


@pytest.mark.parametrize("value", ["a", "12345", "abc  \n  ", "é" * 5])
def test_a_value_too_short_to_be_told_from_text_is_refused_without_being_told(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Redactor.of({"GOOD": KEY, "PIN": value})
    assert "PIN" in str(caught.value)
    assert value.strip() not in str(caught.value).replace("PIN", "").replace("pass_env", "") or value == "a"
    assert SHORTEST == 6


def test_white_space_around_a_value_is_no_part_of_the_secret() -> None:
    assert Redactor.of({"A": "  abcdef\n"}).text("(abcdef)") == "([redacted:A])"


def test_long_lines_of_a_secret_of_several_lines_are_found_one_by_one() -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "short", "-----END PRIVATE KEY-----"]
    known = Redactor.of({"PEM": "\n".join(lines)})
    assert [known.text(line) for line in lines] == ["[redacted:PEM]"] * 2 + ["short"] + ["[redacted:PEM]"]
    assert known.text(json.dumps("\n".join(lines))) == '"[redacted:PEM]"'


# several secrets


@given(st.lists(secrets, min_size=2, max_size=4, unique=True), st.data())
def test_none_of_several_secrets_stays(values: list[str], data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from(values) | around, max_size=8))
    known = redactor(*values)
    clean = known.text("".join(pieces))
    assert not [value for value in values if value.strip() in clean]
    assert known.text(clean) == clean


def test_secrets_that_overlap_are_gone_as_a_whole() -> None:
    known = Redactor.of({"A": "abcdefgh", "B": "efghijklmnop"})
    assert known.text("-abcdefghijklmnop-") == "-[redacted:A][redacted:B]-"


@given(st.text("ab", min_size=6, max_size=8), st.text("ab", min_size=6, max_size=8), st.text("ab", max_size=40))
def test_nothing_stays_of_secrets_that_overlap_in_any_way(one: str, other: str, text: str) -> None:
    covered = [False] * len(text)
    for value in (one, other):
        for at in range(len(text)):
            if text.startswith(value, at):
                covered[at : at + len(value)] = [True] * len(value)
    left = "".join(char for char, hidden in zip(text, covered, strict=True) if not hidden)
    clean = redactor(one, other).text(text)
    assert clean.replace("[redacted:S0]", "").replace("[redacted:S1]", "") == left


def test_a_secret_inside_another_is_gone_with_it() -> None:
    known = Redactor.of({"SHORT": "abcdef", "LONG": "xabcdefx"})
    assert known.text("xabcdefx abcdef") == "[redacted:LONG][redacted:SHORT] [redacted:SHORT]"


def test_one_value_under_two_names_is_marked_by_the_first() -> None:
    assert Redactor.of({"A": KEY, "B": KEY}).text(KEY) == "[redacted:A]"


# the mark itself


@pytest.mark.parametrize(
    "value", ["redacted", "acted:", "[redacted:A]", "API_KEY", "]aaaaa", "aaaaa[", "d:API_", "******"]
)
def test_a_mark_is_never_a_secret_nor_part_of_one(value: str) -> None:
    known = Redactor.of({"API_KEY": value})
    clean = known.text(f"x{value}{value}aaaaaaa[redacted:API_KEY]")
    assert value not in clean
    assert known.text(clean) == clean


@settings(max_examples=300)
@given(
    st.lists(st.text("[]redact:S01*", min_size=6, max_size=9), min_size=1, max_size=3, unique=True),
    st.text("[]redact:S01*", max_size=30),
    st.data(),
)
def test_pieces_that_a_mark_joins_make_no_secret(values: list[str], text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    known = redactor(*values)
    clean = known.text(text[:at] + data.draw(st.sampled_from(values)) + text[at:])
    assert not [value for value in values if value in clean]


def test_a_name_that_would_break_what_it_stands_in_is_made_harmless() -> None:
    known = Redactor.of({'A"\\\n]b': KEY})
    assert json.loads(known.text(json.dumps({"k": KEY}))) == {"k": "[redacted:A____b]"}


# cost


@pytest.mark.parametrize("secret", ['"abcdef', "\\abcdef", "/" * 40, "aaaaaa", "é" * 40, "\\" * 30 + "a"])
def test_no_text_makes_the_search_endless(secret: str) -> None:
    known = redactor(secret)
    for char in {*secret, "\\", "%", "a"}:
        known.text(char * 30_000)
