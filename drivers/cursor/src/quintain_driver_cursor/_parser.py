"""Lines of Cursor's stream into events. Pure: no clock, no process, no file.

Only `result` ends a run. The stream may end without one, whatever the exit status: a directory that isn't trusted ends
with exit status 0 and nothing done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quintain import (
    Done,
    Event,
    Failed,
    Failure,
    Line,
    Log,
    Message,
    Progress,
    ProtocolError,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    Used,
    disjoint,
)
from quintain.driving import WrongField, items, need_text, read, table, text

from quintain_driver_cursor import _tools
from quintain_driver_cursor._failures import classify

AGENT = "cursor"
KEPT = 20
"""Last lines of plain output that are remembered, for the reason of a run that ends with them."""

Fields = Mapping[str, Any]
_SUMMARY = ("subtype", "duration_ms", "duration_api_ms", "request_id", "num_turns")
_NOISE = (Log, Progress, ProtocolError, Unknown, Ready)


class Parser:
    """Takes lines in their order.

    Args:
        partial: messages were asked for in parts.
    """

    def __init__(self, *, partial: bool = False) -> None:
        self._partial = partial
        self._number = 0
        self._ready = False
        self._over = False
        self._said = ""
        self._thought = ""
        self._last: str | None = None
        self._called: dict[str, ToolCall] = {}
        self._open: set[str] = set()
        self._denials = 0
        self._plain: list[str] = []

    def feed(self, line: Line) -> list[Event]:
        """The events of one line. Never raises, whatever it is."""
        self._number += 1
        found = read(line, self._number)
        events = list(found.events)
        for event in events:
            if isinstance(event, Log):
                self._plain = [*self._plain, event.text.strip()][-KEPT:]
        if found.message is not None:
            self._plain.clear()
            try:
                events += self._message(found.message)
            except WrongField as error:
                events.append(ProtocolError(str(error), found.quote, self._number, error.path))
        if not self._ready and any(not isinstance(event, _NOISE) for event in events):
            events.insert(0, Ready(AGENT))
        self._ready = self._ready or any(isinstance(event, Ready) for event in events)
        return events

    def finish(self) -> list[Event]:
        """The events that come after the last line."""
        if self._over:
            return []
        events = [*self._flush(), *self._unfinished()]
        words = "\n".join(line for line in self._plain if line)
        failure = classify(words)
        if not self._ready:
            self._over = True
            reason = f"it ended before it began: {words}" if words else "it ended before it began and said nothing"
            return [Failed(reason, failure or Failure.CRASH)]
        if failure is not None:
            self._over = True
            events.append(Failed(words, failure))
        # Else it just ends: the engine knows the exit status and the error output, and says so.
        return events

    def _message(self, message: Fields) -> list[Event]:
        kind = need_text(message, "type", "message")
        reader = _READERS.get(kind)
        if reader is None:
            return [Unknown(kind, dict(message))]
        return reader(self, message)

    def _system(self, message: Fields) -> list[Event]:
        subtype = text(message, "subtype")
        if subtype != "init":
            return [Unknown(f"system/{subtype}", dict(message))]
        if self._ready:
            return [Progress("it began anew")]
        detail = {key: message[key] for key in ("cwd", "apiKeySource", "permissionMode", "tools") if key in message}
        return [Ready(AGENT, text(message, "version"), text(message, "model"), text(message, "session_id"), detail)]

    def _user(self, message: Fields) -> list[Event]:
        return []  # what it was told

    def _thinking(self, message: Fields) -> list[Event]:
        said = text(message, "text") or ""
        if text(message, "subtype") == "completed":
            return self._think(said)
        first = not self._thought
        self._thought += said
        return [Progress("thinking")] if first else []

    def _think(self, rest: str = "") -> list[Event]:
        thought, self._thought = self._thought or rest, ""
        return [Reasoning(thought)] if thought.strip() else []

    def _assistant(self, message: Fields) -> list[Event]:
        blocks = items(table(message, "message"), "content")
        said = "".join(text(block, "text") or "" for block in blocks if isinstance(block, Mapping))
        events = self._think()
        if self._partial and "timestamp_ms" in message and "model_call_id" not in message:
            first = not self._said
            self._said += said
            return [*events, Progress("writing")] if first else events
        self._said = ""
        if not said.strip():
            return events
        self._last = said
        return [*events, Message(said)]

    def _flush(self) -> list[Event]:
        """What was thought and said in parts, and not as a whole."""
        events = self._think()
        said, self._said = self._said, ""
        if said.strip():
            self._last = said
            events.append(Message(said))
        return events

    def _tool(self, message: Fields) -> list[Event]:
        subtype = text(message, "subtype")
        if subtype == "started":
            return [*self._flush(), *self._begin(_tools.started(message))]
        if subtype != "completed":
            return [Unknown(f"tool_call/{subtype}", dict(message))]
        result = _tools.completed(message)
        if result.id in self._called and result.id not in self._open:
            return []  # told before
        events = self._begin(_tools.started(message))
        self._open.discard(result.id)
        self._denials += result.denied
        return [*events, result]

    def _begin(self, call: ToolCall) -> list[Event]:
        if call.id in self._called:
            return []
        self._called[call.id] = call
        self._open.add(call.id)
        return [call]

    def _unfinished(self) -> list[Event]:
        """Results for tools that were still at work when it ended."""
        said = "it had not ended when the agent did"
        events: list[Event] = [
            ToolResult(id, call.name, said, error=True) for id, call in self._called.items() if id in self._open
        ]
        self._open.clear()
        return events

    def _query(self, message: Fields) -> list[Event]:
        return [Progress("it asked itself", dict(message))]

    def _result(self, message: Fields) -> list[Event]:
        subtype = need_text(message, "subtype", "message")
        events = [*self._flush(), *self._unfinished(), *_used(message)]
        if self._over:
            return [*events, Unknown("result", dict(message))]
        self._over = True
        detail = {key: message[key] for key in _SUMMARY if key in message}
        said = text(message, "result")
        if subtype != "success":
            reason = said or f"it ended with `{subtype}`"
            return [*events, Failed(reason, classify(reason), detail)]
        wrong = message.get("is_error") is not False
        failure = classify(said or "") if wrong else None
        # `result` is all that it said, run together; its last message is its answer.
        answer = said if wrong or self._last is None else self._last
        return [*events, Done(answer, wrong, failure, self._denials, detail)]


def _used(message: Fields) -> list[Event]:
    """Tokens of the whole run; versions that don't tell them leave them unknown."""
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return []
    tokens, problem = disjoint(
        input=usage.get("inputTokens"),
        output=usage.get("outputTokens"),
        cache_read=usage.get("cacheReadTokens", 0),
        cache_write=usage.get("cacheWriteTokens", 0),
    )
    return [Used(Usage(tokens, scope="total", problem=problem))]


_READERS: Mapping[str, Callable[[Parser, Fields], list[Event]]] = {
    "system": Parser._system,
    "user": Parser._user,
    "thinking": Parser._thinking,
    "assistant": Parser._assistant,
    "tool_call": Parser._tool,
    "interaction_query": Parser._query,
    "result": Parser._result,
}
