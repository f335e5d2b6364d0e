"""A conversation with the app server, as a state machine: lines in, events and messages out. No I/O, no clock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen
from quintain import (
    Answer,
    Asked,
    Done,
    Event,
    Failed,
    Failure,
    Line,
    ProtocolError,
    Question,
    Ready,
    ToolResult,
    Unknown,
)
from quintain.driving import WrongField, items, need_table, need_text, read, table, text

from quintain_driver_codex import _messages
from quintain_driver_codex._config import CodexConfig
from quintain_driver_codex._failures import classify, words
from quintain_driver_codex._notices import Notices
from quintain_driver_codex._questions import Pending, form

AGENT = "codex"

_TOO_OLD = re.compile(r"unknown (?:variant|method)|method not found", re.IGNORECASE)
_VERSION = re.compile(r"/(\d[\w.+-]*)")


@frozen
class Step:
    """What comes of one line.

    Attributes:
        events: for the core.
        says: for the agent.
    """

    events: tuple[Event, ...] = ()
    says: tuple[_messages.Message, ...] = ()


@frozen
class Task:
    """What the agent is told.

    Attributes:
        config: how it was set up.
        prompt: its task.
        workspace: where it works.
    """

    config: CodexConfig
    prompt: str
    workspace: str


@define
class _Output:
    events: list[Event] = field(factory=list)
    says: list[_messages.Message] = field(factory=list)


class Conversation:
    """One conversation, from `initialize` to the end of its only turn.

    Args:
        task: what the agent is told.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._number = 0
        self._version: str | None = None
        self._thread: str | None = None
        self._turn: str | None = None
        self._notices = Notices()
        self._pending: dict[str, Pending] = {}
        self._asked = 0
        self._denials = 0
        self.over = False

    def begin(self) -> tuple[_messages.Message, ...]:
        """What is said first."""
        return (_messages.initialize(),)

    def feed(self, line: Line) -> Step:
        """Take one line. Never raises, whatever it is."""
        self._number += 1
        found = read(line, self._number)
        output = _Output(list(found.events))
        if found.message is not None:
            try:
                self._message(found.message, output)
            except WrongField as error:
                output.events.append(ProtocolError(str(error), found.quote, self._number, error.path))
                if found.message.get("method") is not None and "id" in found.message:
                    # A request that is never answered would hold the agent for ever.
                    output.says.append(_messages.refuse(found.message["id"], str(found.message["method"])))
        return Step(tuple(output.events), tuple(output.says))

    def finish(self) -> list[Event]:
        """The events that come after the last line."""
        if self._thread is None and not self.over:
            self.over = True
            reason = "codex ended before it had opened a conversation; what it wrote to its error output says more"
            return [Failed(reason, Failure.CRASH)]
        return list(self._notices.unfinished())

    def answer(self, question: Question, answer: Answer) -> tuple[_messages.Message, ...]:
        """What is said when a question was answered; nothing if others of the same request are still out."""
        for key, pending in self._pending.items():
            if any(asked.id == question.id for asked in pending.form.questions.values()):
                result = pending.take(question, answer)
                if result is None:
                    return ()
                del self._pending[key]
                return (_messages.reply(pending.request, result),)
        return ()  # the server has gone on without it

    def interrupt(self) -> tuple[_messages.Message, ...]:
        """What is said to make it stop."""
        if self._thread is None or self._turn is None or self.over:
            return ()
        return (_messages.interrupt(self._thread, self._turn),)

    # what it says

    def _message(self, message: Mapping[str, Any], output: _Output) -> None:
        method = message.get("method")
        if isinstance(method, str):
            if "id" in message:
                self._request(message["id"], method, table(message, "params"), output)
            else:
                self._notification(method, table(message, "params"), output)
        elif "id" in message and ("result" in message or "error" in message):
            self._reply(message, output)
        else:
            raise WrongField("method", "a text, or the message a reply with `id` and `result` or `error`")

    def _reply(self, message: Mapping[str, Any], output: _Output) -> None:
        id = message["id"]
        if id == _messages.INTERRUPT:
            return
        if id not in (_messages.INITIALIZE, _messages.THREAD, _messages.TURN) or isinstance(id, bool):
            output.events.append(Unknown("reply", dict(message)))
            return
        if "result" not in message:
            self._refused(id, table(message, "error"), output)
            return
        result = need_table(message, "result", "reply")
        if id == _messages.INITIALIZE:
            found = _VERSION.search(text(result, "userAgent") or "")
            self._version = found[1] if found else None
            config, workspace = self._task.config, self._task.workspace
            output.says += [_messages.initialized(), _messages.start_thread(config, workspace)]
        elif id == _messages.THREAD:
            self._opened(result, output)
        else:
            self._turn = text(table(result, "turn"), "id") or self._turn

    def _refused(self, id: object, error: Mapping[str, Any], output: _Output) -> None:
        what = "start" if id == _messages.INITIALIZE else "open a conversation"
        if id == _messages.TURN:
            what = "take the task"
        reason = f"codex could not {what}: {words(error)}"
        failure = classify(error) or Failure.CRASH
        if _TOO_OLD.search(reason):
            reason, failure = f"{reason}; this version may be too old for the driver", Failure.MISSING
        self._end(Failed(reason, failure, {"error": dict(error)}), output)

    def _opened(self, result: Mapping[str, Any], output: _Output) -> None:
        thread = need_table(result, "thread", "result")
        self._thread = need_text(thread, "id", "result.thread")
        model = text(result, "model") or text(thread, "model")
        self._notices.main(self._thread, model)
        keys = ("modelProvider", "reasoningEffort", "approvalPolicy", "sandbox", "instructionSources")
        detail = {key: result[key] for key in keys if result.get(key) is not None}
        version = text(thread, "cliVersion") or self._version
        output.events.append(Ready(AGENT, version, model, self._thread, detail))
        output.says.append(_messages.start_turn(self._task.config, self._thread, self._task.prompt))

    def _request(self, id: object, method: str, params: Mapping[str, Any], output: _Output) -> None:
        agent = self._notices.agent(text(params, "threadId"))
        item = self._notices.open_item(text(params, "itemId"))
        self._asked += 1
        asks = form(method, params, f"{text(params, 'itemId') or method}.{self._asked}", agent, item)
        if asks is None:
            output.events.append(Unknown(method, dict(params)))
            output.says.append(_messages.refuse(id, method))
            return
        self._pending[repr(id)] = Pending(id, asks)
        output.events += [Asked(question) for question in asks.questions.values()]

    def _notification(self, method: str, params: Mapping[str, Any], output: _Output) -> None:
        if method == "serverRequest/resolved":
            self._pending.pop(repr(params.get("requestId")), None)
        elif method == "turn/started" and self._is_main(params):
            self._turn = text(table(params, "turn"), "id") or self._turn
        elif method == "turn/completed" and self._is_main(params):
            self._completed(need_table(params, "turn", "params"), output)
        else:
            events = self._notices.take(method, params)
            self._denials += sum(isinstance(event, ToolResult) and event.denied for event in events)
            output.events += events

    def _is_main(self, params: Mapping[str, Any]) -> bool:
        return text(params, "threadId") in (None, self._thread)

    def _completed(self, turn: Mapping[str, Any], output: _Output) -> None:
        status = need_text(turn, "status", "params.turn")
        error = table(turn, "error")
        detail = {key: turn[key] for key in ("status", "durationMs", "error") if turn.get(key) is not None}
        output.events += self._notices.unfinished()
        if status == "completed":
            last = self._notices.last_message or _last_message(items(turn, "items"))
            failure = classify(error) if error else None
            end: Done | Failed = Done(last, bool(error), failure, self._denials, detail)
        else:
            failure = classify(error) if error else None
            if failure is None and status == "failed" and self._notices.untouched and not _its_own(error):
                failure = Failure.CRASH  # it never came to work: that says nothing about the agent
            reason = words(error) if error else f"its turn ended as `{status}`"
            end = Failed(reason, failure, detail)
        self._end(end, output)

    def _end(self, end: Done | Failed, output: _Output) -> None:
        if not self.over:
            self.over = True
            output.events.append(end)


def _its_own(error: Mapping[str, Any]) -> bool:
    return error.get("codexErrorInfo") not in (None, "other", "badRequest")


def _last_message(found: list[Any]) -> str | None:
    said = [text(item, "text") for item in found if isinstance(item, Mapping) and item.get("type") == "agentMessage"]
    return said[-1] if said else None
