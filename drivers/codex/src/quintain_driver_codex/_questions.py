"""Requests of the server's as questions, and answers as its replies. Pure.

One request may hold several questions; its reply waits until each is answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen
from quintain import Answer, Option, Question
from quintain.driving import items, need_text, table, text

Params = Mapping[str, Any]
Reply = Mapping[str, Any]
Answers = Mapping[str, Answer]

_WHERE = "params"


@frozen
class Form:
    """What a request wants to know.

    Attributes:
        questions: as they are put to the answerer, by the name that the request has for each.
        reply: makes the result from the answers, by the same names.
    """

    questions: Mapping[str, Question]
    reply: Callable[[Answers], Reply]


@define
class Pending:
    """A request that is out.

    Attributes:
        request: its id.
        form: what it wants to know.
        answers: those that have come, by their names.
    """

    request: object
    form: Form
    answers: dict[str, Answer] = field(factory=dict)

    def take(self, question: Question, answer: Answer) -> Reply | None:
        """Note an answer; the reply if it was the last."""
        for name, asked in self.form.questions.items():
            if asked.id == question.id:
                self.answers[name] = answer
        if self.answers.keys() < self.form.questions.keys():
            return None
        return self.form.reply(self.answers)


def form(method: str, params: Params, id: str, agent: str | None = None, item: Any = None) -> Form | None:
    """What a request wants to know, or None if it is none that a user can answer.

    Args:
        method: of the request.
        params: of the request.
        id: unique in the session; ids of questions begin with it.
        agent: the subagent that asks.
        item: what the request is about, as it was announced before.

    Raises:
        WrongField: something is missing.
    """
    if method == "item/tool/requestUserInput":
        return _user_input(params, id, agent)
    if method == "mcpServer/elicitation/request":
        return _elicitation(params, id, agent)
    make = _APPROVALS.get(method)
    if make is None:
        return None
    words, reply = make(params, item)
    payload = {"method": method, **params, **({"item": item} if item is not None else {})}
    return Form(
        {"": Question(id, "approve", words, payload=payload, agent=agent)},
        lambda answers: reply(_approved(answers[""]), params),
    )


def _approved(answer: Answer) -> bool:
    return answer.approved is True and not answer.refused


def _decision(yes: str, no: str | dict[str, Any]) -> Callable[[bool, Params], Reply]:
    return lambda approved, params: {"decision": yes if approved else no}


def _grant(approved: bool, params: Params) -> Reply:
    return {"permissions": dict(table(params, "permissions")) if approved else {}, "scope": "turn"}


def _command(params: Params, item: Any) -> str:
    command = params.get("command")
    said = " ".join(map(str, command)) if isinstance(command, list) else text(params, "command") or "a command"
    reason = text(params, "reason")
    return f"Run {said}" + (f": {reason}" if reason else "")


def _change(params: Params, item: Any) -> str:
    changes = items(item, "changes") if isinstance(item, Mapping) else []
    paths = [str(change.get("path")) for change in changes if isinstance(change, Mapping)]
    paths = paths or [str(path) for path in table(params, "fileChanges")]
    reason = text(params, "reason")
    return f"Change {', '.join(paths) or 'files'}" + (f": {reason}" if reason else "")


def _permissions(params: Params, item: Any) -> str:
    return text(params, "reason") or "Give it more permissions"


_Approval = tuple[str, Callable[[bool, Params], Reply]]
_APPROVALS: Mapping[str, Callable[[Params, Any], _Approval]] = {
    "item/commandExecution/requestApproval": lambda p, item: (_command(p, item), _decision("accept", "decline")),
    "item/fileChange/requestApproval": lambda p, item: (_change(p, item), _decision("accept", "decline")),
    "item/permissions/requestApproval": lambda p, item: (_permissions(p, item), _grant),
    # what versions before the app server's items asked
    "execCommandApproval": lambda p, item: (
        _command(p, item),
        _decision("approved", {"denied": {"rejection": "it was refused"}}),
    ),
    "applyPatchApproval": lambda p, item: (
        _change(p, item),
        _decision("approved", {"denied": {"rejection": "it was refused"}}),
    ),
}


def _user_input(params: Params, id: str, agent: str | None) -> Form:
    questions: dict[str, Question] = {}
    for number, asked in enumerate(items(params, "questions")):
        where = f"{_WHERE}.questions.{number}"
        asked = asked if isinstance(asked, Mapping) else {}
        name = need_text(asked, "id", where)
        questions[name] = Question(
            f"{id}.{name}",
            "ask",
            need_text(asked, "question", where),
            _options(items(asked, "options")),
            payload=dict(asked),
            agent=agent,
        )
    if not questions:
        need_text(params, "questions", _WHERE)
    return Form(
        questions, lambda answers: {"answers": {name: {"answers": _said(one)} for name, one in answers.items()}}
    )


def _options(offered: Sequence[Any]) -> tuple[Option, ...]:
    return tuple(
        Option(label, text(option, "description"))
        for option in offered
        if isinstance(option, Mapping) and (label := text(option, "label")) is not None
    )


def _said(answer: Answer) -> list[str]:
    """What is told for a question; the protocol has no word for a question that isn't answered."""
    if answer.refused:
        return [f"(no answer: {answer.reason or 'declined'})"]
    if answer.chosen:
        return list(answer.chosen)
    return [answer.text] if answer.text is not None else []


def _elicitation(params: Params, id: str, agent: str | None) -> Form:
    message = text(params, "message") or text(params, "title") or "A tool server asks"
    schema = table(params, "requestedSchema")
    wanted = {name: inner for name, inner in table(schema, "properties").items() if isinstance(inner, Mapping)}
    if not wanted or params.get("mode") not in ("form", "openai/form", "openaiForm"):
        question = Question(id, "approve", message, payload=dict(params), agent=agent)
        form_mode = params.get("mode") == "form"
        return Form({"": question}, lambda answers: _accepted(_approved(answers[""]), {} if form_mode else None))
    required = {name for name in items(schema, "required") if isinstance(name, str)}
    questions = {
        name: _asked_for(name, inner, message, f"{id}.{name}", agent, params) for name, inner in wanted.items()
    }
    return Form(questions, lambda answers: _filled(answers, wanted, required))


def _asked_for(name: str, wanted: Params, message: str, id: str, agent: str | None, params: Params) -> Question:
    title = text(wanted, "title") or name
    about = text(wanted, "description")
    words = f"{message}\n{title}" + (f": {about}" if about else "")
    inner = table(wanted, "items") if wanted.get("type") == "array" else wanted
    options = tuple(Option(label) for label in _choices(inner))
    if wanted.get("type") == "boolean":
        options = (Option("yes"), Option("no"))
    payload = {"server": params.get("serverName"), "field": name, "schema": dict(wanted)}
    return Question(id, "ask", words, options, wanted.get("type") == "array", payload, agent)


def _choices(wanted: Params) -> dict[str, str]:
    """Labels of what may be chosen, and what each stands for."""
    titled = [one for key in ("oneOf", "anyOf") for one in items(wanted, key) if isinstance(one, Mapping)]
    if titled:
        return {text(one, "title") or str(one.get("const")): str(one.get("const")) for one in titled}
    plain = [one for one in items(wanted, "enum") if isinstance(one, str)]
    names = [one for one in items(wanted, "enumNames") if isinstance(one, str)]
    return dict(zip(names if len(names) == len(plain) else plain, plain, strict=True))


def _accepted(accepted: bool, content: Any) -> Reply:
    if not accepted:
        return {"action": "decline"}
    return {"action": "accept"} if content is None else {"action": "accept", "content": content}


def _filled(answers: Answers, wanted: Mapping[str, Params], required: set[str]) -> Reply:
    """The filled form; declined if a field that it needs has no fitting answer."""
    content: dict[str, Any] = {}
    for name, answer in answers.items():
        if answer.refused:
            return {"action": "decline"}
        value = _value(answer, wanted[name])
        if value is not None:
            content[name] = value
        elif name in required:
            return {"action": "decline"}
    return {"action": "accept", "content": content}


def _value(answer: Answer, wanted: Params) -> Any:
    kind = wanted.get("type")
    said = list(answer.chosen) or ([answer.text] if answer.text is not None else [])
    if kind == "array":
        choices = _choices(table(wanted, "items"))
        return [choices.get(one, one) for one in said]
    if not said:
        return None
    first = said[0]
    if kind == "boolean":
        return {"yes": True, "true": True, "no": False, "false": False}.get(first.strip().lower())
    if kind in ("number", "integer"):
        return _number(first, whole=kind == "integer")
    return _choices(wanted).get(first, first)


def _number(said: str, *, whole: bool) -> int | float | None:
    try:
        return int(said) if whole else float(said) if math.isfinite(float(said)) else None
    except ValueError:
        return None
