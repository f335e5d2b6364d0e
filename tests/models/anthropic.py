"""The messages dialect of the scripted model server, streaming and not.

A turn's content is a sequence of blocks, made by `say`, `think` and `call`, or a `Said` with usage and more.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen
from models.server import Reply, Request, Turn

ERRORS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""Kinds of error by status; others are `api_error`."""

USAGE: Mapping[str, int] = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 10,
    "cache_read_input_tokens": 20,
    "output_tokens": 7,
}
"""What every call uses unless its turn says otherwise."""

_numbers = itertools.count(1)


@frozen
class Said:
    """What the model says in one turn.

    Attributes:
        blocks: the content.
        usage: token counts by the protocol's names.
        stop_reason: None is what fits the blocks.
        model: None repeats what was asked for.
        id: of the message; None makes a new one.
    """

    blocks: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, int] = field(default=USAGE)
    stop_reason: str | None = None
    model: str | None = None
    id: str | None = None


def say(text: str) -> dict[str, Any]:
    """A text."""
    return {"type": "text", "text": text}


def think(text: str) -> dict[str, Any]:
    """Thinking, with a signature as the protocol has it."""
    return {"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}


def call(name: str, /, _id: str | None = None, **arguments: Any) -> dict[str, Any]:
    """The use of a tool."""
    return {"type": "tool_use", "id": _id or f"toolu_{next(_numbers):06}", "name": name, "input": arguments}


def turn(*blocks: Mapping[str, Any], usage: Mapping[str, int] = USAGE, **options: Any) -> Turn:
    """A turn of some blocks; options are those of `Turn`."""
    return Turn(Said(blocks, usage), **options)


def results(request: Request) -> dict[str, dict[str, Any]]:
    """What tools gave back in a request, by the ids of their calls."""
    blocks = (block for message in _messages(request.data) for block in _blocks(message))
    return {block["tool_use_id"]: block for block in blocks if block.get("type") == "tool_result"}


def prompts(request: Request) -> list[str]:
    """All texts that the user's side said, in order."""
    said = (message for message in _messages(request.data) if message.get("role") == "user")
    return [block["text"] for message in said for block in _blocks(message) if block.get("type") == "text"]


class Messages:
    """The dialect."""

    def asks(self, request: Request) -> bool:
        return request.method == "POST" and request.path.partition("?")[0].endswith("/v1/messages")

    def turns(self, data: Any) -> int:
        return sum(message.get("role") == "assistant" for message in _messages(data))

    def say(self, request: Request, turn: Turn) -> Reply:
        said = turn.content if isinstance(turn.content, Said) else Said(turn.content or ())
        message = self._message(request, said)
        if not (request.data or {}).get("stream"):
            return Reply([json.dumps(message).encode()])
        return Reply([_sse(event) for event in _events(message)], "text/event-stream", stream=True)

    def error(self, turn: Turn) -> bytes:
        kind = turn.kind or ERRORS.get(turn.status, "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": turn.message}}).encode()

    def aside(self, request: Request) -> Reply:
        if request.path.partition("?")[0].endswith("/count_tokens"):
            return Reply([b'{"input_tokens": 100}'])
        return Reply([b"{}"], status=200 if request.path == "/" else 404)

    def _message(self, request: Request, said: Said) -> dict[str, Any]:
        uses = any(block["type"] == "tool_use" for block in said.blocks)
        return {
            "id": said.id or f"msg_{next(_numbers):06}",
            "type": "message",
            "role": "assistant",
            "model": said.model or (request.data or {}).get("model", "scripted"),
            "content": [dict(block) for block in said.blocks],
            "stop_reason": said.stop_reason or ("tool_use" if uses else "end_turn"),
            "stop_sequence": None,
            "usage": dict(said.usage),
        }


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    usage = message["usage"]
    # As the real one does: the beginning knows the input, only the end knows the output.
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        empty, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": usage.get("output_tokens", 0)}}
    yield {"type": "message_stop"}


def _opened(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins, and what is added to it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in _cut(block["text"])]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in _cut(block["thinking"])]
        sealed = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, sealed]
    written = json.dumps(block["input"])
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in _cut(written)]


def _cut(text: str, parts: int = 2) -> list[str]:
    size = max(1, -(-len(text) // parts))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def _sse(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _messages(data: Any) -> list[dict[str, Any]]:
    found = data.get("messages") if isinstance(data, dict) else None
    return [message for message in found or () if isinstance(message, dict)]


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]
