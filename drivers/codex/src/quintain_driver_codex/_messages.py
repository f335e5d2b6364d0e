"""What the host says. Pure: each function makes one message, as the schema that Codex itself prints demands it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quintain import __version__

from quintain_driver_codex._config import CodexConfig

Message = Mapping[str, Any]

INITIALIZE, THREAD, TURN, INTERRUPT = 1, 2, 3, 4
"""Ids of our requests; those of the server's are a world of their own and may be equal."""

UNKNOWN_METHOD = -32601


def line(message: Message) -> bytes:
    """A message as it is sent."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def initialize() -> Message:
    """The first request."""
    info = {"name": "quintain", "title": "Quintain", "version": __version__}
    capabilities = {"experimentalApi": True, "requestAttestation": False}
    return {"id": INITIALIZE, "method": "initialize", "params": {"clientInfo": info, "capabilities": capabilities}}


def initialized() -> Message:
    """Said when its reply has come."""
    return {"method": "initialized"}


def start_thread(config: CodexConfig, workspace: str) -> Message:
    """Open a conversation."""
    params: dict[str, Any] = {
        "cwd": workspace,
        "approvalPolicy": config.approval,
        "approvalsReviewer": "user",
        "sandbox": config.sandbox,
        "ephemeral": config.ephemeral,
    }
    if config.model is not None:
        params["model"] = config.model
    if config.instructions is not None:
        params["developerInstructions"] = config.instructions
    return {"id": THREAD, "method": "thread/start", "params": params}


def start_turn(config: CodexConfig, thread: str, prompt: str) -> Message:
    """Tell it the task."""
    params: dict[str, Any] = {
        "threadId": thread,
        "input": [{"type": "text", "text": prompt, "text_elements": []}],
    }
    if config.effort is not None:
        params["effort"] = config.effort
    return {"id": TURN, "method": "turn/start", "params": params}


def interrupt(thread: str, turn: str) -> Message:
    """Ask it to stop."""
    return {"id": INTERRUPT, "method": "turn/interrupt", "params": {"threadId": thread, "turnId": turn}}


def reply(request: object, result: Mapping[str, Any]) -> Message:
    """The answer to a request of the server's."""
    return {"id": request, "result": result}


def refuse(request: object, method: str) -> Message:
    """The answer to a request that we don't know."""
    return {"id": request, "error": {"code": UNKNOWN_METHOD, "message": f"this client does not answer `{method}`"}}
