"""Tool calls of Cursor's into events. Pure.

The object of a tool call has one member for its kind, such as `shellToolCall`, and in newer versions others beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain import ToolCall, ToolResult
from quintain.driving import need_table, need_text, table, text

_SUFFIX = "ToolCall"
_WELL = ("success", "complete", "completed", "registered", "startSuccess")
_REFUSED = ("rejected", "permissionDenied", "denied")
_TEXTS = ("content", "stdout", "output", "diffString", "message")

Message = Mapping[str, Any]


def started(message: Message) -> ToolCall:
    """A call that begins. Raises WrongField."""
    id = need_text(message, "call_id", "message")
    name, body = _kind(message)
    given = table(body, "args")
    if name == "function":
        return ToolCall(id, text(body, "name") or name, body.get("arguments"))
    if name == "mcp":
        tool = text(given, "toolName") or text(given, "name") or name
        server = text(given, "providerIdentifier") or text(given, "serverName") or text(given, "server")
        return ToolCall(id, tool, given.get("args", dict(given)), server=server)
    return ToolCall(id, name, dict(given))


def completed(message: Message) -> ToolResult:
    """A call that has ended. Raises WrongField."""
    call = started(message)
    _, body = _kind(message)
    outcome, result = _outcome(table(body, "result"))
    code = result.get("exitCode")
    denied = outcome in _REFUSED
    failed = outcome not in _WELL or (type(code) is int and code != 0)
    return ToolResult(
        call.id,
        call.name,
        _words(result, denied),
        {outcome: dict(result)},
        error=failed,
        denied=denied,
        duration_s=_duration(message, result),
    )


def _kind(message: Message) -> tuple[str, Mapping[str, Any]]:
    body = need_table(message, "tool_call", "message")
    for key, inner in body.items():
        if key.endswith(_SUFFIX) and isinstance(inner, Mapping):
            return key.removesuffix(_SUFFIX), inner
    return "function", need_table(body, "function", "message.tool_call")


def _outcome(result: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of an outcome and what belongs to it; a call without any has an unknown one."""
    for name, inner in result.items():
        if isinstance(inner, Mapping):
            return name, inner
    return next(iter(result), "unknown"), {}


def _words(result: Mapping[str, Any], denied: bool) -> str:
    if denied:
        return text(result, "reason") or "it was refused"
    found = next((said for key in _TEXTS if (said := text(result, key)) is not None), "")
    errors = text(result, "stderr") or text(result, "error") or text(result, "errorMessage")
    return "\n".join(part for part in (found, errors) if part)


def _duration(message: Message, result: Mapping[str, Any]) -> float | None:
    """Seconds, from what the call says of itself."""
    value = result.get("executionTime")
    if type(value) in (int, float) and isinstance(value, int | float) and 0 <= value < 1e12:
        return value / 1000
    body = table(message, "tool_call")
    began, ended = body.get("startedAtMs"), body.get("completedAtMs")
    try:
        took = int(str(ended)) - int(str(began))
    except ValueError:
        return None
    return took / 1000 if 0 <= took < 10**12 else None
