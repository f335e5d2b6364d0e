"""Assertions about what the agent said, asked and did with tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from attrs import field, frozen
from quintain import (
    Answered,
    Asked,
    AssertionSpec,
    Evidence,
    ToolCall,
    ToolResult,
    Verdict,
    of_type,
)

from quintain_assertions._common import a_bound, bounds, excerpt, names, not_empty, said, within
from quintain_assertions._data import resolve
from quintain_assertions._regex import count, is_pattern

Against = Literal["answer", "messages"]


@frozen
class Text:
    """`text` in the final answer, or in all `messages` of the main agent."""

    text: str = field(validator=not_empty)
    against: Against = "answer"
    ignore_case: bool = False


@frozen
class Pattern:
    """`pattern` in the final answer, or in all `messages` of the main agent."""

    pattern: str = field(validator=is_pattern)
    against: Against = "answer"
    ignore_case: bool = False


@frozen
class Exact:
    """The final answer is `text`, white space around it left out."""

    text: str = field(validator=not_empty)


@frozen
class Called:
    """The tool `name` was called `min` to `max` times (once or more if neither is given), by anyone, the main agent or a
    subagent; with `input` at `pointer` that `contains` a text or `equals` a value; and with the `result` success or
    error."""

    name: str = field(validator=not_empty)
    min: int | None = None
    max: int | None = None
    by: Literal["anyone", "main", "subagent"] = "anyone"
    pointer: str = ""
    contains: str | None = field(default=None, validator=not_empty)
    equals: Any = None
    result: Literal["any", "success", "error"] = "any"

    def __attrs_post_init__(self) -> None:
        if self.max == 0 and self.min is None:
            return
        if self.min is not None or self.max is not None:
            a_bound(self, "min", "max")


@frozen
class Result:
    """The result of a call of the tool `name` (of any tool if not given): the first, the last or `any` occurrence that
    fits. It `contains` a text, `equals` the value at `pointer` of the result as data, or is an `error` or none."""

    name: str | None = field(default=None, validator=not_empty)
    occurrence: Literal["any", "first", "last"] = "any"
    pointer: str = ""
    contains: str | None = field(default=None, validator=not_empty)
    equals: Any = None
    error: bool | None = None

    def __attrs_post_init__(self) -> None:
        if self.contains is None and self.equals is None and self.error is None:
            raise ValueError("give `contains`, `equals` or `error`")


@frozen
class Order:
    """The tools `names` were called in this order, others between them allowed."""

    names: tuple[str, ...]

    def __attrs_post_init__(self) -> None:
        if len(self.names) < 2:
            raise ValueError("`names` needs at least two tools to have an order")


@frozen
class NoErrors:
    """No tool call failed; `allow_none` if it need not have used a tool."""

    allow_none: bool = False


@frozen
class Questions:
    """The agent asked `min` to `max` questions, of one `kind` or of any."""

    min: int | None = None
    max: int | None = None
    kind: Literal["ask", "approve", "custom"] | None = None

    def __attrs_post_init__(self) -> None:
        if self.max == 0 and self.min is None:
            return
        a_bound(self, "min", "max")


def _contains(config: Text, evidence: Evidence) -> Verdict:
    text = said(evidence, config.against)
    if text is None:
        return Verdict.failed("nothing to check: the agent said nothing")
    wanted, where = (config.text.casefold(), text.casefold()) if config.ignore_case else (config.text, text)
    found = wanted in where
    return Verdict.of(
        found, f"the {config.against} {'contains' if found else 'lacks'} {config.text!r}: {excerpt(text)}"
    )


def _lacks(config: Text, evidence: Evidence) -> Verdict:
    if said(evidence, config.against) is None:
        return Verdict.failed("nothing to check: the agent said nothing")
    verdict = _contains(config, evidence)
    return Verdict.of(verdict.status == "fail", verdict.reason)


def _matches(config: Pattern, evidence: Evidence) -> Verdict:
    text = said(evidence, config.against)
    if text is None:
        return Verdict.failed("nothing to check: the agent said nothing")
    found = count(config.pattern, text, ignore_case=config.ignore_case, most=1) > 0
    return Verdict.of(
        found, f"{config.pattern!r} is {'' if found else 'not '}found in the {config.against}: {excerpt(text)}"
    )


def _equals(config: Exact, evidence: Evidence) -> Verdict:
    text = evidence.answer
    if text is None:
        return Verdict.failed("nothing to check: the agent said nothing")
    return Verdict.of(text.strip() == config.text.strip(), f"the answer is {excerpt(text)}")


def uses(evidence: Evidence) -> Sequence[tuple[ToolCall, ToolResult | None]]:
    """Every tool call with its result, paired by id in order; None if there was none."""
    results: dict[str, list[ToolResult]] = {}
    for line in of_type(evidence.trace, ToolResult):
        assert isinstance(line.event, ToolResult)
        results.setdefault(line.event.id, []).append(line.event)
    found = []
    for line in of_type(evidence.trace, ToolCall):
        assert isinstance(line.event, ToolCall)
        mine = results.get(line.event.id)
        found.append((line.event, mine.pop(0) if mine else None))
    return found


def _fits(config: Called, call: ToolCall, result: ToolResult | None) -> bool:
    if call.name != config.name or (config.by != "anyone" and (call.agent is None) != (config.by == "main")):
        return False
    if config.result != "any" and (result is None or result.error != (config.result == "error")):
        return False
    if config.contains is None and config.equals is None:
        return True
    value = resolve(call.input, config.pointer)
    if config.equals is not None and value != config.equals:
        return False
    return config.contains is None or config.contains in (value if isinstance(value, str) else str(value))


def _called(config: Called, evidence: Evidence) -> Verdict:
    calls = uses(evidence)
    found = sum(_fits(config, call, result) for call, result in calls)
    low, high = (1, None) if config.min is None and config.max is None else (config.min, config.max)
    if not calls and not low:
        return Verdict.failed("nothing to check: the agent used no tool")
    others = sorted({call.name for call, _ in calls})
    reason = (
        f"{config.name} was called so {found} times (wanted: {bounds(low, high)}); it used {names(others) or 'no tool'}"
    )
    return Verdict.of(within(found, low, high), reason)


def _value_of(result: ToolResult) -> Any:
    """A result as data: what the driver gave, else its text read as JSON, else its text."""
    if result.output is not None:
        return result.output
    try:
        return json.loads(result.text)
    except ValueError:
        return result.text


def _result_fits(config: Result, result: ToolResult) -> bool:
    if config.error is not None and result.error != config.error:
        return False
    if config.equals is not None and resolve(_value_of(result), config.pointer) != config.equals:
        return False
    return config.contains is None or config.contains in result.text


def _result(config: Result, evidence: Evidence) -> Verdict:
    mine = [result for call, result in uses(evidence) if result is not None and config.name in (None, call.name)]
    if not mine:
        return Verdict.failed(f"nothing to check: {config.name or 'no tool'} gave no result")
    looked = {"any": mine, "first": mine[:1], "last": mine[-1:]}[config.occurrence]
    found = any(_result_fits(config, result) for result in looked)
    last = looked[-1]
    return Verdict.of(
        found,
        f"{config.occurrence} of {len(mine)} results; the last{' (an error)' if last.error else ''}: {excerpt(last.text)}",
    )


def _order(config: Order, evidence: Evidence) -> Verdict:
    called = [call.name for call, _ in uses(evidence)]
    at = 0
    for name in called:
        if at < len(config.names) and name == config.names[at]:
            at += 1
    if at == len(config.names):
        return Verdict.passed(f"{' before '.join(config.names)}")
    return Verdict.failed(
        f"{config.names[at]} did not come after {names(config.names[:at]) or 'the start'}: {names(called, 12)}"
    )


def _no_errors(config: NoErrors, evidence: Evidence) -> Verdict:
    results = [result for _, result in uses(evidence) if result is not None]
    if not results and not config.allow_none:
        return Verdict.failed("nothing to check: no tool gave a result")
    bad = [f"{result.id}: {result.text[:80]}" for result in results if result.error]
    return Verdict.of(not bad, f"{len(bad)} of {len(results)} tool calls failed{': ' + names(bad, 3) if bad else ''}")


def _questions(config: Questions, evidence: Evidence) -> Verdict:
    asked = [line.event.question for line in of_type(evidence.trace, Asked) if isinstance(line.event, Asked)]
    found = sum(config.kind is None or question.kind == config.kind for question in asked)
    reason = f"it asked {found} questions{f' of kind {config.kind}' if config.kind else ''}"
    return Verdict.of(within(found, config.min, config.max), f"{reason} (wanted: {bounds(config.min, config.max)})")


def _denied_is_not_done(config: NoErrors, evidence: Evidence) -> Verdict:
    """After a refused approval no tool with the refused input may have succeeded."""
    asked = {
        line.event.question.id: line.event.question
        for line in of_type(evidence.trace, Asked)
        if isinstance(line.event, Asked)
    }
    refused = [
        (line.seq, asked[line.event.answer.question].payload)
        for line in of_type(evidence.trace, Answered)
        if isinstance(line.event, Answered)
        and line.event.answer.approved is False
        and line.event.answer.question in asked
    ]
    if not refused:
        return (
            Verdict.passed("nothing was refused")
            if config.allow_none
            else Verdict.failed("nothing to check: nothing was refused")
        )
    for seq, payload in refused:
        wanted = payload.get("input", payload) if isinstance(payload, dict) else payload
        for line in of_type(evidence.trace, ToolCall):
            if line.seq > seq and isinstance(line.event, ToolCall) and line.event.input == wanted:
                result = next((one for call, one in uses(evidence) if call.id == line.event.id), None)
                if result is not None and not result.error:
                    return Verdict.failed(f"{line.event.name} did what was refused: {wanted!r:.200}")
    return Verdict.passed(f"{len(refused)} refusals were kept to")


SPECS = (
    AssertionSpec("answer_contains", _contains, Text, quick=True, summary="The agent said a text."),
    AssertionSpec("answer_lacks", _lacks, Text, quick=True, summary="The agent said something, and not a text."),
    AssertionSpec("answer_matches", _matches, Pattern, summary="A pattern is found in what the agent said."),
    AssertionSpec("answer_equals", _equals, Exact, quick=True, summary="The final answer is a text."),
    AssertionSpec("tool_called", _called, Called, quick=True, summary="A tool was called so, so many times."),
    AssertionSpec("tool_result", _result, Result, quick=True, summary="A tool gave a result."),
    AssertionSpec("tool_order", _order, Order, quick=True, summary="Tools were called in an order."),
    AssertionSpec("no_tool_errors", _no_errors, NoErrors, quick=True, summary="No tool call failed."),
    AssertionSpec("question_count", _questions, Questions, quick=True, summary="The agent asked so many questions."),
    AssertionSpec("refusals_kept", _denied_is_not_done, NoErrors, quick=True, summary="What was refused was not done."),
)
