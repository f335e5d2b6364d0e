"""The control protocol: what is said to Claude Code, and how its questions are asked and answered. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from quintain import Answer, Option, Question
from quintain.driving import text

from quintain_driver_claude_code._fields import need_table, need_text, tables

ASK = "AskUserQuestion"
"""The tool by which the model asks its user."""

Message = Mapping[str, Any]


def line(message: Message) -> bytes:
    """A message as it goes over the wire."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def user(prompt: str, commands: bool) -> Message:
    """The task.

    Args:
        prompt: what to tell the agent.
        commands: a prompt that begins with a slash is a command.
    """
    content = [{"type": "text", "text": prompt}]
    if prompt.startswith("/") and not commands:
        # With a second part, which it drops, it takes the first for what it is.
        content.append({"type": "text", "text": ""})
    return {"type": "user", "message": {"role": "user", "content": content}}


def request(id: str, subtype: str, **more: Any) -> Message:
    """A request of ours."""
    return {"type": "control_request", "request_id": id, "request": {"subtype": subtype, **more}}


def response(id: str, content: Message) -> Message:
    """The answer to a request of its."""
    return {"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": content}}


def refusal(id: str, why: str) -> Message:
    """Say that a request of its is not understood."""
    return {"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": why}}


@frozen
class Pending:
    """A request for permission that waits for its answers.

    Attributes:
        id: of the request.
        tool: the use of a tool that is asked about, by its id.
        input: of the tool.
        questions: what is asked, by the ids of the questions.
        texts: the texts of the questions of an `AskUserQuestion`, by the same ids.
        answers: those that came already.
    """

    id: str
    tool: str | None
    input: Mapping[str, Any]
    questions: Mapping[str, Question]
    texts: Mapping[str, str] = field(factory=dict)
    answers: dict[str, Answer] = field(factory=dict)

    @property
    def complete(self) -> bool:
        """Nothing more is waited for: all is answered, or one answer refuses all."""
        return len(self.answers) == len(self.questions) or any(answer.refused for answer in self.answers.values())

    @property
    def denied(self) -> bool:
        """The tool may not be used."""
        return any(answer.refused or answer.approved is False for answer in self.answers.values())

    def reply(self) -> Message:
        """What to tell Claude Code."""
        for answer in self.answers.values():
            if answer.refused or answer.approved is False:
                why = answer.reason or ("the user declined to answer" if self.texts else "the user said no")
                return response(self.id, {"behavior": "deny", "message": why})
        allowed = dict(self.input)
        if self.texts:
            allowed["answers"] = {self.texts[id]: _said(answer) for id, answer in self.answers.items()}
        return response(self.id, {"behavior": "allow", "updatedInput": allowed})


def asked(id: str, data: Mapping[str, Any], agent: str | None) -> Pending:
    """Make questions of a request for permission. Raises WrongField.

    Args:
        id: of the request.
        data: the request.
        agent: the subagent that asks.
    """
    name = need_text(data, "tool_name", "request")
    given = need_table(data, "input", "request")
    tool = text(data, "tool_use_id")
    wanted = [one for one in tables(given, "questions") if text(one, "question")] if name == ASK else []
    if not wanted:
        return Pending(id, tool, given, {id: _approval(id, name, data, given, agent)})
    questions: dict[str, Question] = {}
    texts: dict[str, str] = {}
    for number, one in enumerate(wanted, 1):
        key = id if len(wanted) == 1 else f"{id}.{number}"
        texts[key] = need_text(one, "question")
        options = tuple(
            Option(label, text(option, "description"))
            for option in tables(one, "options")
            if (label := text(option, "label")) is not None
        )
        several = one.get("multiSelect") is True
        questions[key] = Question(key, "ask", texts[key], options, several, dict(one), agent)
    return Pending(id, tool, given, questions, texts)


def _approval(id: str, name: str, data: Mapping[str, Any], given: Mapping[str, Any], agent: str | None) -> Question:
    about = text(data, "description")
    command = text(given, "command") or text(given, "file_path") or text(given, "url")
    words = ": ".join(part for part in (f"use {name}", command or about) if part)
    keys = ("tool_name", "input", "tool_use_id", "description", "blocked_path", "decision_reason")
    payload = {key: data[key] for key in keys if data.get(key) is not None}
    return Question(id, "approve", words, payload=payload, agent=agent)


def _said(answer: Answer) -> str:
    if answer.chosen and not answer.text:
        return ", ".join(answer.chosen)
    return answer.text or ""
