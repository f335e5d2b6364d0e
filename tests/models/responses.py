"""The responses dialect of the scripted model server, streaming and not.

A turn's content is a sequence of output items, made by `say`, `think`, `call`, `write`, `shell` and `patch`, or a `Said`
with usage and more.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen
from models.server import Reply, Request, Turn

USAGE: Mapping[str, Any] = {
    "input_tokens": 120,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 150,
}
"""What every call uses unless its turn says otherwise; the cached tokens are part of the input."""

CODES: Mapping[int, str] = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
"""Codes of errors by status; others have none."""

_numbers = itertools.count(1)
_OURS = ("function_call", "custom_tool_call", "reasoning")
"""Items of a conversation that the model said, beside its messages."""


@frozen
class Said:
    """What the model says in one turn.

    Attributes:
        items: the output.
        usage: token counts by the protocol's names.
        failure: code and message of a `response.failed` in the place of the end.
        parts: into so many deltas a message is cut.
    """

    items: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, Any] = field(default=USAGE)
    failure: tuple[str, str] | None = None
    parts: int = 1


def say(text: str) -> dict[str, Any]:
    """A message."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}


def think(text: str) -> dict[str, Any]:
    """A summary of reasoning."""
    return {"type": "reasoning", "id": _id("rs"), "summary": [{"type": "summary_text", "text": text}]}


def call(name: str, /, _server: str | None = None, **arguments: Any) -> dict[str, Any]:
    """The use of a tool; `_server` names the tool server that has it."""
    item = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "name": name, "status": "completed"}
    item |= {"arguments": json.dumps(arguments)}
    return item if _server is None else item | {"namespace": f"mcp__{_server}"}


def write(name: str, text: str) -> dict[str, Any]:
    """The use of a tool that takes a plain text."""
    return {"type": "custom_tool_call", "id": _id("ctc"), "call_id": _id("call"), "name": name, "input": text}


def shell(command: str, **more: Any) -> dict[str, Any]:
    """A command line for the shell."""
    return call("exec_command", cmd=command, **more)


def patch(path: str, text: str) -> dict[str, Any]:
    """A new file by way of a patch."""
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return write("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")


def turn(*items: Mapping[str, Any], usage: Mapping[str, Any] = USAGE, **options: Any) -> Turn:
    """A turn of some items; options are those of `Turn`."""
    return Turn(Said(items, usage), **options)


def failed(code: str, message: str, **options: Any) -> Turn:
    """A turn that fails inside its stream."""
    return Turn(Said(failure=(code, message)), **options)


def results(request: Request) -> dict[str, Any]:
    """What tools gave back in a request, by the ids of their calls."""
    return {
        item["call_id"]: item.get("output") for item in _input(request.data) if _kind(item).endswith("_call_output")
    }


def prompts(request: Request) -> list[str]:
    """All that was said in the names of the user and of the developer."""
    found = []
    for item in _input(request.data):
        if item.get("role") in ("user", "developer"):
            found += [part.get("text", "") for part in item.get("content", ()) if isinstance(part, dict)]
    return found


class Responses:
    """The dialect."""

    def asks(self, request: Request) -> bool:
        """A POST of a response."""
        return request.method == "POST" and request.path.partition("?")[0].endswith("/responses")

    def turns(self, data: Any) -> int:
        """How many runs of items the model said."""
        spoken = [item.get("role") == "assistant" or _kind(item) in _OURS for item in _input(data)]
        return sum(now and not before for before, now in itertools.pairwise([False, *spoken]))

    def say(self, request: Request, turn: Turn) -> Reply:
        """A response, whole or as events."""
        said = turn.content if isinstance(turn.content, Said) else Said(tuple(turn.content or ()))
        model = request.data.get("model") if isinstance(request.data, dict) else None
        events = list(_events(said, model))
        if isinstance(request.data, dict) and request.data.get("stream"):
            return Reply([_sse(event) for event in events], "text/event-stream", stream=True)
        return Reply([json.dumps(events[-1]["response"]).encode()])

    def error(self, turn: Turn) -> bytes:
        """The body of an error."""
        kind = turn.kind or ("server_error" if turn.status >= 500 else "invalid_request_error")
        error = {"message": turn.message, "type": kind, "code": CODES.get(turn.status), "param": None}
        return json.dumps({"error": error}).encode()

    def aside(self, request: Request) -> Reply:
        """There is nothing else."""
        return Reply([b"{}"], status=404)


def _events(said: Said, model: str | None) -> Iterator[dict[str, Any]]:
    response: dict[str, Any] = {
        "id": _id("resp"),
        "object": "response",
        "status": "in_progress",
        "model": model,
        "output": [],
    }
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(said.items):
        yield from _item(item, index, said.parts)
    if said.failure is not None:
        error = {"code": said.failure[0], "message": said.failure[1]}
        yield {"type": "response.failed", "response": {**response, "status": "failed", "error": error}}
        return
    whole = {**response, "status": "completed", "output": list(said.items), "usage": dict(said.usage)}
    yield {"type": "response.completed", "response": whole}


def _item(item: Mapping[str, Any], index: int, parts: int) -> Iterator[dict[str, Any]]:
    if item["type"] != "message":
        yield {"type": "response.output_item.added", "output_index": index, "item": dict(item)}
    else:
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        place = {"output_index": index, "item_id": item["id"], "content_index": 0}
        text = item["content"][0]["text"]
        size = max(1, -(-len(text) // parts))
        for start in range(0, len(text), size):
            yield {"type": "response.output_text.delta", **place, "delta": text[start : start + size]}
    yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def _sse(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _input(data: Any) -> list[dict[str, Any]]:
    found = data.get("input") if isinstance(data, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _kind(item: Mapping[str, Any]) -> str:
    return str(item.get("type"))


def _id(prefix: str) -> str:
    return f"{prefix}_{next(_numbers):06}"
