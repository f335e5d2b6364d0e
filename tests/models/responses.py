"""The responses dialect of the scripted model server: what a step looks like as a stream of server-sent events.

A step is what the model says to one request. Helpers here make steps; `stream` turns one into the events of the wire.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

PATH = "/v1/responses"


@frozen
class Step:
    """What the model says to one request.

    Attributes:
        items: output items of the protocol.
        usage: token counts, by the protocol's names.
        failure: code and message of a `response.failed` in the place of the end.
        parts: into so many deltas a text is cut.
    """

    items: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, Any] = field(factory=dict)
    failure: tuple[str, str] | None = None
    parts: int = 1


def usage(*, input: int = 120, cached: int = 20, output: int = 30, reasoning: int = 5) -> dict[str, Any]:
    """Token counts; the cached ones are part of the input."""
    return {
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": input + output,
    }


def say(text: str) -> dict[str, Any]:
    """A message."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}


def think(text: str) -> dict[str, Any]:
    """A summary of reasoning."""
    return {"type": "reasoning", "id": _id("rs"), "summary": [{"type": "summary_text", "text": text}]}


def call(name: str, arguments: Mapping[str, Any], *, namespace: str | None = None) -> dict[str, Any]:
    """The use of a tool; `namespace` names the tool server that has it."""
    item = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "name": name}
    item |= {"arguments": json.dumps(arguments), "status": "completed"}
    return item | ({"namespace": namespace} if namespace is not None else {})


def write(name: str, text: str) -> dict[str, Any]:
    """The use of a tool that takes a plain text."""
    return {"type": "custom_tool_call", "id": _id("ctc"), "call_id": _id("call"), "name": name, "input": text}


def shell(command: str, **more: Any) -> dict[str, Any]:
    """A command line for the shell."""
    return call("exec_command", {"cmd": command, **more})


def patch(path: str, text: str) -> dict[str, Any]:
    """A new file by way of a patch."""
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return write("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")


def answer(*items: Mapping[str, Any], **options: Any) -> Step:
    """A step of some items with the usual usage."""
    return Step(items, options.pop("usage", usage()), **options)


def stream(step: Step) -> Iterator[Mapping[str, Any]]:
    """The events of a step, in order."""
    response = {"id": _id("resp"), "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(step.items):
        yield from _item(item, index, step.parts)
    if step.failure is not None:
        error = {"code": step.failure[0], "message": step.failure[1]}
        yield {"type": "response.failed", "response": {**response, "status": "failed", "error": error}}
        return
    whole = {**response, "status": "completed", "output": list(step.items), "usage": dict(step.usage)}
    yield {"type": "response.completed", "response": whole}


def _item(item: Mapping[str, Any], index: int, parts: int) -> Iterator[Mapping[str, Any]]:
    place = {"output_index": index, "item_id": item.get("id")}
    if item["type"] != "message":
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
    else:
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        text = item["content"][0]["text"]
        size = max(1, -(-len(text) // parts))
        for start in range(0, len(text), size):
            delta = text[start : start + size]
            yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": delta}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def sse(event: Mapping[str, Any]) -> bytes:
    """One event as it goes over the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def outputs(request: Mapping[str, Any]) -> dict[str, Any]:
    """What tools gave back in a request, by the ids of their calls."""
    found = (item for item in request.get("input", ()) if isinstance(item, dict))
    return {item["call_id"]: item.get("output") for item in found if str(item.get("type")).endswith("_call_output")}


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"
