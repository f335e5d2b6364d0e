"""The messages of protocol 2 (`quintain-jsonl/2`), both ways; described in `docs/reference/subprocess-protocol.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Literal

from attrs import evolve
from quintain import (
    Answer,
    Artifact,
    Asked,
    Done,
    Event,
    Failed,
    Failure,
    Launch,
    Message,
    Option,
    Progress,
    Question,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Usage,
    Used,
)

from quintain_driver_subprocess._config import Dialect, SubprocessConfig
from quintain_driver_subprocess._fields import Fields
from quintain_driver_subprocess._parser import Wire
from quintain_driver_subprocess._usage import COUNTS, usage_of

PROTOCOL = 2

FAILURES = {
    failure.value: failure
    for failure in (Failure.RATE_LIMIT, Failure.OVERLOAD, Failure.NETWORK, Failure.AUTH, Failure.DISK)
}
"""Failures of its surroundings that an agent can know of."""

CANCEL: dict[str, Any] = {"type": "cancel"}

_FIELDS = {
    "ready": "agent version model session detail",
    "message": "text id agent",
    "reasoning": "text agent",
    "tool_call": "id name input agent server",
    "tool_result": "id name text output error denied duration_s agent",
    "usage": "input cache_read cache_write output reasoning cost_usd model id scope agent",
    "question": "id kind text options several payload agent",
    "progress": "text detail",
    "artifact": "path name media_type",
    "done": "text error failure denials detail usage",
    "error": "reason failure detail usage",
}


def wire(dialect: Dialect) -> Wire:
    """The agent's side."""
    readers: dict[str, Callable[[Fields], Sequence[Event]]] = {
        "ready": _ready,
        "message": _message,
        "reasoning": _reasoning,
        "tool_call": _tool_call,
        "tool_result": _tool_result,
        "usage": lambda fields: _usage(fields, dialect),
        "question": _question,
        "progress": _progress,
        "artifact": _artifact,
        "done": lambda fields: _done(fields, dialect),
        "error": lambda fields: _error(fields, dialect),
    }
    names = {kind: frozenset({"type", *fields.split()}) for kind, fields in _FIELDS.items()}
    return Wire(readers, names, lambda data: data.get("type") == "usage")


def _ready(fields: Fields) -> Sequence[Event]:
    agent, version, model, session = (fields.maybe_text(key) for key in ("agent", "version", "model", "session"))
    return (Ready(agent, version, model, session, fields.table("detail")),)


def _message(fields: Fields) -> Sequence[Event]:
    return (Message(fields.text("text"), fields.maybe_text("id"), fields.maybe_text("agent")),)


def _reasoning(fields: Fields) -> Sequence[Event]:
    return (Reasoning(fields.text("text"), fields.maybe_text("agent")),)


def _tool_call(fields: Fields) -> Sequence[Event]:
    return (
        ToolCall(
            fields.name("id"),
            fields.name("name"),
            fields.data.get("input"),
            fields.maybe_text("agent"),
            fields.maybe_text("server"),
        ),
    )


def _tool_result(fields: Fields) -> Sequence[Event]:
    return (
        ToolResult(
            id=fields.name("id"),
            name=fields.maybe_text("name"),
            text=fields.maybe_text("text") or "",
            output=fields.data.get("output"),
            error=fields.flag("error"),
            denied=fields.flag("denied"),
            duration_s=fields.maybe_number("duration_s"),
            agent=fields.maybe_text("agent"),
        ),
    )


def _usage(fields: Fields, dialect: Dialect) -> Sequence[Event]:
    if all(fields.data.get(key) is None for key in (*COUNTS, "cost_usd")):
        raise fields.wrong("input", "a number, or another count or the cost must be there")
    scope: Literal["call", "total"] = "call"
    match fields.maybe_text("scope"):
        case "total":
            scope = "total"
        case None | "call":
            pass
        case _:
            raise fields.wrong("scope", '"call" or "total"')
    usage = usage_of(
        fields.data,
        fields.data.get("cost_usd"),
        dialect,
        scope=scope,
        model=fields.maybe_text("model"),
        id=fields.maybe_text("id"),
        agent=fields.maybe_text("agent"),
    )
    return (Used(usage),)


def _question(fields: Fields) -> Sequence[Event]:
    id, agent = fields.name("id"), fields.maybe_text("agent")
    match fields.maybe_text("kind"):
        case None | "ask":
            options = tuple(_option(fields, n, item) for n, item in enumerate(fields.items("options")))
            question = Question(id, "ask", fields.text("text"), options, fields.flag("several"))
        case "approve":
            question = Question(id, "approve", fields.text("text"))
        case "custom":
            fields.anything("payload")
            question = Question(id, "custom", fields.maybe_text("text") or "")
        case _:
            raise fields.wrong("kind", '"ask", "approve" or "custom"')
    return (Asked(evolve(question, payload=fields.data.get("payload"), agent=agent)),)


def _option(fields: Fields, number: int, item: Any) -> Option:
    if type(item) is str:
        return Option(item)
    place = f"options.{number}"
    if type(item) is not dict:
        raise Fields({place: item}).wrong(place, "a text or an object with a `label`")
    inner = Fields(item, f"{place}.")
    return Option(inner.name("label"), inner.maybe_text("description"))


def _progress(fields: Fields) -> Sequence[Event]:
    return (Progress(fields.text("text"), fields.table("detail")),)


def _artifact(fields: Fields) -> Sequence[Event]:
    path = fields.name("path")
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise fields.wrong("path", "a path inside the workspace, relative to it")
    return (Artifact(path, fields.maybe_text("name"), fields.maybe_text("media_type")),)


def _done(fields: Fields, dialect: Dialect) -> Sequence[Event]:
    done = Done(
        text=fields.maybe_text("text"),
        error=fields.flag("error"),
        failure=_failure(fields),
        denials=fields.maybe_count("denials"),
        detail=fields.table("detail"),
    )
    return (*_total(fields, dialect), done)


def _error(fields: Fields, dialect: Dialect) -> Sequence[Event]:
    failed = Failed(fields.text("reason"), _failure(fields), fields.table("detail"))
    return (*_total(fields, dialect), failed)


def _failure(fields: Fields) -> Failure | None:
    """An end stands even if the failure that it names is none that is known."""
    name = fields.maybe_text("failure")
    if name is not None and name not in FAILURES:
        fields.beside.append(fields.wrong("failure", f"one of {', '.join(FAILURES)}"))
    return FAILURES.get(name or "")


def _total(fields: Fields, dialect: Dialect) -> Sequence[Event]:
    """The totals that an end may carry; it stands even if they can't be true."""
    totals = fields.data.get("usage")
    if totals is None:
        return ()
    if type(totals) is not dict:
        wrong = fields.wrong("usage", "an object")
        fields.beside.append(wrong)
        return (Used(Usage(scope="total", problem=wrong.message)),)
    return (Used(usage_of(totals, totals.get("cost_usd"), dialect, scope="total")),)


def start_message(config: SubprocessConfig, launch: Launch) -> dict[str, Any]:
    """What the host says first."""
    return {
        "type": "start",
        "protocol": PROTOCOL,
        "prompt": launch.prompt,
        "workspace": str(launch.workspace),
        "subject": str(launch.subject) if launch.subject is not None else None,
        "case": launch.case.id,
        "trial": launch.trial,
        "attempt": launch.attempt,
        "seed": launch.seed,
        "deadline_s": launch.deadline_s,
        "max_usd": launch.allowance.usd,
        "max_tokens": launch.allowance.tokens,
        "model": config.model,
    }


def answer_message(question: Question, answer: Answer) -> dict[str, Any]:
    """What the host answers to one question."""
    told: Mapping[str, Any]
    match question.kind:
        case "ask":
            told = {"text": _answer_text(answer), "chosen": list(answer.chosen)}
        case "approve":
            told = {"approved": bool(answer.approved) and not answer.refused}
        case _:
            told = {"payload": answer.payload}
    return {
        "type": "answer",
        "id": question.id,
        "kind": question.kind,
        **told,
        "refused": answer.refused,
        "reason": answer.reason,
    }


def _answer_text(answer: Answer) -> str | None:
    """Every answer has a text, so that an agent that offers options need not know about `chosen`."""
    if answer.text is None and answer.chosen:
        return ", ".join(answer.chosen)
    return answer.text
