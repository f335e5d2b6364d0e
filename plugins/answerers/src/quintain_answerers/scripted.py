"""Answers by rules: the first rule that fits a question answers it. A rule that could never fit is refused at load."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import regex
from attrs import field, frozen
from quintain import Answer, Answerer, AnswererContext, AnswererSpec, Exchange, Question, QuintainError, hookimpl

PATTERN_S = 2.0
KINDS = {"text": "ask", "choose": "ask", "approve": "approve", "payload": "custom"}
"""Which kind of question an action answers."""

Kind = Literal["ask", "approve", "custom"]


@frozen
class Match:
    """What a question must be like, all of it; empty fits every question."""

    kind: Kind | None = None
    id: str | None = None
    contains: str | None = None
    matches: str | None = None
    option: str | None = None
    agent: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.matches is not None:
            try:
                regex.compile(self.matches)
            except regex.error as error:
                raise ValueError(f"`matches` is no regular expression: {error}") from error
        if self.contains == "":
            raise ValueError("`contains` is empty, so it would fit every question")

    def fits(self, question: Question) -> bool:
        """The question is so. Raises QuintainError if the pattern takes too long."""
        return (
            self.kind in (None, question.kind)
            and self.id in (None, question.id)
            and self.agent in (None, question.agent)
            and (self.contains is None or self.contains in question.text)
            and (self.option is None or self.option in [option.label for option in question.options])
            and (self.matches is None or _found(self.matches, question.text))
        )


def _found(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern, text, timeout=PATTERN_S, concurrent=True) is not None
    except TimeoutError as error:
        raise QuintainError(f"the pattern {pattern!r} took longer than {PATTERN_S:g} s on a question") from error


def _labels(value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else (value,) if isinstance(value, str) else tuple(value)


@frozen
class Action:
    """What is answered: one of `text`, `choose` (labels of offered options), `approve`, `payload` and `refuse` (the
    reason why there is no answer)."""

    text: str | None = None
    choose: Any = field(default=None, converter=_labels)
    approve: bool | None = None
    payload: Any = None
    refuse: str | None = None
    reason: str | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Which of them it has."""
        return tuple(name for name in (*KINDS, "refuse") if getattr(self, name) is not None)

    def problem(self, kind: Kind | None) -> str | None:
        """Why it can't answer a question of a kind, in words."""
        if len(self.given) != 1:
            return f"it needs one of {', '.join((*KINDS, 'refuse'))}, and has {' and '.join(self.given) or 'none'}"
        answers = KINDS.get(self.given[0])
        if kind is not None and answers is not None and kind != answers:
            return f"`{self.given[0]}` answers questions of kind {answers}, and it matches {kind}"
        if self.reason is not None and self.given[0] != "approve":
            return "`reason` goes with `approve`"
        return None

    def answer(self, question: Question) -> Answer:
        """The answer. Raises QuintainError if the question is of another kind, or doesn't offer what is chosen."""
        if self.refuse is not None:
            return Answer.refuse(question, self.refuse)
        if KINDS[self.given[0]] != question.kind:
            raise QuintainError(f"a rule answers with `{self.given[0]}`, and the question is of kind {question.kind}")
        if self.approve is not None:
            return Answer.decide(question, self.approve, self.reason)
        if self.choose is not None:
            offered = [option.label for option in question.options]
            missing = [label for label in self.choose if label not in offered]
            if missing:
                raise QuintainError(
                    f"a rule chooses {', '.join(missing)}, which is not offered: {', '.join(offered) or 'nothing is'}"
                )
            return Answer.say(question, ", ".join(self.choose), chosen=self.choose)
        return Answer.say(question, self.text) if self.text is not None else Answer.give(question, self.payload)


@frozen
class Rule:
    """One rule: `match`, then an action, or a `sequence` of actions for one question after the other.

    `once` uses it for one question only. What comes after a sequence: "repeat_last", "next" (later rules), "refuse".
    `delay_s` waits before the answer.
    """

    match: Match = field(factory=Match)
    text: str | None = None
    choose: Any = None
    approve: bool | None = None
    payload: Any = None
    refuse: str | None = None
    reason: str | None = None
    once: bool = False
    sequence: tuple[Action, ...] | None = None
    then: Literal["repeat_last", "next", "refuse"] = "repeat_last"
    delay_s: float = 0.0

    @property
    def actions(self) -> tuple[Action, ...]:
        """What it answers, in order."""
        if self.sequence is not None:
            return self.sequence
        return (Action(self.text, self.choose, self.approve, self.payload, self.refuse, self.reason),)

    def problems(self) -> list[str]:
        """Why it could never fit, in words."""
        found = [problem for action in self.actions if (problem := action.problem(self.match.kind))]
        if self.sequence is not None:
            if not self.sequence:
                found.append("`sequence` is empty")
            if Action(self.text, self.choose, self.approve, self.payload, self.refuse).given:
                found.append("it has a `sequence` and an answer of its own")
            if self.once:
                found.append("`once` and `sequence` contradict each other")
        if self.delay_s < 0:
            found.append(f"`delay_s` is {self.delay_s}; it can't be negative")
        return found

    @property
    def catches_all(self) -> bool:
        """No later rule is ever reached."""
        return self.match == Match() and not self.once and (self.sequence is None or self.then != "next")


@frozen
class ScriptedConfig:
    """`rules` in order, or a TOML `file` with them; what happens if none fits: `otherwise` "refuse" or "fail"."""

    rules: tuple[Rule, ...] = ()
    file: Path | None = None
    otherwise: Literal["refuse", "fail"] = "refuse"

    def __attrs_post_init__(self) -> None:
        if self.file is not None and self.rules:
            raise ValueError("give `rules` or `file`, not both")
        for problem in rule_problems(self.rules):
            raise ValueError(problem)


def rule_problems(rules: Sequence[Rule]) -> list[str]:
    """What is wrong with rules, each with its number from 1."""
    found = [f"rule {number}: {problem}" for number, rule in enumerate(rules, 1) for problem in rule.problems()]
    for number, rule in enumerate(rules[:-1], 1):
        if rule.catches_all:
            found.append(f"rule {number + 1} is never reached: rule {number} fits every question")
            break
    return found


def _load(config: ScriptedConfig) -> tuple[Rule, ...]:
    if config.file is None:
        return config.rules
    from quintain.model.codec import from_plain

    try:
        data: Mapping[str, Any] = tomllib.loads(config.file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise QuintainError(f"the rules can't be read: {error}", where=str(config.file)) from error
    return from_plain(data, ScriptedConfig).rules


class _Scripted:
    """Keeps how often each rule was used, for one attempt."""

    def __init__(self, rules: Sequence[Rule], otherwise: str) -> None:
        self._rules = rules
        self._otherwise = otherwise
        self._used = [0] * len(rules)

    async def answer(self, question: Question, history: Sequence[Exchange]) -> Answer:
        for index, rule in enumerate(self._rules):
            used, actions = self._used[index], rule.actions
            if (rule.once and used) or not rule.match.fits(question):
                continue
            if used >= len(actions) and rule.sequence is not None:
                if rule.then == "next":
                    continue
                if rule.then == "refuse":
                    return Answer.refuse(question, "the sequence of answers is at its end")
            self._used[index] += 1
            await anyio.sleep(rule.delay_s)
            return actions[min(used, len(actions) - 1)].answer(question)
        if self._otherwise == "fail":
            raise QuintainError(f"no rule fits the question ({question.kind}): {question.text[:200]}")
        return Answer.refuse(question, "no rule fits this question")


@asynccontextmanager
async def _open(config: ScriptedConfig, context: AnswererContext) -> AsyncIterator[Answerer]:
    yield _Scripted(_load(config), config.otherwise)


scripted = AnswererSpec("scripted", _open, ScriptedConfig, summary="Answers by rules that are written down.")


@hookimpl
def quintain_answerer() -> AnswererSpec[ScriptedConfig]:
    """Declare `scripted`."""
    return scripted
