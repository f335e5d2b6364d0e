"""Notifications of the app server into events. Pure; remembers what is still open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quintain import Event, Log, Message, Progress, ToolCall, ToolResult, Unknown, Used
from quintain.driving import need_table, need_text, table, text

from quintain_driver_codex import _items
from quintain_driver_codex._failures import words
from quintain_driver_codex._usage import Meter

EVERY = 64
"""A part of a message or of a command's output in so many is told as a sign of life."""

_QUIET = frozenset(
    {
        "account/rateLimits/updated",
        "account/updated",
        "app/list/updated",
        "remoteControl/status/changed",
        "skills/changed",
        "thread/name/updated",
        "thread/readState/changed",
        "thread/settings/updated",
        "thread/started",
        "thread/status/changed",
        "turn/completed",
        "turn/diff/updated",
        "turn/started",
    }
)
"""Kept in the raw protocol and no event: other events say the same, or it is about the program's own windows."""

_OLDER = "codex/event/"
"""So the events of an older protocol begin that some versions send beside these."""

_PARTS = frozenset(
    {
        "item/agentMessage/delta",
        "item/plan/delta",
        "item/commandExecution/outputDelta",
        "item/commandExecution/terminalInteraction",
        "item/fileChange/outputDelta",
        "item/fileChange/patchUpdated",
        "item/mcpToolCall/progress",
        "item/reasoning/summaryTextDelta",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/textDelta",
    }
)
_LOGGED = frozenset({"warning", "configWarning", "guardianWarning", "deprecationNotice"})

Params = Mapping[str, Any]


class Notices:
    """Takes notifications in their order."""

    def __init__(self) -> None:
        self._main: str | None = None
        self._models: dict[str, str | None] = {}
        self._meter = Meter()
        self._open: dict[str, tuple[Mapping[str, Any], str | None]] = {}
        self._called: set[str] = set()
        self._names: dict[str, str] = {}
        self._parts = 0
        self.last_message: str | None = None

    def main(self, thread: str, model: str | None) -> None:
        """Name the main thread and the model that it runs."""
        self._main = thread
        self._models[thread] = model

    def agent(self, thread: str | None) -> str | None:
        """The subagent that a thread belongs to; None for the main agent."""
        if thread is None or thread == self._main or self._main is None:
            return None
        return self._names.get(thread, thread)

    def open_item(self, id: str | None) -> Mapping[str, Any] | None:
        """An item that has started and is not complete."""
        found = self._open.get(id) if id is not None else None
        return found[0] if found is not None else None

    @property
    def untouched(self) -> bool:
        """No model call was answered and no tool used."""
        return self._meter.calls == 0 and not self._called

    def unfinished(self) -> list[Event]:
        """Results for tools that were still at work when the turn ended; they are told once."""
        events: list[Event] = []
        for id, (item, agent) in self._open.items():
            tool = _items.TOOLS.get(str(item.get("type")))
            if tool is not None:
                said = "it had not ended when the turn did"
                events.append(ToolResult(id, tool.name(item), said, error=True, agent=agent))
        self._open.clear()
        return events

    def take(self, method: str, params: Params) -> list[Event]:
        """The events of one notification. Raises WrongField."""
        if method in _QUIET or method.startswith(_OLDER):
            self._remember(params)
            return []
        if method in _PARTS:
            self._parts += 1
            return [Progress(method)] if self._parts % EVERY == 1 else []
        if method in _LOGGED:
            return [Log(text(params, "message") or text(params, "summary") or method)]
        reader = _READERS.get(method)
        if reader is not None:
            return reader(self, params)
        if method.startswith(("hook/", "item/autoApprovalReview/", "mcpServer/", "thread/goal/", "modelProvider/")):
            return [Progress(method, dict(params))]
        return [Unknown(method, dict(params))]

    def _remember(self, params: Params) -> None:
        thread = table(params, "thread")
        id, name = text(thread, "id"), text(thread, "agentNickname")
        if id is not None and name:
            self._names[id] = name

    def _started(self, params: Params) -> list[Event]:
        item = need_table(params, "item", "params")
        thread = text(item, "agentThreadId")
        if thread is not None:
            self._names[thread] = text(item, "agentPath") or thread
            self._models[thread] = text(item, "model") or self._models.get(thread)
        agent = self.agent(text(params, "threadId"))
        events = _items.started(item, agent, "params.item")
        return self._call(item, agent, events)

    def _call(self, item: Mapping[str, Any], agent: str | None, events: list[Event]) -> list[Event]:
        fresh = [event for event in events if not (isinstance(event, ToolCall) and event.id in self._called)]
        for event in fresh:
            if isinstance(event, ToolCall):
                self._called.add(event.id)
                self._open[event.id] = (item, agent)
        return fresh

    def _completed(self, params: Params) -> list[Event]:
        item = need_table(params, "item", "params")
        agent = self.agent(text(params, "threadId"))
        events = _items.completed(item, agent, "params.item")
        before: list[Event] = []
        for event in events:
            if isinstance(event, Message) and agent is None:
                self.last_message = event.text
            if isinstance(event, ToolResult):
                if event.id in self._called and event.id not in self._open:
                    return []  # told before
                before = self._call(item, agent, _items.started(item, agent, "params.item"))
                self._open.pop(event.id, None)
        return before + events

    def _used(self, params: Params) -> list[Event]:
        thread = need_text(params, "threadId", "params")
        agent = self.agent(thread)
        usage = self._meter.take(thread, params, self._models.get(thread), agent)
        return [] if usage is None else [Used(usage)]

    def _error(self, params: Params) -> list[Event]:
        error = table(params, "error")
        if params.get("willRetry") is True:
            return [Progress(f"trying again: {words(error)}", {"error": dict(error)})]
        return [Log(f"error: {words(error)}")]

    def _rerouted(self, params: Params) -> list[Event]:
        thread = text(params, "threadId") or self._main
        if thread is not None:
            self._models[thread] = text(params, "toModel") or self._models.get(thread)
        return [Progress(f"the model was changed to {params.get('toModel')}", dict(params))]

    def _plan(self, params: Params) -> list[Event]:
        return [Progress("plan", dict(params))]

    def _compacted(self, params: Params) -> list[Event]:
        return [Progress("the context was compacted")]

    def _server(self, params: Params) -> list[Event]:
        said = f"tool server {params.get('name')}: {params.get('status')}"
        problem = params.get("error")
        return [Log(f"{said}: {problem}")] if problem else [Progress(said)]


_READERS: Mapping[str, Callable[[Notices, Params], list[Event]]] = {
    "item/started": Notices._started,
    "item/completed": Notices._completed,
    "thread/tokenUsage/updated": Notices._used,
    "error": Notices._error,
    "model/rerouted": Notices._rerouted,
    "turn/plan/updated": Notices._plan,
    "thread/compacted": Notices._compacted,
    "mcpServer/startupStatus/updated": Notices._server,
}
