"""The content of messages: what is said, thought, called and given back. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from quintain import Event, Message, Reasoning, ToolCall, ToolResult, Unknown
from quintain.driving import text

from quintain_driver_claude_code._fields import need_text, tables

OUTPUT_CHARACTERS = 64 * 1024
"""Of a longer result only the text is kept; its structured form would say it all again."""

_DENIALS = (
    "Permission to use ",
    "Claude requested permissions ",
    "The user doesn't want to proceed with this tool use",
)
_SERVER = "mcp__"


class Content:
    """Understands messages, and remembers which tools were called."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._denied: set[str] = set()

    def deny(self, tool: str | None) -> None:
        """The use of a tool was refused."""
        if tool is not None:
            self._denied.add(tool)

    def assistant(self, message: Mapping[str, Any], agent: str | None) -> Iterator[Event]:
        """What the model says. Raises WrongField."""
        id = text(message, "id")
        for block in _blocks(message):
            kind = block.get("type")
            if kind == "text":
                yield Message(text(block, "text") or "", id, agent)
            elif kind == "thinking":
                yield Reasoning(text(block, "thinking") or "", agent)
            elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                yield self._call(block, agent)
            elif kind == "redacted_thinking":
                yield Reasoning("", agent)
            elif isinstance(kind, str) and kind.endswith("tool_result"):
                yield self._result(block, None, agent)
            else:
                yield Unknown(f"assistant/{kind}", block)

    def user(self, message: Mapping[str, Any], whole: Mapping[str, Any], agent: str | None) -> Iterator[Event]:
        """What tools gave back; what was said to the model is known already. Raises WrongField."""
        results = [block for block in _blocks(message) if block.get("type") == "tool_result"]
        structured = whole.get("tool_use_result")
        for block in results:
            output = structured if len(results) == 1 and isinstance(structured, dict) else None
            yield self._result(block, output, agent)

    def _call(self, block: Mapping[str, Any], agent: str | None) -> ToolCall:
        id, name = need_text(block, "id", "message.content"), need_text(block, "name", "message.content")
        self._names[id] = name
        server = text(block, "server_name")
        if name.startswith(_SERVER) and name.count("__") >= 2:
            server = name.split("__")[1]
        return ToolCall(id, name, block.get("input"), agent, server)

    def _result(self, block: Mapping[str, Any], output: dict[str, Any] | None, agent: str | None) -> ToolResult:
        id = need_text(block, "tool_use_id", "message.content")
        words = _words(block.get("content"))
        error = block.get("is_error") is True
        denied = id in self._denied or (error and words.startswith(_DENIALS))
        kept = output if len(words) <= OUTPUT_CHARACTERS and _short(output) else None
        return ToolResult(id, self._names.get(id), words, kept, error, denied, agent=agent)


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else tables(message, "content")


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content)
    return "\n".join(_part(part) for part in content)


def _part(part: object) -> str:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else json.dumps(part)
    said = text(part, "text")
    return said if said is not None else f"[{part.get('type')}]"


def _short(value: object) -> bool:
    """It can be kept beside the text: files that were read or written are in here whole."""
    if isinstance(value, str):
        return len(value) <= OUTPUT_CHARACTERS
    if isinstance(value, dict):
        return all(_short(inner) for inner in value.values())
    return all(_short(inner) for inner in value) if isinstance(value, list) else True
