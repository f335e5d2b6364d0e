"""Protocol 1, the older `lux-jsonl`, so that agents written for it run as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quintain import (
    Answer,
    Asked,
    Done,
    Event,
    Failed,
    Launch,
    Log,
    Message,
    Progress,
    Question,
    QuintainError,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Used,
)

from quintain_driver_subprocess._config import Dialect
from quintain_driver_subprocess._fields import Fields
from quintain_driver_subprocess._parser import Wire
from quintain_driver_subprocess._usage import usage_of

VARIABLE_BYTES = 128 * 1024
"""A variable with its name, the sign between and the end mark has to fit in here."""


def environment(launch: Launch, prompt: bytes) -> dict[str, str]:
    """The variables by which such an agent is told its task.

    Raises:
        QuintainError: the prompt is too long for a variable.
    """
    room = VARIABLE_BYTES - len("LUX_PROMPT=") - 1
    if len(prompt) > room:
        raise QuintainError(
            f"the prompt has {len(prompt)} bytes; protocol 1 passes it in the variable LUX_PROMPT, which can hold "
            f"{room} of the {VARIABLE_BYTES} that the system allows",
            hint="shorten the prompt, or let the agent speak protocol 2, which has no such limit",
        )
    workspace = str(launch.workspace)
    return {
        "LUX_CASE_ID": launch.case.id,
        "LUX_RUN_DIR": workspace,
        "LUX_ARTIFACTS_DIR": workspace,
        "LUX_PROMPT": launch.prompt,
    }


def wire(dialect: Dialect) -> Wire:
    """The agent's side."""
    return Wire(
        readers={
            "ready": _ready,
            "interrupt": _interrupt,
            "progress": lambda fields: _progress(fields, dialect),
            "done": lambda fields: _done(fields, dialect),
            "error": _error,
        },
        fields={},
        spends=lambda data: data.get("type") == "progress" and data.get("kind") == "usage",
    )


def _ready(fields: Fields) -> Sequence[Event]:
    return (
        Ready(
            agent=fields.text("agentId"),
            version=fields.maybe_text("agentVersion"),
            model=fields.maybe_text("model"),
            detail=fields.table("detail"),
        ),
    )


def _interrupt(fields: Fields) -> Sequence[Event]:
    id, context = fields.name("id"), fields.data.get("context")
    match fields.text("kind"):
        case "ask":
            return (Asked(Question(id, "ask", fields.text("question"), payload=context)),)
        case "approve":
            request = fields.anything("request")
            text = request if type(request) is str else json.dumps(request)
            payload = request if context is None else {"request": request, "context": context}
            return (Asked(Question(id, "approve", text, payload=payload)),)
        case "custom":
            text = context if type(context) is str else ""
            return (Asked(Question(id, "custom", text, payload=fields.anything("payload"))),)
        case _:
            raise fields.wrong("kind", '"ask", "approve" or "custom"')


def _progress(fields: Fields, dialect: Dialect) -> Sequence[Event]:
    kind, payload = fields.text("kind"), fields.anything("payload")
    if kind not in _PAYLOADS and kind != "usage":
        return (Progress(kind, {"id": fields.data.get("id"), "payload": payload}),)
    if type(payload) is not dict:
        raise fields.wrong("payload", "an object")
    inner = Fields(payload, "payload.")
    return (_used(payload, dialect) if kind == "usage" else _PAYLOADS[kind](inner),)


def _used(counts: Mapping[str, Any], dialect: Dialect) -> Event:
    return Used(usage_of(_counts(counts), None, dialect))


def _counts(counts: Mapping[str, Any]) -> Mapping[str, Any]:
    names = {"input": "input", "output": "output", "cache_read": "cacheRead", "cache_write": "cacheCreation"}
    return {ours: counts.get(theirs) for ours, theirs in names.items()}


def _agent_message(fields: Fields) -> Event:
    return Message(fields.text("text"), agent=fields.maybe_text("parentToolUseId"))


def _reasoning(fields: Fields) -> Event:
    return Reasoning(fields.text("text"), agent=fields.maybe_text("parentToolUseId"))


def _tool_call(fields: Fields) -> Event:
    return ToolCall(
        id=fields.name("toolUseId"),
        name=fields.name("name"),
        input=fields.anything("input"),
        agent=fields.maybe_text("parentToolUseId"),
        server=fields.maybe_text("server"),
    )


def _tool_result(fields: Fields) -> Event:
    content, structured = fields.anything("content"), fields.data.get("structuredContent")
    duration_ms = fields.maybe_number("durationMs")
    return ToolResult(
        id=fields.name("toolUseId"),
        name=fields.maybe_text("name"),
        text=fields.maybe_text("text") or (content if type(content) is str else ""),
        output=structured if structured is not None else content if type(content) is not str else None,
        error=fields.flag("isError"),
        duration_s=None if duration_ms is None else duration_ms / 1000,
        agent=fields.maybe_text("parentToolUseId"),
    )


def _stderr(fields: Fields) -> Event:
    return Log(fields.text("text"), "stderr")


_PAYLOADS = {
    "agent-message": _agent_message,
    "reasoning": _reasoning,
    "tool-call": _tool_call,
    "tool-result": _tool_result,
    "driver-stderr": _stderr,
}


def _done(fields: Fields, dialect: Dialect) -> Sequence[Event]:
    """Its summary may have any shape; totals are looked for where agents of that protocol put them."""
    summary = fields.data.get("summary")
    if type(summary) is not dict:
        return (Done(detail={} if summary is None else {"summary": summary}),)
    done = Done(detail=summary)
    counts, usd = summary.get("usage"), summary.get("cost")
    if counts is None and usd is None:
        return (done,)
    return Used(usage_of(_counts(counts if type(counts) is dict else {}), usd, dialect, scope="total")), done


def _error(fields: Fields) -> Sequence[Event]:
    reason = fields.maybe_text("exitReason")
    return (Failed(fields.text("reason"), detail={} if reason is None else {"exitReason": reason}),)


def answer_message(question: Question, answer: Answer) -> dict[str, Any]:
    """What the host answers to one question. This protocol has no refusal: the agent is told the reason instead."""
    reason = {} if answer.reason is None else {"reason": answer.reason}
    match question.kind:
        case "approve":
            approved = bool(answer.approved) and not answer.refused
            return {"type": "approve" if approved else "deny", "id": question.id, **reason}
        case "custom":
            payload = {"refused": True, **reason} if answer.refused else answer.payload
            return {"type": "customToolResponse", "id": question.id, "payload": payload}
        case _:
            text = answer.text if answer.text is not None else ", ".join(answer.chosen) or answer.reason or ""
            return {"type": "answer", "id": question.id, "text": text}
