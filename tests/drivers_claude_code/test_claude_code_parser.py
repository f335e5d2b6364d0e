"""What Claude Code prints becomes events: recorded sessions, broken lines, and whatever else may come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain import (
    Answer,
    Asked,
    Done,
    Event,
    Failed,
    Failure,
    Log,
    Message,
    ProtocolError,
    Question,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    Used,
)
from quintain.process import Line
from quintain.trial.spend import SpendMeter
from quintain_driver_claude_code import _control
from quintain_driver_claude_code._conversation import Conversation

SEVERAL_TASKS = "multi_turn_stdin"
"""It was given three tasks one after the other, which this driver never does."""
RECORDED = [
    path for path in sorted((Path(__file__).parent / "transcripts").glob("*.jsonl")) if path.stem != SEVERAL_TASKS
]
INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "claude_code_version": "2.1.197"}
END = {"type": "result", "subtype": "success", "is_error": False, "result": "ok"}
USAGE = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def raw(text: str | bytes, **more: Any) -> Line:
    return Line(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), **more)


def fed(lines: Iterable[Line], conversation: Conversation | None = None) -> list[Event]:
    talk = conversation or Conversation("Do it.")
    events = [event for line in lines for event in talk.feed(line).events]
    return [*events, *talk.finish()]


def said(*messages: object) -> list[Event]:
    return fed(raw(json.dumps(message)) for message in messages)


def recorded(name: str) -> list[Event]:
    path = Path(__file__).parent / "transcripts" / f"{name}.jsonl"
    return fed(raw(line) for line in path.read_text().splitlines())


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def use(name: str, id: str, message: str = "m1", **given: Any) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": id, "name": name, "input": given}]
    return {"type": "assistant", "message": {"id": message, "model": "m", "content": content, "usage": USAGE}}


def ask(id: str, name: str, **given: Any) -> dict[str, Any]:
    wanted = {"subtype": "can_use_tool", "tool_name": name, "input": given, "tool_use_id": f"tool-{id}"}
    return {"type": "control_request", "request_id": id, "request": wanted}


# recorded sessions


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_session_is_understood_whole(path: Path) -> None:
    events = recorded(path.stem)
    assert not of(events, ProtocolError)
    assert [one.kind for one in of(events, Unknown) if not one.kind.startswith("control_request/")] == []
    assert isinstance(events[0], Ready)
    ends = of(events, Done) + of(events, Failed)
    assert len(ends) == (0 if path.stem == "sigint_model_hang" else 1)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_tool_results_of_a_recorded_session_pair_with_their_calls(path: Path) -> None:
    events = recorded(path.stem)
    calls = {call.id: call for call in of(events, ToolCall)}
    assert len(calls) == len(of(events, ToolCall))
    for result in of(events, ToolResult):
        assert (result.name, result.agent) == (calls[result.id].name, calls[result.id].agent)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_no_token_of_a_recorded_session_is_counted_twice(path: Path) -> None:
    events, meter = recorded(path.stem), SpendMeter()
    for used in of(events, Used):
        meter.add(used.usage)
    totals = [used.usage for used in of(events, Used) if used.usage.scope == "total"]
    spend = meter.spend(complete=bool(totals))
    assert not spend.problems
    if totals:
        assert spend.tokens == totals[-1].tokens


def test_calls_after_the_end_are_added_to_its_total() -> None:
    meter = SpendMeter()
    for used in of(recorded(SEVERAL_TASKS), Used):
        meter.add(used.usage)
    tokens = meter.spend(complete=True).tokens
    assert tokens is not None
    assert (tokens.input, tokens.cache_read) == (300, 60)


@pytest.mark.parametrize(
    ("name", "end", "failure"),
    [
        ("success", Done, None),
        ("denied_default", Done, None),
        ("err_400_permanent", Done, None),
        ("err_prompt_too_long", Done, None),
        ("stop_refusal", Done, None),
        ("stop_max_tokens", Done, None),
        ("err_401_retries1", Done, Failure.AUTH),
        ("no_api_key", Done, Failure.AUTH),
        ("err_404_model", Done, Failure.MISSING),
        ("err_529_then_ok", Done, None),
        ("fallback_model", Done, None),
        ("max_turns", Failed, None),
        ("max_budget", Failed, None),
        ("control_interrupt_tool", Failed, None),
        ("resume_unknown", Failed, None),
    ],
)
def test_a_recorded_end_is_of_its_class(name: str, end: type[Any], failure: Failure | None) -> None:
    (found,) = of(recorded(name), end)
    assert found.failure is failure


@pytest.mark.parametrize("name", ["err_400_permanent", "stop_refusal", "stop_max_tokens", "err_401_retries1"])
def test_a_success_that_is_an_error_has_its_error_flag(name: str) -> None:
    (done,) = of(recorded(name), Done)
    assert done.error


def test_refused_tools_are_told_as_such_and_counted() -> None:
    for name in ("denied_default", "denied_dontask"):
        events = recorded(name)
        assert of(events, Done)[0].denials == 1
        assert [one.name for one in of(events, ToolResult) if one.denied] == ["Write"]


@pytest.mark.parametrize(
    ("name", "text"), [("background_bash", "after bg"), ("subagent_background_default", "after notification")]
)
def test_the_last_of_several_results_is_the_answer(name: str, text: str) -> None:
    (done,) = of(recorded(name), Done)
    assert done.text == text


# signals that contradict each other


@pytest.mark.parametrize(
    ("result", "end", "failure", "flag"),
    [
        ({"subtype": "success", "is_error": True, "result": "API Error: Rate limit reached"}, Done, "rate_limit", True),
        ({"subtype": "success", "is_error": True, "api_error_status": 529, "result": ""}, Done, "overload", True),
        ({"subtype": "success", "is_error": True, "result": "Unable to connect to API"}, Done, "network", True),
        ({"subtype": "success", "is_error": False, "result": "I fixed the rate limit"}, Done, None, False),
        ({"subtype": "error_during_execution", "is_error": False, "errors": ["ENOSPC"]}, Failed, "disk", None),
        ({"subtype": "error_max_turns", "is_error": True, "errors": ["network"]}, Failed, None, None),
        ({"subtype": "novel", "is_error": False, "result": "text"}, Done, None, False),
        ({"subtype": "novel", "is_error": False}, Failed, None, None),
        ({}, Failed, None, None),
    ],
)
def test_one_table_decides_what_the_last_message_means(
    result: dict[str, Any], end: type[Any], failure: str | None, flag: bool | None
) -> None:
    (found,) = of(said(INIT, {"type": "result", **result}), end)
    assert found.failure == failure
    if flag is not None:
        assert found.error is flag


def test_an_error_in_the_place_of_the_last_message_is_no_answer() -> None:
    broken = {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
    events = said(INIT, {"type": "assistant", "message": broken, "error": "rate_limit"}, {**END, "result": "API Error"})
    (done,) = of(events, Done)
    assert (done.error, done.failure) == (True, Failure.RATE_LIMIT)
    assert not [one for one in of(events, Used) if one.usage.scope == "call"]


def test_what_comes_after_the_end_ends_nothing_again() -> None:
    events = said(INIT, END, use("Bash", "late"), {**END, "result": "another"})
    assert [one.text for one in of(events, Done)] == ["ok"]
    assert [one.id for one in of(events, ToolCall)] == ["late"]
    assert [one.usage.scope for one in of(events, Used)] == ["total", "call"]


def test_it_is_ready_before_it_does_anything() -> None:
    events = said(use("Bash", "t"), INIT, END)
    assert [type(one) for one in events[:2]] == [Ready, ToolCall]
    assert len(of(events, Ready)) == 1


# usage


def test_a_figure_that_is_repeated_on_each_line_counts_once_and_the_end_of_the_stream_decides() -> None:
    start = {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": USAGE}}
    delta = {"type": "message_delta", "usage": {"output_tokens": 40}}
    events = said(
        INIT,
        {"type": "stream_event", "event": start},
        use("Bash", "a"),
        use("Bash", "b"),
        {"type": "stream_event", "event": delta},
        use("Bash", "c"),
    )
    assert [one.usage.tokens.output for one in of(events, Used)] == [2, 40]
    assert {one.usage.id for one in of(events, Used)} == {"m1"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
def test_a_number_that_is_none_is_unknown_and_not_zero(number: str) -> None:
    text = json.dumps({**END, "total_cost_usd": 0, "usage": {**USAGE, "input_tokens": 0}})
    broken = text.replace('"total_cost_usd": 0', f'"total_cost_usd": {number}').replace(
        '"input_tokens": 0', f'"input_tokens": {number}', 1
    )
    events = fed([raw(json.dumps(INIT)), raw(broken)])
    usage: Usage = of(events, Used)[-1].usage
    assert usage.tokens is None
    assert usage.cost.usd is None
    assert usage.problem
    assert of(events, ProtocolError)
    assert of(events, Done)


@pytest.mark.parametrize("count", [-1, 1.5, "7", True, 10**30])
def test_a_count_that_can_not_be_is_a_problem(count: object) -> None:
    (used,) = of(said(INIT, {**END, "usage": {**USAGE, "output_tokens": count}}), Used)
    assert used.usage.tokens is None
    assert used.usage.problem


# lines


def test_noise_around_the_protocol_is_log_output() -> None:
    lines = [
        raw("Now using node v20\n"),
        raw("\ufeff" + json.dumps(INIT) + "\r"),
        raw("   "),
        raw("\x1b[0m" + json.dumps(use("Bash", "t")) + "\x1b[K"),
        raw(b"\x00\xff\xfe binary"),
        raw("Update available 1.0 -> 1.1"),
        raw(json.dumps({**END, "result": "a\r\nb"})),
    ]
    events = fed(lines)
    assert len(of(events, Log)) == 3
    assert not of(events, ProtocolError)
    assert len(of(events, ToolCall)) == 1
    assert of(events, Done)[0].text == "a\r\nb"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (raw('{"type":"result","is_error":true,"is_error":false}'), "twice"),
        (raw("[1, 2]"), "JSON object"),
        (raw('"text"'), "JSON object"),
        (raw('{"type":7}'), "`type`"),
        (raw("{}"), "`type`"),
        (raw('{"type":"system"}'), "`subtype`"),
        (raw('{"type":"assistant","message":"text"}'), "`message`"),
        (raw('{"type":"assistant","message":{"content":[{"type":"tool_use","id":""}]}}'), "`message.content.id`"),
        (raw('{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool"}}'), "tool_name"),
        (raw("{broken"), "not valid JSON"),
        (raw('{"type":"res', complete=False), "middle of this message"),
        (raw('{"type":"res', dropped=1000), "longer than the limit"),
        (raw('{"a":' + "[" * 6000 + "]" * 6000 + "}"), "deeper"),
        (raw('{"type":"result","num_turns":' + "1" * 5000 + "}"), "thousands of digits"),
    ],
)
def test_a_wrong_line_is_told_and_stops_nothing(line: Line, words: str) -> None:
    events = fed([raw(json.dumps(INIT)), line, raw(json.dumps(END))])
    (wrong,) = of(events, ProtocolError)
    assert words in wrong.message
    assert wrong.number == 2
    assert len(of(events, Done)) == 1


def test_what_is_not_known_is_kept_by_its_name() -> None:
    events = said(INIT, {"type": "hologram", "x": [1]}, {"type": "system", "subtype": "novel"}, END)
    assert [one.kind for one in of(events, Unknown)] == ["hologram", "system/novel"]
    assert of(events, Unknown)[0].data["x"] == [1]


def test_half_of_a_character_does_no_harm() -> None:
    (done,) = of(fed([raw(json.dumps(INIT)), raw(json.dumps({**END, "result": "half \ud83d"}))]), Done)
    assert done.text == "half \ud83d"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    "type",
    "subtype",
    "message",
    "request",
    "request_id",
    "content",
    "usage",
    "event",
    "id",
    "name",
    "input",
    "tool_use_id",
    "parent_tool_use_id",
    "tool_name",
    "questions",
    "question",
    "options",
    "label",
    "is_error",
    "result",
    "errors",
    "api_error_status",
    "modelUsage",
    "total_cost_usd",
    "attempt",
    "error_status",
    "task_id",
    "mcp_servers",
    "permission_denials",
    "model",
    "tool_use_result",
    "patch",
    "delta",
]
WORDS = [
    "system",
    "assistant",
    "user",
    "result",
    "stream_event",
    "control_request",
    "control_response",
    "control_cancel_request",
    "init",
    "api_retry",
    "success",
    "can_use_tool",
    "AskUserQuestion",
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "message_start",
    "message_delta",
    "task_started",
    "task_notification",
    "error_max_turns",
    "m1",
]
LIKELY = st.recursive(
    JSON | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)
MESSAGES = st.builds(
    lambda kind, rest: {**rest, "type": kind}, st.sampled_from(WORDS), st.dictionaries(st.sampled_from(KEYS), LIKELY)
)


@given(st.lists(MESSAGES | JSON, max_size=8))
def test_no_message_is_too_odd(messages: list[Any]) -> None:
    talk = Conversation("Do it.", ("sums",))
    for message in messages:
        step = talk.feed(raw(json.dumps(message)))
        for says in step.says:
            _control.line(says)
    talk.finish()


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_no_bytes_are_too_odd(lines: list[bytes]) -> None:
    fed(raw(line, complete=index % 2 == 0) for index, line in enumerate(lines))


@given(st.integers(0, 400), st.sampled_from([path.stem for path in RECORDED]))
def test_a_session_that_is_cut_anywhere_says_what_the_whole_one_says_up_to_there(cut: int, name: str) -> None:
    path = Path(__file__).parent / "transcripts" / f"{name}.jsonl"
    lines = path.read_text().splitlines()[: cut % 40]
    part = [event for event in fed(raw(line) for line in lines) if not isinstance(event, Done | Used)]
    whole = [event for event in recorded(name) if not isinstance(event, Done | Used)]
    assert part == whole[: len(part)]


# questions


def test_a_permission_is_asked_for_and_given_with_the_input_as_it_was() -> None:
    talk = Conversation("Do it.")
    (asked,) = of(fed([raw(json.dumps(ask("r", "Bash", command="ls")))], talk), Asked)
    assert (asked.question.kind, asked.question.text) == ("approve", "use Bash: ls")
    (reply,) = talk.answer(asked.question, Answer.decide(asked.question, True))
    assert reply["response"]["response"] == {"behavior": "allow", "updatedInput": {"command": "ls"}}
    assert talk.answer(asked.question, Answer.decide(asked.question, True)) == []


def test_a_refusal_says_why() -> None:
    talk = Conversation("Do it.")
    (asked,) = of(fed([raw(json.dumps(ask("r", "Bash", command="ls")))], talk), Asked)
    (reply,) = talk.answer(asked.question, Answer.decide(asked.question, False, "not today"))
    assert reply["response"]["response"] == {"behavior": "deny", "message": "not today"}


def test_a_question_that_is_declined_declines_all_of_its_request() -> None:
    talk = Conversation("Do it.")
    wanted = [{"question": "a?", "options": []}, {"question": "b?", "options": []}]
    asked = of(fed([raw(json.dumps(ask("r", "AskUserQuestion", questions=wanted)))], talk), Asked)
    first, second = (one.question for one in asked)
    (reply,) = talk.answer(first, Answer.refuse(first, "nobody is here"))
    assert reply["response"]["response"] == {"behavior": "deny", "message": "nobody is here"}
    assert talk.answer(second, Answer.say(second, "b")) == []


def test_nothing_is_said_to_a_question_that_was_withdrawn() -> None:
    talk = Conversation("Do it.")
    (asked,) = of(fed([raw(json.dumps(ask("r", "Bash", command="ls")))], talk), Asked)
    talk.feed(raw(json.dumps({"type": "control_cancel_request", "request_id": "r"})))
    assert talk.answer(asked.question, Answer.decide(asked.question, True)) == []


def test_a_request_that_is_not_known_is_refused_and_kept() -> None:
    talk = Conversation("Do it.")
    request = {"type": "control_request", "request_id": "r", "request": {"subtype": "hologram"}}
    step = talk.feed(raw(json.dumps(request)))
    assert step.says[0]["response"]["subtype"] == "error"
    assert of(step.events, Unknown)[0].kind == "control_request/hologram"


@given(st.text(), st.booleans())
def test_what_is_said_stays_on_its_line(text: str, approved: bool) -> None:
    question = Question("q", "approve")
    for message in (_control.user(text, False), _control.request("r", "x", text=text)):
        line = _control.line(message)
        assert line.count(b"\n") == 1
        assert json.loads(line) == message
    pending = _control.Pending(
        "r", None, {"a": text}, {"q": question}, answers={"q": Answer.decide(question, approved)}
    )
    assert json.loads(_control.line(pending.reply())) == pending.reply()


# what has no future


def test_a_tool_server_that_did_not_start_ends_it() -> None:
    init = {**INIT, "mcp_servers": [{"name": "sums", "status": "failed"}, {"name": "other", "status": "failed"}]}
    assert of(fed([raw(json.dumps(init))], Conversation("x", ("sums",))), Failed)[0].failure is Failure.MISSING
    assert not of(fed([raw(json.dumps(init))], Conversation("x", ("none",))), Failed)


def test_refused_credentials_end_it_and_an_overload_does_not() -> None:
    retry = {"type": "system", "subtype": "api_retry", "retry_delay_ms": 600, "max_retries": 10}
    once, again = ({**retry, "attempt": number, "error_status": 401} for number in (1, 2))
    assert not of(said(INIT, once), Failed)
    assert of(said(INIT, once, again), Failed)[0].failure is Failure.AUTH
    assert not of(said(INIT, *({**retry, "attempt": number, "error_status": 529} for number in range(1, 9))), Failed)


def test_thinking_and_saying_are_told_apart() -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}, {"type": "novel"}]
    events = said(INIT, {"type": "assistant", "message": {"id": "m1", "content": content}})
    assert [one.text for one in of(events, Reasoning)] == ["hm"]
    assert [(one.text, one.id) for one in of(events, Message)] == [("hi", "m1")]
    assert [one.kind for one in of(events, Unknown)] == ["assistant/novel"]
