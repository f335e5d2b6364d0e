"""Items of a turn into events. Pure.

An item is announced when it starts and told whole when it is complete. Some never complete: a command that still runs
when the turn ends, or one that is interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from quintain import Event, Message, Progress, Reasoning, ToolCall, ToolResult, Unknown
from quintain.driving import items, need_text, table, text

from quintain_driver_codex._fields import seconds

Item = Mapping[str, Any]


@frozen
class Tool:
    """How one kind of item is told as the use of a tool.

    Attributes:
        name: of the tool, from the item.
        input: what it was given.
        output: its result as text.
        server: the tool server that has it, if one has.
        keys: members of the item that are its result as data.
    """

    name: Callable[[Item], str]
    input: Callable[[Item], Any]
    output: Callable[[Item], str]
    server: Callable[[Item], str | None] = lambda item: None
    keys: tuple[str, ...] = ()


def _members(*names: str) -> Callable[[Item], Any]:
    return lambda item: {name: item[name] for name in names if item.get(name) is not None}


def _named(name: str) -> Callable[[Item], str]:
    return lambda item: name


def _text_of_content(content: list[Any]) -> str:
    """The texts among content blocks; other blocks are named."""
    parts = []
    for block in content:
        if isinstance(block, Mapping):
            said = text(block, "text")
            parts.append(said if said is not None else f"[{block.get('type')}]")
    return "\n".join(parts)


def _mcp_output(item: Item) -> str:
    error = table(item, "error")
    if error:
        return text(error, "message") or json.dumps(error)
    return _text_of_content(items(table(item, "result"), "content"))


def _patched(item: Item) -> str:
    changes = [change for change in items(item, "changes") if isinstance(change, Mapping)]
    return "\n".join(f"{table(change, 'kind').get('type', 'change')} {change.get('path')}" for change in changes)


TOOLS: Mapping[str, Tool] = {
    "commandExecution": Tool(
        _named("shell"),
        _members("command", "cwd"),
        lambda item: text(item, "aggregatedOutput") or "",
        keys=("exitCode", "status"),
    ),
    "fileChange": Tool(_named("apply_patch"), _members("changes"), _patched, keys=("status",)),
    "mcpToolCall": Tool(
        lambda item: text(item, "tool") or "mcp",
        lambda item: item.get("arguments"),
        _mcp_output,
        lambda item: text(item, "server"),
        keys=("result", "error"),
    ),
    "dynamicToolCall": Tool(
        lambda item: text(item, "tool") or "dynamic",
        lambda item: item.get("arguments"),
        lambda item: _text_of_content(items(item, "contentItems")),
        lambda item: text(item, "namespace"),
        keys=("contentItems",),
    ),
    "collabAgentToolCall": Tool(
        lambda item: text(item, "tool") or "collab",
        _members("prompt", "model", "receiverThreadIds", "reasoningEffort"),
        lambda item: json.dumps(item.get("agentsStates") or {}),
        keys=("receiverThreadIds", "agentsStates", "status"),
    ),
    "webSearch": Tool(_named("web_search"), _members("query", "action"), lambda item: "", keys=("results",)),
    "imageView": Tool(_named("view_image"), _members("path"), lambda item: ""),
    "imageGeneration": Tool(
        _named("generate_image"),
        _members("revisedPrompt"),
        lambda item: text(item, "savedPath") or "",
        keys=("status",),
    ),
    "sleep": Tool(_named("sleep"), _members("durationMs"), lambda item: ""),
}

_REJECTED = "user rejected"
"""So the error of a tool server's tool begins that was not allowed; it has no status of its own."""

_SILENT = frozenset({"userMessage", "hookPrompt", "functionCallOutput"})
"""What the agent was told, or what repeats the result of a tool."""

_NOTES = {
    "contextCompaction": "the context was compacted",
    "enteredReviewMode": "a review began",
    "exitedReviewMode": "a review ended",
    "subAgentActivity": "a subagent is at work",
}


def started(item: Item, agent: str | None, where: str) -> list[Event]:
    """The events of an item that starts. Raises WrongField."""
    kind = need_text(item, "type", where)
    tool = TOOLS.get(kind)
    if tool is None:
        return []
    id = need_text(item, "id", where)
    return [ToolCall(id, tool.name(item), tool.input(item), agent, tool.server(item))]


def completed(item: Item, agent: str | None, where: str) -> list[Event]:
    """The events of an item that is complete. Raises WrongField."""
    kind = need_text(item, "type", where)
    if kind == "agentMessage":
        return [Message(text(item, "text") or "", text(item, "id"), agent)]
    if kind == "reasoning":
        thought = "\n".join(
            part for key in ("summary", "content") for part in items(item, key) if isinstance(part, str)
        )
        return [Reasoning(thought, agent)] if thought else []
    if kind == "plan":
        return [Progress("plan", {"plan": item.get("text")})]
    if kind in _NOTES:
        return [Progress(_NOTES[kind], {key: inner for key, inner in item.items() if key not in ("id", "type")})]
    if kind in _SILENT:
        return []
    tool = TOOLS.get(kind)
    if tool is None:
        return [Unknown(f"item/{kind}", dict(item))]
    return [_result(tool, item, agent, where)]


def _result(tool: Tool, item: Item, agent: str | None, where: str) -> ToolResult:
    status = text(item, "status")
    code = item.get("exitCode")
    failed = (
        status in ("failed", "declined", "interrupted")
        or (type(code) is int and code != 0)
        or item.get("success") is False
        or bool(item.get("error"))
        or table(item, "result").get("isError") is True
    )
    output = {key: item[key] for key in tool.keys if item.get(key) is not None}
    denied = status == "declined" or _REJECTED in (text(table(item, "error"), "message") or "")
    return ToolResult(
        need_text(item, "id", where),
        tool.name(item),
        tool.output(item) if status != "declined" else "it was refused",
        output or None,
        error=failed,
        denied=denied,
        duration_s=seconds(item, "durationMs"),
        agent=agent,
    )
