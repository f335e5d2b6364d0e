"""One conversation with Claude Code as a function of its lines: events out, messages to send out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen
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
    Unknown,
)
from quintain.driving import QUOTED, read, table, text

from quintain_driver_claude_code import _control
from quintain_driver_claude_code._content import Content
from quintain_driver_claude_code._control import Pending
from quintain_driver_claude_code._fields import WrongField, need_table, need_text, tables
from quintain_driver_claude_code._outcome import conclude
from quintain_driver_claude_code._signs import PASSING, Signs
from quintain_driver_claude_code._usage import SYNTHETIC, Meter

AGENT = "claude-code"
AUTH_TRIES = 2
"""A key that was refused so often won't be taken; Claude Code itself would go on for minutes."""

_DETAIL = (
    "tools",
    "mcp_servers",
    "permissionMode",
    "apiKeySource",
    "agents",
    "skills",
    "plugins",
    "output_style",
    "cwd",
)


@frozen
class Step:
    """What follows from one line.

    Attributes:
        events: what happened.
        says: what to tell Claude Code.
    """

    events: list[Event] = field(factory=list)
    says: list[_control.Message] = field(factory=list)


class Conversation:
    """Takes the lines in their order.

    Args:
        prompt: the task.
        servers: names of the tool servers without which the agent is not the one that was asked for.
        commands: a prompt that begins with a slash is a command.
    """

    def __init__(self, prompt: str, servers: tuple[str, ...] = (), *, commands: bool = False) -> None:
        self._prompt = prompt
        self._commands = commands
        self._servers = servers
        self._number = 0
        self._content = Content()
        self._meter = Meter()
        self._signs = Signs()
        self._pending: dict[str, Pending] = {}
        self._asked_by: dict[str, str] = {}
        self._error: str | None = None
        self._held: tuple[dict[str, Any], bool] | None = None
        self._ready = False
        self.over = False
        self._takes: Mapping[str, Callable[[dict[str, Any], Step], None]] = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "stream_event": self._stream,
            "control_request": self._request,
            "control_cancel_request": self._cancelled,
        }

    @property
    def silent(self) -> bool:
        """It has said nothing that belongs to the protocol."""
        return not self._ready and not self.over

    def begin(self) -> list[_control.Message]:
        """What to say first."""
        return [
            _control.request("quintain-begin", "initialize", hooks=None),
            _control.user(self._prompt, self._commands),
        ]

    def feed(self, line: Line) -> Step:
        """Take one line. Never raises, whatever it is."""
        self._number += 1
        found = read(line, self._number)
        step = Step(list(found.events))
        if found.message is not None:
            try:
                self._take(found.message, found.odd, step)
            except WrongField as error:
                step.events.append(ProtocolError(str(error), line.text[:QUOTED], self._number, error.path))
        return step

    def finish(self) -> list[Event]:
        """The events after the last line."""
        step = Step()
        if self._held is not None:
            self._conclude(*self._held, step)
        return step.events

    def answer(self, question: Question, answer: Answer) -> list[_control.Message]:
        """What to say when a question was answered."""
        pending = self._pending.get(self._asked_by.get(question.id, ""))
        if pending is None:
            return []  # it was withdrawn, or another answer has refused all
        pending.answers[question.id] = answer
        if not pending.complete:
            return []
        del self._pending[pending.id]
        if pending.denied:
            self._content.deny(pending.tool)
        return [pending.reply()]

    def interrupt(self) -> list[_control.Message]:
        """What to say to make it stop."""
        return [_control.request("quintain-stop", "interrupt")]

    def _take(self, message: dict[str, Any], odd: bool, step: Step) -> None:
        kind = message.get("type")
        if not isinstance(kind, str) or not kind:
            raise WrongField("type", "a text", kind)
        if kind == "result":
            self._result(message, odd, step)
        elif kind in self._takes:
            self._takes[kind](message, step)
        elif kind == "control_response":
            self._response(table(message, "response"), step)
        elif kind in PASSING:
            step.events.extend(self._signs.passing(kind, message))
        else:
            step.events.append(Unknown(kind, message))

    def _speaks(self, step: Step) -> None:
        """It does something: it must have begun, even if it has not said so."""
        if not self._ready:
            self._ready = True
            step.events.append(Ready(AGENT))

    def _system(self, message: dict[str, Any], step: Step) -> None:
        subtype = need_text(message, "subtype")
        if subtype == "init":
            self._signs.began()
        if subtype != "init":
            step.events.extend(self._signs.system(subtype, message))
            self._give_up(subtype, message, step)
        elif not self._ready:
            self._ready = True
            detail = {key: message[key] for key in _DETAIL if message.get(key) is not None}
            version, session = text(message, "claude_code_version"), text(message, "session_id")
            step.events.append(Ready(AGENT, version, text(message, "model"), session, detail))
            self._check_servers(message, step)

    def _check_servers(self, message: Mapping[str, Any], step: Step) -> None:
        states = {text(one, "name"): text(one, "status") for one in tables(message, "mcp_servers")}
        for name in self._servers:
            if states.get(name) in ("failed", "needs-auth"):
                reason = f"the tool server `{name}` could not be started (it is `{states[name]}`)"
                self._end(Failed(reason, Failure.MISSING, {"mcp_servers": message["mcp_servers"]}), step)

    def _give_up(self, subtype: str, message: Mapping[str, Any], step: Step) -> None:
        tries, status = message.get("attempt"), message.get("error_status")
        if subtype == "api_retry" and status in (401, 403) and isinstance(tries, int) and tries >= AUTH_TRIES:
            reason = f"the model's server refuses the credentials (status {status}, {tries} times)"
            self._end(Failed(reason, Failure.AUTH), step)

    def _assistant(self, message: dict[str, Any], step: Step) -> None:
        self._speaks(step)
        inner, agent = need_table(message, "message"), text(message, "parent_tool_use_id")
        step.events.extend(self._content.assistant(inner, agent))
        step.events.extend(self._meter.message(inner, agent))
        if agent is None:
            by_no_model = inner.get("model") == SYNTHETIC
            self._error = text(message, "error") if by_no_model else None

    def _user(self, message: dict[str, Any], step: Step) -> None:
        self._speaks(step)
        inner = need_table(message, "message")
        step.events.extend(self._content.user(inner, message, text(message, "parent_tool_use_id")))

    def _stream(self, message: dict[str, Any], step: Step) -> None:
        event = need_table(message, "event")
        step.events.extend(self._meter.stream(event, text(message, "parent_tool_use_id")))
        step.events.extend(self._signs.streamed())

    def _request(self, message: dict[str, Any], step: Step) -> None:
        id, data = need_text(message, "request_id"), need_table(message, "request")
        subtype = need_text(data, "subtype", "request")
        if subtype != "can_use_tool":
            step.events.append(Unknown(f"control_request/{subtype}", message))
            step.says.append(_control.refusal(id, f"this host does not know `{subtype}`"))
            return
        if id in self._pending:
            raise WrongField("request_id", "another than that of a request that is waiting", id)
        self._speaks(step)
        pending = _control.asked(id, data, text(data, "parent_tool_use_id") or text(data, "agent_id"))
        self._pending[id] = pending
        self._asked_by |= dict.fromkeys(pending.questions, id)
        step.events.extend([Asked(question) for question in pending.questions.values()])

    def _cancelled(self, message: dict[str, Any], step: Step) -> None:
        pending = self._pending.pop(need_text(message, "request_id"), None)
        step.events.append(self._signs.withdrawn(pending is not None))

    def _response(self, response: Mapping[str, Any], step: Step) -> None:
        if response.get("subtype") == "error":
            step.events.append(Unknown("control_response/error", dict(response)))

    def _result(self, message: dict[str, Any], odd: bool, step: Step) -> None:
        self._speaks(step)
        failed = message.get("is_error") is True or str(message.get("subtype")).startswith("error")
        last = self._signs.ended()
        if not (last or failed or self.over):
            # Work goes on in the background, and its end begins a further turn with a result of its own.
            self._held = message, odd
            step.events.append(self._signs.waiting())
            return
        self._conclude(message, odd, step)

    def _conclude(self, message: dict[str, Any], odd: bool, step: Step) -> None:
        self._held = None
        if self.over:
            step.events.append(Unknown("result", message))  # it ended before; what it adds is late
            return
        step.events.extend(self._meter.total(message, odd))
        self._end(conclude(message, self._error, tuple(self._meter.models)), step)

    def _end(self, end: Done | Failed, step: Step) -> None:
        if not self.over:
            self.over = True
            step.events.append(end)


def unfinished(code: int | None, told: str) -> Iterator[Event]:
    """The end of a process that never began to speak.

    Args:
        code: its exit status, if it has one.
        told: what is known beside it.
    """
    how = f"exit status {code}" if code is not None else "a signal"
    yield Failed(f"Claude Code ended with {how} before it began; {told}", Failure.CRASH)
