"""Agents that speak the older protocol 1, `lux-jsonl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from quintain import (
    Answer,
    Asked,
    Done,
    Event,
    Failed,
    Log,
    Message,
    Progress,
    ProtocolError,
    Question,
    Ready,
    Reasoning,
    Tokens,
    ToolCall,
    ToolResult,
    Unknown,
    Used,
)
from quintain_driver_subprocess._lux import answer_message

Say = Callable[..., list[Event]]
READY = {"type": "ready", "agentId": "a"}


def _progress(kind: str, payload: Any) -> dict[str, Any]:
    return {"type": "progress", "id": "p1", "kind": kind, "payload": payload, "ts": 5}


def test_ready_and_ends_are_understood(say_older: Say) -> None:
    ready = {"type": "ready", "agentId": "a", "agentVersion": "1", "model": "m", "detail": {"x": 1}}
    assert say_older(ready, {"type": "done"}) == [Ready("a", "1", "m", detail={"x": 1}), Done()]
    assert say_older(READY, {"type": "error", "reason": "no", "exitReason": "idle-timeout"})[1:] == [
        Failed("no", detail={"exitReason": "idle-timeout"})
    ]


def test_interrupts_are_questions(say_older: Say) -> None:
    assert say_older(
        READY,
        {"type": "interrupt", "kind": "ask", "id": "1", "question": "which?", "context": {"file": "a"}},
        {"type": "interrupt", "kind": "approve", "id": "2", "request": "rm?"},
        {"type": "interrupt", "kind": "approve", "id": "3", "request": {"tool": "sh"}, "context": 1},
        {"type": "interrupt", "kind": "custom", "id": "4", "payload": None, "context": "turn"},
    )[1:] == [
        Asked(Question("1", "ask", "which?", payload={"file": "a"})),
        Asked(Question("2", "approve", "rm?", payload="rm?")),
        Asked(Question("3", "approve", '{"tool": "sh"}', payload={"request": {"tool": "sh"}, "context": 1})),
        Asked(Question("4", "custom", "turn")),
    ]


def test_agreed_kinds_of_progress_are_events(say_older: Say) -> None:
    result = {"name": "sh", "toolUseId": "t1", "content": [{"type": "text"}], "isError": True, "text": "no"}
    assert say_older(
        READY,
        _progress("agent-message", {"text": "hi", "parentToolUseId": "sub"}),
        _progress("reasoning", {"text": "hm"}),
        _progress("tool-call", {"name": "sh", "input": None, "toolUseId": "t1", "server": "files"}),
        _progress("tool-result", {**result, "durationMs": 1500}),
        _progress("tool-result", {**result, "content": "plain", "structuredContent": {"n": 1}, "text": ""}),
        _progress("driver-stderr", {"text": "warn", "truncated": False}),
        _progress("mcp-init", {"serverInfo": {}}),
        _progress("anything", None),
    )[1:] == [
        Message("hi", agent="sub"),
        Reasoning("hm"),
        ToolCall("t1", "sh", None, server="files"),
        ToolResult("t1", "sh", "no", [{"type": "text"}], True, duration_s=1.5),
        ToolResult("t1", "sh", "plain", {"n": 1}, True),
        Log("warn", "stderr"),
        Progress("mcp-init", {"id": "p1", "payload": {"serverInfo": {}}}),
        Progress("anything", {"id": "p1", "payload": None}),
    ]


def test_usage_and_totals_are_understood(say_older: Say) -> None:
    counts = {"input": 700, "output": 80, "cacheRead": 300, "cacheCreation": 5}
    _, call, total, done = say_older(
        READY, _progress("usage", counts), {"type": "done", "summary": {"usage": counts, "cost": 0.5, "modelCalls": 2}}
    )
    assert isinstance(call, Used)
    assert isinstance(total, Used)
    assert call.usage.tokens == total.usage.tokens == Tokens(700, 300, 5, 80)
    assert (call.usage.scope, total.usage.scope, total.usage.cost.usd) == ("call", "total", 0.5)
    assert isinstance(done, Done)
    assert done.detail["modelCalls"] == 2


def test_a_bad_report_of_usage_is_unknown(say_older: Say) -> None:
    _, used = say_older(READY, _progress("usage", {"input": -1, "output": 2}))
    assert isinstance(used, Used)
    assert used.usage.tokens is None
    error, lost = say_older(READY, _progress("usage", "lots"))[1:]
    assert isinstance(error, ProtocolError)
    assert isinstance(lost, Used)
    assert lost.usage.problem


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"type": "progress", "id": "1", "kind": "x"}, "payload"),
        ({"type": "interrupt", "kind": "custom", "id": "1"}, "payload"),
        ({"type": "interrupt", "kind": "ask", "id": "1"}, "question"),
        (_progress("tool-call", {"name": "sh", "toolUseId": "t"}), "payload.input"),
        (_progress("tool-result", {"toolUseId": "t", "content": 1, "isError": "no"}), "payload.isError"),
        ({"type": "message", "text": "the newer protocol"}, None),
    ],
)
def test_wrong_messages_are_told(say_older: Say, line: dict[str, Any], field: str | None) -> None:
    (event,) = say_older(READY, line)[1:]
    if field is None:
        assert isinstance(event, Unknown)
    else:
        assert isinstance(event, ProtocolError)
        assert event.field == field


ASK, APPROVE, CUSTOM = Question("q", "ask"), Question("q", "approve"), Question("q", "custom")


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        (ASK, Answer.say(ASK, "yes"), {"type": "answer", "id": "q", "text": "yes"}),
        (ASK, Answer("q", "ask", chosen=("a", "b")), {"type": "answer", "id": "q", "text": "a, b"}),
        (ASK, Answer.refuse(ASK, "nobody"), {"type": "answer", "id": "q", "text": "nobody"}),
        (APPROVE, Answer.decide(APPROVE, True), {"type": "approve", "id": "q"}),
        (APPROVE, Answer.decide(APPROVE, False, "no"), {"type": "deny", "id": "q", "reason": "no"}),
        (APPROVE, Answer.refuse(APPROVE, "no"), {"type": "deny", "id": "q", "reason": "no"}),
        (CUSTOM, Answer.give(CUSTOM, [1]), {"type": "customToolResponse", "id": "q", "payload": [1]}),
        (
            CUSTOM,
            Answer.refuse(CUSTOM, "no"),
            {"type": "customToolResponse", "id": "q", "payload": {"refused": True, "reason": "no"}},
        ),
    ],
)
def test_answers_have_the_older_form(question: Question, answer: Answer, message: dict[str, Any]) -> None:
    assert answer_message(question, answer) == message
