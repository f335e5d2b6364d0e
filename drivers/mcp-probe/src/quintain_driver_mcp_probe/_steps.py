"""Steps as requests of the protocol, and values of earlier results in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import ClientSession, types
from pydantic import RootModel

from quintain_driver_mcp_probe._config import Step

LISTS: Mapping[str, tuple[str, str]] = {
    "list-tools": ("tools/list", "tools"),
    "list-resources": ("resources/list", "resources"),
    "list-templates": ("resources/templates/list", "resourceTemplates"),
    "list-prompts": ("prompts/list", "prompts"),
}


class _Whole(RootModel[dict[str, Any]]):
    """A result as it came."""


class StepFailed(Exception):
    """A step can't be done or its answer can't be used; the words are for people."""


def request(step: Step, results: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Method and parameters of a step that is no list. Raises StepFailed for a reference that leads nowhere."""
    match step.op:
        case "call":
            return "tools/call", {"name": step.tool, "arguments": resolved(step.args, results)}
        case "read":
            return "resources/read", {"uri": step.uri}
        case "get-prompt":
            return "prompts/get", {"name": step.prompt, "arguments": resolved(step.args, results)}
        case "complete":
            return "completion/complete", {"ref": step.ref, "argument": step.argument}
        case "set-level":
            return "logging/setLevel", {"level": step.level}
        case _:
            return step.op, {}


async def ask(client: ClientSession, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one request and give its result as it came. Raises what the client library raises."""
    return (await client.send_request(types.Request[Any, str](method=method, params=params), _Whole)).root


async def whole_list(client: ClientSession, op: str, max_pages: int) -> list[Any]:
    """All pages of a list. Raises StepFailed if the cursor goes in a circle or there are too many pages."""
    method, key = LISTS[op]
    items: list[Any] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(max_pages):
        page = await ask(client, method, {} if cursor is None else {"cursor": cursor})
        items.extend(page[key])
        cursor = page.get("nextCursor")
        if cursor is None:
            return items
        if cursor in seen:
            raise StepFailed(f"{method} gave the cursor {cursor!r} twice")
        seen.add(cursor)
    raise StepFailed(f"{method} has more than {max_pages} pages")


def resolved(value: Any, results: Mapping[str, Any]) -> Any:
    """A value with its references replaced by what they point at. Raises StepFailed."""
    if isinstance(value, Mapping):
        if "$from" in value:
            return _pointed(value, results)
        return {key: resolved(item, results) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolved(item, results) for item in value]
    return value


def _pointed(reference: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    name, pointer = reference["$from"], reference.get("$at", "")
    if name not in results:
        raise StepFailed(f"no earlier step is named {name!r}")
    found = results[name]
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise StepFailed(f"the result of {name!r} has nothing at {pointer!r}") from None
    return found
