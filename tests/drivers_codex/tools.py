"""A tool server in a few lines: adds two numbers, and asks its user for two more."""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "title": "count"},
        "sure": {"type": "boolean", "title": "sure"},
    },
    "required": ["count"],
}
TOOLS = [
    {"name": "add", "description": "adds", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "asks", "inputSchema": {"type": "object"}},
]


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def hear() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sys.stdin.readline() or sys.exit(0))
    return found


def used(name: str, arguments: dict[str, Any]) -> str:
    if name == "add":
        return str(arguments["a"] + arguments["b"])
    say(id="asks", method="elicitation/create", params={"message": "How many?", "requestedSchema": SCHEMA})
    while (heard := hear()).get("id") != "asks":
        pass
    return json.dumps(heard["result"]["content"], sort_keys=True)


while True:
    asked = hear()
    if "id" not in asked or "method" not in asked:
        continue
    params = asked.get("params", {})
    if asked["method"] == "initialize":
        about = {"serverInfo": {"name": "tiny", "version": "1"}, "capabilities": {"tools": {}}}
        say(id=asked["id"], result={"protocolVersion": params["protocolVersion"], **about})
    elif asked["method"] == "tools/list":
        say(id=asked["id"], result={"tools": TOOLS})
    elif asked["method"] == "tools/call":
        content = [{"type": "text", "text": used(params["name"], params.get("arguments") or {})}]
        say(id=asked["id"], result={"content": content})
    else:
        say(id=asked["id"], error={"code": -32601, "message": "no"})
