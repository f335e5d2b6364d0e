"""Lines of protocol 2 into events."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quintain import (
    Artifact,
    Asked,
    Done,
    Event,
    Failed,
    Failure,
    Log,
    Message,
    Option,
    Progress,
    ProtocolError,
    Question,
    Ready,
    Reasoning,
    Tokens,
    ToolCall,
    ToolResult,
    Traced,
    Unknown,
    Used,
)
from quintain.driving import DEPTH, LOGGED, QUOTED
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.process import Line
from quintain_driver_subprocess._fields import nearest
from quintain_driver_subprocess._messages import wire
from quintain_driver_subprocess._parser import Parser

Say = Callable[..., list[Event]]
READY = {"type": "ready"}


def _stored(event: Event) -> Event:
    """What a trace gives back."""
    return from_plain(json.loads(dumps(to_plain(Traced(1, 0.0, event)))), Traced).event


WHOLE: dict[str, tuple[dict[str, Any], Event]] = {
    "ready": (
        {"agent": "a", "version": "1", "model": "m", "session": "s", "detail": {"tools": ["x"]}},
        Ready("a", "1", "m", "s", {"tools": ["x"]}),
    ),
    "message": ({"text": "hi", "id": "m1", "agent": "sub"}, Message("hi", "m1", "sub")),
    "reasoning": ({"text": "hm", "agent": "sub"}, Reasoning("hm", "sub")),
    "tool_call": (
        {"id": "t1", "name": "sh", "input": {"c": [1]}, "agent": "sub", "server": "files"},
        ToolCall("t1", "sh", {"c": [1]}, "sub", "files"),
    ),
    "tool_result": (
        {"id": "t1", "name": "sh", "text": "no", "output": [1], "error": True, "denied": True, "duration_s": 2},
        ToolResult("t1", "sh", "no", [1], True, True, 2.0),
    ),
    "question": (
        {"id": "q1", "text": "which?", "options": ["a", {"label": "b", "description": "B"}], "several": True},
        Asked(Question("q1", "ask", "which?", (Option("a"), Option("b", "B")), True)),
    ),
    "progress": ({"text": "half", "detail": {"share": 0.5}}, Progress("half", {"share": 0.5})),
    "artifact": (
        {"path": "out/a.md", "name": "A", "media_type": "text/markdown"},
        Artifact("out/a.md", "A", "text/markdown"),
    ),
    "done": (
        {"text": "fin", "error": True, "failure": "rate_limit", "denials": 2, "detail": {"turns": 3}},
        Done("fin", True, Failure.RATE_LIMIT, 2, {"turns": 3}),
    ),
    "error": ({"reason": "no", "failure": "auth", "detail": {"code": 401}}, Failed("no", Failure.AUTH, {"code": 401})),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_every_field_of_a_message_arrives(say: Say, kind: str) -> None:
    fields, event = WHOLE[kind]
    events = say({"type": kind, **fields}) if kind == "ready" else say(READY, {"type": kind, **fields})[1:]
    assert events == [event]


@pytest.mark.parametrize("kind", WHOLE)
def test_null_is_as_good_as_absent_where_a_field_is_optional(say: Say, kind: str) -> None:
    needed = {"message": ["text"], "reasoning": ["text"], "tool_call": ["id", "name"], "tool_result": ["id"]}
    needed |= {"question": ["id", "text"], "progress": ["text"], "artifact": ["path"], "error": ["reason"]}
    fields = {name: value if name in needed.get(kind, []) else None for name, value in WHOLE[kind][0].items()}
    short = {name: value for name, value in fields.items() if value is not None}
    assert say({"type": kind, **fields}) == say({"type": kind, **short})
    assert not any(isinstance(event, ProtocolError) for event in say({"type": kind, **fields}))


def test_approvals_and_custom_questions_carry_their_payload(say: Say) -> None:
    approve = {
        "type": "question",
        "id": "q1",
        "kind": "approve",
        "text": "rm?",
        "payload": {"tool": "sh"},
        "agent": "s",
    }
    custom = {"type": "question", "id": "q2", "kind": "custom", "payload": None}
    assert say(READY, approve, custom)[1:] == [
        Asked(Question("q1", "approve", "rm?", payload={"tool": "sh"}, agent="s")),
        Asked(Question("q2", "custom")),
    ]


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ('{"type":"progress"}', "text", "`text` is missing"),
        ('{"type":"message","text":null}', "text", "must be a text, not null"),
        ('{"type":"message","text":["a"]}', "text", "must be a text, not a list"),
        ('{"type":"message","text":"a","id":5}', "id", "not 5"),
        ('{"type":"dnoe"}', "type", "there is no type `dnoe`; is `done` meant?"),
        ('{"type":"tool-call","id":"1"}', "type", "is `tool_call` meant?"),
        ('{"type":"toolResult","id":"1"}', "type", "is `tool_result` meant?"),
        ('{"type":5}', "type", "not 5"),
        ('{"type":""}', "type", "at least one character"),
        ('{"a":NaN}', "type", "`type` is missing"),
        ('{"type":"progress","text":"a","detail":{"x":[1,NaN]}}', "detail.x.1", "NaN"),
        ('{"type":"tool_call","id":"1","name":"n","input":{"x":1e400}}', "input.x", "infinite"),
        ('{"type":"hologram","x":-Infinity}', "x", "infinite"),
        ('{"type":"done","text":"A","text":"B"}', "text", "`text` is there twice"),
        ('{"type":"progress","text":"a","detail":{"x":1,"x":2}}', "x", "`x` is there twice"),
        ('{"type":"tool_result","id":"1","duration_s":-1}', "duration_s", "at least 0, not -1"),
        ('{"type":"tool_result","id":"1","error":1}', "error", "true or false, not 1"),
        ('{"type":"tool_call","id":"","name":"n"}', "id", "at least one character"),
        ('{"type":"question","id":"1","kind":"beg","text":"x"}', "kind", '"ask", "approve" or "custom"'),
        ('{"type":"question","id":"1","kind":"custom"}', "payload", "`payload` is missing"),
        ('{"type":"question","id":"1","text":"x","options":[3]}', "options.0", "a text or an object"),
        ('{"type":"question","id":"1","text":"x","options":["a",{}]}', "options.1.label", "is missing"),
        ('{"type":"artifact","path":"../secret"}', "path", "inside the workspace"),
        ('{"type":"artifact","path":"/etc/passwd"}', "path", "inside the workspace"),
        ('{"type":"done","denials":1.5}', "denials", "a whole number of at least 0"),
        ('{"type":"done","detail":[]}', "detail", "an object, not a list"),
        ('{"type":"usage","scope":"call"}', "input", "missing"),
        ('{"type":"usage","output":1,"scope":"year"}', "scope", '"call" or "total"'),
        ("[1,2]", None, "another JSON value"),
        ('"text"', None, "another JSON value"),
        ("7", None, "another JSON value"),
        ("null", None, "another JSON value"),
        ("[" * 5000 + "]" * 5000, None, f"deeper than {DEPTH} levels"),
        ('{"type":"progress","text":"a","detail":' + '{"x":' * 5000 + "1" + "}" * 5001, None, "deeper"),
        ('{"type":"done","denials":' + "9" * 5000 + "}", None, "thousands of digits"),
        ('{"type":"done",}', None, "not valid JSON"),
        ('{"type":"message","text":"a\x01"}', None, "not valid JSON"),
        ('{"type":"done"}{"type":"done"}', None, "Extra data at character 16"),
    ],
)
def test_a_wrong_message_is_quoted_with_its_line_and_field(say: Say, line: str, field: str | None, words: str) -> None:
    *_, error, after = say(READY, line, {"type": "message", "text": "still here"})
    errors = [event for event in say(READY, line) if isinstance(event, ProtocolError)]
    assert len(errors) == 1
    error = errors[0]
    assert (error.number, error.field) == (2, field)
    assert words in error.message
    assert error.line.startswith(line[:QUOTED])
    assert after == Message("still here")


def test_the_quote_of_a_wrong_line_is_bounded(say: Say) -> None:
    (error,) = say({"type": "mesage", "text": "x" * 100_000})
    assert isinstance(error, ProtocolError)
    assert len(error.line) == QUOTED + 3


def test_nesting_up_to_the_limit_is_fine(say: Say) -> None:
    deep: Any = 1
    for _ in range(DEPTH - 1):
        deep = [deep]
    many: list[Any] = [{} for _ in range(1000)]
    assert say(READY, {"type": "tool_call", "id": "1", "name": "n", "input": deep})[1:] == [ToolCall("1", "n", deep)]
    assert say(READY, {"type": "tool_call", "id": "1", "name": "n", "input": many})[1:] == [ToolCall("1", "n", many)]


def test_an_unknown_type_is_kept_and_the_rest_goes_on(say: Say) -> None:
    line = {"type": "rate_limit_event", "info": {"status": "allowed"}}
    assert say(READY, line, {"type": "message", "text": "still here"})[1:] == [
        Unknown("rate_limit_event", line),
        Message("still here"),
    ]


@pytest.mark.parametrize("word", ["dnoe", "don", "donne", "dond", "Done", "DONE"])
def test_a_slip_of_a_known_word_is_recognised(word: str) -> None:
    assert nearest(word, ["done", "error"]) == "done"


@pytest.mark.parametrize("word", ["do", "finished", "error_during_execution", "undone", "enod", ""])
def test_another_word_is_no_slip(word: str) -> None:
    assert nearest(word, ["done", "error", "id"]) is None


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_one_wrong_letter_never_makes_an_unknown_type(kind: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(kind) - 1))
    letter = data.draw(st.characters(codec="ascii", categories=["Ll"]))
    assert nearest(kind[:place] + letter + kind[place + 1 :], WHOLE) is not None
    assert nearest(kind[:place] + kind[place + 1 :], WHOLE) is not None
    assert nearest(kind[:place] + letter + kind[place:], WHOLE) is not None


def test_a_misspelled_field_is_told_beside_the_message(say: Say) -> None:
    error, done = say(READY, {"type": "done", "txet": "x", "cost": 1, "extra": {}})[1:]
    assert done == Done()
    assert isinstance(error, ProtocolError)
    assert (error.field, error.message) == ("txet", "`txet` is ignored; is `text` meant?")


def test_text_that_is_no_json_is_log_output(say: Say) -> None:
    said = [
        "Now using node v20.1.0",
        "{not json}",
        "[1/4] Resolving packages",
        "  indented",
        "true story",
        '"quoted" he said',
    ]
    assert say(*said) == [Log(text) for text in said]


def test_long_log_lines_are_cut_and_counted(say: Say) -> None:
    (event,) = say("é" * (LOGGED + 10))
    assert event == Log("é" * LOGGED, dropped=20)


def test_colours_titles_and_marks_around_json_are_left_out(say: Say) -> None:
    assert say(
        b"\xef\xbb\xbf" + b'{"type":"ready"}\r',
        b"\r",
        b"   ",
        b"\x1b[?2004h\x1b[32mnpm notice\x1b[0m new version",
        b'\x1b[0m\x1b]0;a title\x07{"type":"message","text":"ok\\r\\nok"}\x1b[K\x1b]8;;http://e/\x1b\\',
    ) == [Ready(), Log("npm notice new version"), Message("ok\r\nok")]


def test_escape_sequences_inside_a_text_stay(say: Say) -> None:
    assert say(READY, {"type": "message", "text": "\x1b[31mred\x1b[0m \u2028\x00"})[1:] == [
        Message("\x1b[31mred\x1b[0m \u2028\x00")
    ]


def test_half_of_a_character_is_kept_and_told(say: Say) -> None:
    error, done = say(READY, b'{"type":"done","text":"half \\ud83d and \\udcb2"}')[1:]
    assert done == Done("half \ud83d and \udcb2")
    assert isinstance(error, ProtocolError)
    assert error.field == "text"
    assert _stored(done) == done


def test_both_halves_together_are_a_character(say: Say) -> None:
    assert say(READY, b'{"type":"done","text":"\\ud83c\\udf89"}')[1:] == [Done("🎉")]


def test_bytes_that_are_no_text_are_replaced_and_told(say: Say) -> None:
    noise, ready, error, message = say(b"\x00\xff\xfe binary", READY, b'{"type":"message","text":"caf\xe9"}')
    assert (noise, ready) == (Log("\x00\ufffd\ufffd binary"), Ready())
    assert message == Message("caf\ufffd")
    assert isinstance(error, ProtocolError)
    assert "not UTF-8" in error.message


def test_a_cut_line_is_marked_with_what_is_missing() -> None:
    parser = Parser(wire("disjoint"))
    (error,) = parser.feed(Line(b'{"type":"message","text":"aaa', dropped=12_000_000))
    assert isinstance(error, ProtocolError)
    assert "12000029 bytes" in error.message
    assert "12000000" in error.message
    assert parser.feed(Line(b"noise", dropped=5)) == [Log("noise", dropped=5)]


def test_a_fragment_at_the_end_is_taken_if_it_is_whole() -> None:
    parser = Parser(wire("disjoint"))
    assert parser.feed(Line(b'{"type":"done"}', complete=False)) == [Ready(), Done()]
    for fragment in (b'{"type":"message","text":"I was sa', b'{"ty'):
        (error,) = parser.feed(Line(fragment, complete=False))
        assert isinstance(error, ProtocolError)
        assert "in the middle" in error.message
    assert parser.feed(Line(b"bye", complete=False)) == [Log("bye")]


def test_an_agent_that_never_says_ready_is_ready_when_it_says_something(say: Say) -> None:
    events = say("banner", {"type": "progress", "text": "up"}, {"type": "message", "text": "a"}, {"type": "done"})
    assert events == [Log("banner"), Progress("up"), Ready(), Message("a"), Done()]


def test_ready_is_said_once(say: Say) -> None:
    first, second = say(READY, {"type": "ready", "model": "other"})
    assert first == Ready()
    assert isinstance(second, ProtocolError)


def test_the_id_of_a_question_is_used_once(say: Say) -> None:
    question = {"type": "question", "id": "q1", "text": "x"}
    _, first, second = say(READY, question, question)
    assert isinstance(first, Asked)
    assert isinstance(second, ProtocolError)
    assert second.field == "id"


def test_what_comes_after_the_end_is_still_told(say: Say) -> None:
    assert say({"type": "done"}, {"type": "message", "text": "late"}, {"type": "done"}) == [
        Ready(),
        Done(),
        Message("late"),
        Done(),
    ]


# usage


def _usage(events: list[Event]) -> Any:
    (used,) = [event for event in events if isinstance(event, Used)]
    return used.usage


def test_usage_carries_tokens_cost_and_whose_they_are(say: Say) -> None:
    counts = {"input": 700, "cache_read": 300, "cache_write": 5, "output": 80, "reasoning": 25}
    usage = _usage(say({"type": "usage", **counts, "cost_usd": 0.5, "model": "m", "id": "c1", "agent": "s"}))
    assert usage.tokens == Tokens(700, 300, 5, 80, 25)
    assert (usage.cost.usd, usage.model, usage.id, usage.agent) == (0.5, "m", "c1", "s")
    assert (usage.scope, usage.problem) == ("call", None)


def test_both_dialects_of_cached_tokens_mean_the_same(say: Say) -> None:
    beside = {"type": "usage", "input": 700, "cache_read": 300, "output": 80}
    among = {"type": "usage", "input": 1000, "cache_read": 300, "output": 80, "reasoning": 25}
    assert _usage(say(beside)).tokens == Tokens(700, 300, 0, 80)
    assert _usage(say(among, dialect="inclusive")).tokens == Tokens(700, 300, 0, 80, 25)


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({"input": -5, "output": 2}, "negative"),
        ({"input": 10, "cache_read": 400, "output": 2}, "exceed"),
        ({"input": "12", "output": 3}, "not a whole number"),
        ({"input": "12", "output": None}, "`output` missing"),
        ({"input": 9e15, "output": 1}, "not a whole number"),
        ({"input": 9 * 10**15, "output": 1}, "sane"),
        ({"input": 1.5, "output": 2}, "not a whole number"),
        ({"input": True, "output": 2}, "not a whole number"),
        ({"output": 2}, "unknown is not zero"),
        ({"cost_usd": -0.5}, "sane"),
        ({"cost_usd": "1"}, "not a number"),
    ],
)
def test_usage_that_can_not_be_true_is_unknown_with_the_reason(say: Say, report: dict[str, Any], words: str) -> None:
    usage = _usage(say({"type": "usage", **report}, dialect="inclusive"))
    assert usage.tokens is None
    assert usage.cost.usd is None
    assert words in usage.problem


@pytest.mark.parametrize(
    "line", ['{"type":"usage","input":1,"input":2}', '{"type":"usage","input":1,"model":5}', '{"type":"usage"}']
)
def test_a_refused_report_of_usage_does_not_pass_for_nothing_spent(say: Say, line: str) -> None:
    events = say(READY, line)[1:]
    assert isinstance(events[0], ProtocolError)
    assert _usage(events).problem


def test_an_end_may_carry_totals_and_stands_even_if_they_are_nonsense(say: Say) -> None:
    used, done = say(READY, {"type": "done", "text": "x", "usage": {"input": 10, "output": 2, "cost_usd": 0.01}})[1:]
    assert isinstance(used, Used)
    assert (used.usage.scope, used.usage.tokens, used.usage.cost.usd) == ("total", Tokens(10, 0, 0, 2), 0.01)
    assert done == Done("x")
    odd = b'{"type":"done","text":"x","usage":{"input":Infinity,"output":1e400,"cost_usd":NaN}}'
    used, done = say(READY, odd)[1:]
    assert isinstance(used, Used)
    assert (used.usage.tokens, used.usage.cost.usd) == (None, None)
    assert used.usage.problem
    assert done == Done("x")
    error, used, failed = say(READY, {"type": "error", "reason": "r", "usage": "lots"})[1:]
    assert isinstance(error, ProtocolError)
    assert isinstance(used, Used)
    assert used.usage.problem
    assert failed == Failed("r")


def test_an_end_with_an_unknown_failure_stands(say: Say) -> None:
    error, failed = say(READY, {"type": "error", "reason": "r", "failure": "bad mood"})[1:]
    assert failed == Failed("r")
    assert isinstance(error, ProtocolError)
    assert error.field == "failure"
    assert "rate_limit" in error.message


# any bytes

_CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

_SEEDS = st.sampled_from(
    [
        *(json.dumps({"type": kind, **fields}).encode() for kind, (fields, _) in WHOLE.items()),
        b'{"type":"usage","input":1,"output":2,"cost_usd":0.1}',
        b'{"type":"done","text":"\\ud800"}',
        b"\x1b[31mlog\x1b[0m",
        "naïve ☕ 你好 🎉".encode(),
        b"\xef\xbb\xbf",
        b"\xff\xfe\x00",
        b"{" * 200,
        b'{"type":NaN}',
    ]
)
_STREAM = st.lists(st.one_of(_SEEDS, st.binary(max_size=40)), max_size=12).map(b"\n".join)


@settings(suppress_health_check=_CHECKS, deadline=None)
@given(stream=_STREAM, data=st.data())
def test_any_stream_gives_the_same_storable_events_however_it_is_cut(
    say_stream: Callable[[Sequence[bytes]], list[Event]], stream: bytes, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    events = say_stream([stream])
    assert say_stream(pieces) == events
    for event in events:
        assert _stored(event) == event


_TEXT = st.text(alphabet="ab.\x00é🎉\ud800", max_size=4)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=_CHECKS, deadline=None)
@given(kind=st.sampled_from([*sorted(WHOLE), "usage", "answer"]), data=st.data())
def test_any_fields_give_storable_events(say: Say, kind: str, data: st.DataObject) -> None:
    known = sorted(wire("disjoint").fields.get(kind, {"id"}) - {"type"})
    fields = data.draw(st.dictionaries(st.sampled_from(known), _JSON, max_size=5))
    for event in say({"type": kind, **fields}):
        assert json.loads(dumps(to_plain(event)))
