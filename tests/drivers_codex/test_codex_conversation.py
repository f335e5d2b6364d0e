"""The conversation is a function of lines: what came of recorded ones, and what must hold for any."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Sequence
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
    Message,
    ProtocolError,
    Question,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Unknown,
    Used,
)
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.process import Line, LineSplitter
from quintain_driver_codex import CodexConfig
from quintain_driver_codex._conversation import Conversation, Step, Task

TRANSCRIPTS = Path(__file__).with_name("transcripts")
VERSIONS = sorted(folder.name for folder in TRANSCRIPTS.iterdir())
NEWER = [version for version in VERSIONS if version != "0.100.0"]
"""Those that know the recorded model; the other neither patches files nor asks its user."""
TASK = Task(CodexConfig(), "Do it.", "/trial/work")


def recorded(version: str, name: str) -> list[bytes]:
    return (TRANSCRIPTS / version / f"{name}.jsonl").read_bytes().splitlines()


def taken(lines: Iterable[bytes | str | dict[str, Any]], conversation: Conversation | None = None) -> list[Step]:
    conversation = conversation or Conversation(TASK)
    conversation.begin()
    texts = [line if isinstance(line, bytes | str) else json.dumps(line) for line in lines]
    return [conversation.feed(Line(text if isinstance(text, bytes) else text.encode())) for text in texts]


def events(lines: Iterable[bytes | str | dict[str, Any]], conversation: Conversation | None = None) -> list[Any]:
    return [event for step in taken(lines, conversation) for event in step.events]


def of(found: Sequence[Event], *kinds: type) -> list[Any]:
    return [event for event in found if isinstance(event, kinds)]


THREAD = {"thread": {"id": "t", "cliVersion": "9"}, "model": "m"}
OPENED: list[dict[str, Any]] = [{"id": 1, "result": {"userAgent": "quintain/9.1 (x)"}}, {"id": 2, "result": THREAD}]


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "t", **params}}


def item(what: str, kind: str, id: str = "i", *, thread: str = "t", **fields: Any) -> dict[str, Any]:
    return {"method": f"item/{what}", "params": {"threadId": thread, "item": {"type": kind, "id": id, **fields}}}


def ended(status: str = "completed", error: object = None) -> dict[str, Any]:
    return notice("turn/completed", turn={"id": "u", "status": status, "error": error})


# what was recorded


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_situation_has_one_beginning_and_one_end(version: str) -> None:
    for path in (TRANSCRIPTS / version).iterdir():
        found = events(path.read_bytes().splitlines())
        assert of(found, ProtocolError, Unknown) == [], path
        ready = of(found, Ready)
        assert [(one.agent, one.version) for one in ready] == [("codex", version)]
        assert len(of(found, Done, Failed)) == 1, path
        assert isinstance(found[-1], Done | Failed), path
        calls = [event.id for event in of(found, ToolCall)]
        assert sorted(event.id for event in of(found, ToolResult)) == sorted(calls)
        assert all(from_plain(json.loads(dumps(to_plain(event))), type(event)) == event for event in found)


@pytest.mark.parametrize("version", NEWER)
def test_recorded_work_is_told_with_its_results(version: str) -> None:
    found = events(recorded(version, "work"))
    patched, ran = of(found, ToolResult)
    assert (patched.name, patched.error, patched.text) == ("apply_patch", False, "add /trial/work/new.txt")
    assert (ran.name, ran.error, ran.output["exitCode"], ran.text) == ("shell", True, 3, "hello\n")
    assert [used.usage.tokens.total for used in of(found, Used)] == [150, 150, 150]


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_reasoning_and_words_are_told(version: str) -> None:
    found = events(recorded(version, "success"))
    assert [event.text for event in of(found, Reasoning, Message)] == ["Simple.", "All done."]
    assert of(found, Done)[0].text == "All done."


@pytest.mark.parametrize("version", NEWER)
def test_recorded_requests_become_questions(version: str) -> None:
    (approval,) = of(events(recorded(version, "declined")), Asked)
    (question,) = of(events(recorded(version, "question")), Asked)
    (tool,) = of(events(recorded(version, "mcp")), Asked)
    assert (approval.question.kind, question.question.kind, tool.question.kind) == ("approve", "ask", "approve")
    assert "touch /outside" in approval.question.text
    assert [option.label for option in question.question.options] == ["Red", "Blue"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_refusal_is_told_as_one(version: str) -> None:
    found = events(recorded(version, "declined"))
    assert [event.denied for event in of(found, ToolResult)] == [True]
    assert of(found, Done)[0].denials == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_failure_has_the_words_of_the_model_server(version: str) -> None:
    (failed,) = of(events(recorded(version, "fails")), Failed)
    assert (failed.reason, failed.failure) == ("bad input", Failure.CRASH)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_thread_and_the_turn_are_asked_for_in_their_order(version: str) -> None:
    said = [message for step in taken(recorded(version, "success")) for message in step.says]
    assert [message["method"] for message in said] == ["initialized", "thread/start", "turn/start"]


# what must hold


@given(st.binary(max_size=400).filter(lambda data: b"\n" not in data))
def test_any_line_is_taken(data: bytes) -> None:
    for event in events([data]):
        assert from_plain(json.loads(dumps(to_plain(event))), type(event)) == event


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        "item/started",
        "item/completed",
        "turn/completed",
        "turn/started",
        "thread/tokenUsage/updated",
        "error",
        "model/rerouted",
        "item/tool/requestUserInput",
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "mcpServer/elicitation/request",
        "item/permissions/requestApproval",
        "serverRequest/resolved",
        "hologram/changed",
    ]
)
FIELDS = st.sampled_from(
    [
        "item",
        "type",
        "id",
        "status",
        "tokenUsage",
        "total",
        "last",
        "inputTokens",
        "turn",
        "error",
        "questions",
        "question",
        "options",
        "label",
        "requestedSchema",
        "properties",
        "mode",
        "threadId",
        "changes",
        "command",
        "result",
        "content",
    ]
)
KINDS = st.sampled_from(
    ["commandExecution", "fileChange", "mcpToolCall", "agentMessage", "collabAgentToolCall", "form", "t"]
)
PARAMS = st.recursive(
    JSON | KINDS,
    lambda inner: st.dictionaries(FIELDS, inner, max_size=6) | st.lists(inner, max_size=3),
    max_leaves=20,
)


@given(st.lists(st.tuples(METHODS, PARAMS, st.none() | st.integers(0, 3)), max_size=6))
def test_no_message_breaks_it_and_no_request_stays_without_an_answer(asked: list[tuple[str, Any, int | None]]) -> None:
    conversation = Conversation(TASK)
    steps = taken(OPENED, conversation)
    for method, params, id in asked:
        message = {"method": method, "params": params} | ({} if id is None else {"id": id})
        step = conversation.feed(Line(json.dumps(message).encode()))
        steps.append(step)
        if id is not None:
            questions = [event.question for event in step.events if isinstance(event, Asked)]
            said = [*step.says, *(one for q in questions for one in conversation.answer(q, Answer.refuse(q, "no")))]
            assert any(one.get("id") == id for one in said)
    assert sum(isinstance(event, Done | Failed) for step in steps for event in step.events) <= 1
    for step in steps:
        for event in step.events:
            assert from_plain(json.loads(dumps(to_plain(event))), type(event)) == event


@given(st.data(), st.sampled_from(VERSIONS), st.sampled_from(["work", "question", "mcp"]))
def test_how_the_stream_is_cut_into_pieces_changes_nothing(data: Any, version: str, name: str) -> None:
    stream = b"".join(line + b"\n" for line in recorded(version, name))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = LineSplitter(1_000_000)
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    conversation = Conversation(TASK)
    found = [event for piece in pieces for line in splitter.feed(piece) for event in conversation.feed(line).events]
    assert found == events(recorded(version, name))


@given(st.lists(st.tuples(*[st.integers(0, 1000)] * 4), min_size=1, max_size=6), st.integers(1, 3))
def test_tokens_are_counted_once_however_often_they_are_told(calls: list[tuple[int, ...]], told: int) -> None:
    lines: list[dict[str, Any]] = [*OPENED]
    total = [0, 0, 0, 0]
    for fresh, cached, output, reasoning in calls:
        last = [fresh + cached, cached, output + reasoning, reasoning]
        total = [one + more for one, more in zip(total, last, strict=True)]
        names = ("inputTokens", "cachedInputTokens", "outputTokens", "reasoningOutputTokens")
        usage = {"last": dict(zip(names, last, strict=True)), "total": dict(zip(names, total, strict=True))}
        lines += [notice("thread/tokenUsage/updated", tokenUsage=usage)] * told
    used = [event.usage for event in of(events(lines), Used)]
    assert sum(usage.tokens.total for usage in used) == total[0] + total[2]
    assert sum(usage.tokens.cache_read for usage in used) == total[1]


def test_tokens_that_are_no_numbers_are_unknown_and_not_nothing() -> None:
    usage = '{"total": {"inputTokens": NaN}, "last": {"inputTokens": 1e999}}'
    line = f'{{"method": "thread/tokenUsage/updated", "params": {{"threadId": "t", "tokenUsage": {usage}}}}}'
    (used,) = of(events([*OPENED, line]), Used)
    assert used.usage.tokens is None
    assert used.usage.problem


# what contradicts itself, and what is missing


def test_a_turn_that_completes_with_an_error_keeps_both() -> None:
    error = {"message": "rate limit reached", "codexErrorInfo": "usageLimitExceeded"}
    (done,) = of(events([*OPENED, ended(error=error)]), Done)
    assert (done.error, done.failure) == (True, Failure.RATE_LIMIT)


@pytest.mark.parametrize("status", ["failed", "interrupted", "something new"])
def test_whatever_is_not_completed_has_failed(status: str) -> None:
    (failed,) = of(events([*OPENED, ended(status)]), Failed)
    assert failed.reason


def test_an_end_that_is_told_twice_counts_once() -> None:
    assert len(of(events([*OPENED, ended(), ended("failed")]), Done, Failed)) == 1


def test_an_end_with_a_field_twice_is_none() -> None:
    line = (
        '{"method": "turn/completed", "params": {"threadId": "t", "turn": {"status": "failed", "status": "completed"}}}'
    )
    found = events([*OPENED, line])
    assert of(found, Done, Failed) == []
    assert "twice" in found[-1].message


def test_the_end_of_a_subagents_turn_is_not_the_end() -> None:
    found = events([*OPENED, {**ended(), "params": {**ended()["params"], "threadId": "child"}}])
    assert of(found, Done) == []


def test_what_a_subagent_does_has_its_name() -> None:
    started = {"method": "thread/started", "params": {"thread": {"id": "child", "agentNickname": "Ada"}}}
    found = events(
        [
            *OPENED,
            started,
            item("completed", "agentMessage", thread="child", text="hi"),
            item("completed", "agentMessage"),
        ]
    )
    assert [event.agent for event in of(found, Message)] == ["Ada", None]


def test_a_tool_that_never_ends_ends_with_the_turn() -> None:
    found = events([*OPENED, item("started", "commandExecution", command="sleep"), ended()])
    assert isinstance(found[-2], ToolResult)
    assert found[-2].error
    assert isinstance(found[-1], Done)


def test_a_result_without_a_beginning_has_its_call_told_first() -> None:
    found = events([*OPENED, item("completed", "commandExecution", command="ls", exitCode=0)])
    assert [type(event) for event in found[1:]] == [ToolCall, ToolResult]


def test_a_result_that_is_told_twice_counts_once() -> None:
    line = item("completed", "commandExecution", command="ls", exitCode=0)
    assert len(of(events([*OPENED, line, line]), ToolResult)) == 1


def test_ids_of_both_sides_may_be_equal() -> None:
    conversation = Conversation(TASK)
    request = {**notice("item/commandExecution/requestApproval", itemId="i", command="ls"), "id": 2}
    steps = taken([OPENED[0], request, OPENED[1]], conversation)
    (asked,) = of([event for step in steps for event in step.events], Asked)
    assert conversation.answer(asked.question, Answer.decide(asked.question, True)) == (
        {"id": 2, "result": {"decision": "accept"}},
    )


def test_a_question_that_it_answered_itself_is_answered_no_more() -> None:
    conversation = Conversation(TASK)
    request = {**notice("item/commandExecution/requestApproval", itemId="i", command="ls"), "id": 0}
    steps = taken([*OPENED, request, notice("serverRequest/resolved", requestId=0)], conversation)
    (asked,) = of([event for step in steps for event in step.events], Asked)
    assert conversation.answer(asked.question, Answer.decide(asked.question, True)) == ()


def test_several_questions_of_one_request_are_answered_together() -> None:
    conversation = Conversation(TASK)
    questions = [{"id": name, "question": f"{name}?", "header": name} for name in "ab"]
    steps = taken(
        [*OPENED, {**notice("item/tool/requestUserInput", itemId="i", questions=questions), "id": 7}], conversation
    )
    first, second = (event.question for event in of([event for step in steps for event in step.events], Asked))
    assert conversation.answer(first, Answer.say(first, "1")) == ()
    assert conversation.answer(second, Answer.say(second, "2")) == (
        {"id": 7, "result": {"answers": {"a": {"answers": ["1"]}, "b": {"answers": ["2"]}}}},
    )


@pytest.mark.parametrize("approved", [True, False, None])
def test_only_a_clear_yes_is_an_approval(approved: bool | None) -> None:
    conversation = Conversation(TASK)
    request = {**notice("item/fileChange/requestApproval", itemId="i"), "id": 0}
    (asked,) = of([event for step in taken([*OPENED, request], conversation) for event in step.events], Asked)
    (said,) = conversation.answer(asked.question, Answer(asked.question.id, "approve", approved=approved))
    assert said["result"]["decision"] == ("accept" if approved else "decline")


def test_a_request_that_nobody_can_answer_is_refused_and_kept() -> None:
    (step,) = taken([{**notice("attestation/generate"), "id": 4}])
    assert step.says[0]["error"]["code"] == -32601
    assert isinstance(step.events[0], Unknown)


@pytest.mark.parametrize(
    ("said", "wanted", "value"),
    [
        ("7", {"type": "integer"}, 7),
        ("x", {"type": "integer"}, None),
        ("1.5", {"type": "number"}, 1.5),
        ("inf", {"type": "number"}, None),
        ("yes", {"type": "boolean"}, True),
        ("No", {"type": "boolean"}, False),
        ("maybe", {"type": "boolean"}, None),
        ("hi", {"type": "string"}, "hi"),
        ("Long", {"type": "string", "enum": ["l"], "enumNames": ["Long"]}, "l"),
        ("Tall", {"type": "string", "oneOf": [{"const": "t", "title": "Tall"}]}, "t"),
        ("a", {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a"]),
    ],
)
def test_a_form_gets_values_of_its_types_or_is_declined(said: str, wanted: dict[str, Any], value: object) -> None:
    conversation = Conversation(TASK)
    schema = {"type": "object", "properties": {"f": wanted}, "required": ["f"]}
    request = {**notice("mcpServer/elicitation/request", mode="form", message="?", requestedSchema=schema), "id": 0}
    (asked,) = of([event for step in taken([*OPENED, request], conversation) for event in step.events], Asked)
    (reply,) = conversation.answer(asked.question, Answer.say(asked.question, said))
    wants = {"action": "decline"} if value is None else {"action": "accept", "content": {"f": value}}
    assert reply["result"] == wants


def test_a_conversation_that_never_opened_is_a_broken_setup() -> None:
    conversation = Conversation(TASK)
    taken(["codex: no such option", {"id": 1, "result": {}}], conversation)
    (failed,) = conversation.finish()
    assert isinstance(failed, Failed)
    assert failed.failure is Failure.CRASH


def test_a_version_that_is_too_old_is_told_as_that() -> None:
    error = {"code": -32600, "message": "Invalid request: unknown variant `on-request`, expected `onRequest`"}
    (failed,) = of(events([OPENED[0], {"id": 2, "error": error}]), Failed)
    assert "too old" in failed.reason
    assert failed.failure is Failure.MISSING


def test_a_model_that_was_changed_on_the_way_is_named_where_tokens_are() -> None:
    usage = {"total": {"inputTokens": 1, "cachedInputTokens": 0, "outputTokens": 1}, "last": {}}
    moved = notice("model/rerouted", fromModel="m", toModel="other", reason="highRisk")
    (used,) = of(events([*OPENED, moved, notice("thread/tokenUsage/updated", tokenUsage=usage)]), Used)
    assert used.usage.model == "other"


def test_it_can_be_stopped_only_while_its_turn_goes_on() -> None:
    conversation = Conversation(TASK)
    assert conversation.interrupt() == ()
    taken([*OPENED, {"id": 3, "result": {"turn": {"id": "u"}}}], conversation)
    assert conversation.interrupt()[0]["params"] == {"threadId": "t", "turnId": "u"}
    taken([ended("interrupted")], conversation)
    assert conversation.interrupt() == ()


def test_a_question_of_another_session_is_nobodys() -> None:
    assert Conversation(TASK).answer(Question("q", "ask"), Answer("q", "ask", text="x")) == ()


def test_a_stream_of_100_mb_leaves_nothing_behind() -> None:
    conversation = Conversation(TASK)
    taken(OPENED, conversation)
    text = "x" * 5_000_000
    line = Line(json.dumps(item("completed", "commandExecution", command="ls", aggregatedOutput=text)).encode())
    delta = Line(json.dumps(notice("item/agentMessage/delta", itemId="m", delta=text)).encode())
    tracemalloc.start()
    for _ in range(10):
        conversation.feed(line)
        conversation.feed(delta)
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 2_000_000
    assert peak < 60_000_000
