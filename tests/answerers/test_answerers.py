"""The answerers under the suite that third parties use; rules that fit and rules that can't; a person at a terminal."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from quintain import Answer, AnswererContext, AnswererSpec, Option, Question, QuintainError
from quintain.errors import RecordError
from quintain.functions import DENY
from quintain.model.codec import from_plain
from quintain.testing import AnswererConformance
from quintain_answerers.scripted import ScriptedConfig, scripted
from quintain_answerers.terminal import TerminalConfig, terminal

pytestmark = pytest.mark.anyio


class TestDeny(AnswererConformance):
    def spec(self) -> AnswererSpec[Any]:
        return DENY


class TestScripted(AnswererConformance):
    def spec(self) -> AnswererSpec[Any]:
        return scripted

    def config(self) -> Any:
        return configured([{"match": {"kind": "ask"}, "text": "blue"}, {"match": {"kind": "approve"}, "approve": True}])


def configured(rules: Sequence[dict[str, Any]], **more: Any) -> ScriptedConfig:
    return from_plain({"rules": list(rules), **more}, ScriptedConfig)


async def told(config: ScriptedConfig, *questions: Question) -> list[Answer]:
    context = AnswererContext("t", "c", "p", None, lambda usage: None)
    async with scripted.open(config, context) as answerer:
        return [await answerer.answer(question, ()) for question in questions]


def ask(text: str, **more: Any) -> Question:
    return Question("q", "ask", text, **more)


async def test_the_first_rule_that_fits_answers() -> None:
    config = configured(
        [
            {"match": {"contains": "colour"}, "text": "blue"},
            {"match": {"matches": "n.mber"}, "text": "7"},
            {"refuse": "no"},
        ]
    )
    answers = await told(config, ask("Which colour?"), ask("Which number?"), ask("Why?"))
    assert [answer.text for answer in answers] == ["blue", "7", None]
    assert answers[2].refused


async def test_once_and_sequences_count() -> None:
    config = configured(
        [{"match": {"contains": "a"}, "text": "first", "once": True}, {"sequence": [{"text": "x"}, {"text": "y"}]}]
    )
    answers = await told(config, ask("a"), ask("a"), ask("a"), ask("a"))
    assert [answer.text for answer in answers] == ["first", "x", "y", "y"]
    ended = configured([{"sequence": [{"text": "x"}], "then": "refuse"}])
    assert [answer.refused for answer in await told(ended, ask("a"), ask("a"))] == [False, True]


async def test_a_choice_must_be_offered() -> None:
    config = configured([{"choose": "blue"}])
    question = ask("?", options=(Option("red"), Option("blue")))
    assert (await told(config, question))[0].chosen == ("blue",)
    with pytest.raises(QuintainError, match="not offered: red"):
        await told(config, ask("?", options=(Option("red"),)))


async def test_what_no_rule_fits_is_refused_or_fails() -> None:
    rules = [{"match": {"contains": "never"}, "text": "x"}]
    assert (await told(configured(rules), ask("?")))[0].refused
    with pytest.raises(QuintainError, match="no rule fits"):
        await told(configured(rules, otherwise="fail"), ask("?"))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"match": {"kind": "ask"}, "approve": True}, "answers questions of kind approve"),
        ({"text": "x", "choose": "y"}, "text and choose"),
        ({}, "has none"),
        ({"match": {"matches": "("}, "text": "x"}, "no regular expression"),
        ({"sequence": []}, "`sequence` is empty"),
        ({"sequence": [{"text": "x"}], "once": True}, "contradict"),
        ({"sequence": [{"text": "x"}], "text": "y"}, "an answer of its own"),
        ({"text": "x", "delay_s": -1}, "can't be negative"),
        ({"text": "x", "reason": "y"}, "goes with `approve`"),
        ({"txt": "x"}, "unknown key"),
    ],
)
async def test_a_rule_that_can_not_fit_is_refused_at_load(rule: dict[str, Any], words: str) -> None:
    with pytest.raises(RecordError, match=words.replace("(", r"\(")):
        configured([rule])


async def test_a_rule_that_is_never_reached_is_refused_at_load() -> None:
    with pytest.raises(RecordError, match="rule 2 is never reached"):
        configured([{"text": "x"}, {"match": {"kind": "ask"}, "text": "y"}])


async def test_rules_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[rules]]\ntext = "from the file"\n')
    assert (await told(ScriptedConfig(file=path), ask("?")))[0].text == "from the file"
    path.write_text("[[rules]\n")
    with pytest.raises(QuintainError, match=r"rules\.toml"):
        await told(ScriptedConfig(file=path), ask("?"))


@asynccontextmanager
async def typing(lines: str) -> Any:
    """A terminal at which somebody types."""
    leader, follower = pty.openpty()
    try:
        os.write(leader, lines.encode())
        yield leader, TerminalConfig(device=os.ttyname(follower))
    finally:
        os.close(leader)
        os.close(follower)


async def at_terminal(lines: str, question: Question) -> tuple[Answer, str]:
    context = AnswererContext("t", "c", "p", None, lambda usage: None)
    async with typing(lines) as (leader, config), terminal.open(config, context) as answerer:
        with anyio.fail_after(20):
            answer = await answerer.answer(question, ())
        return answer, shown_at(leader)


def shown_at(leader: int) -> str:
    """Everything that the terminal shows; it may take a moment to come through."""
    shown = b""
    while select.select([leader], [], [], 0.5)[0]:
        shown += os.read(leader, 65536)
    return shown.decode()


async def test_a_person_answers() -> None:
    answer, shown = await at_terminal("blue\n", ask("Which colour?"))
    assert answer.text == "blue"
    assert "Which colour?" in shown


async def test_a_person_chooses_by_number() -> None:
    answer, shown = await at_terminal("2\n", ask("?", options=(Option("red"), Option("blue", "calm"))))
    assert answer.chosen == ("blue",)
    assert "2) blue: calm" in shown


@pytest.mark.parametrize(("typed", "approved"), [("y\n", True), ("no\n", False), ("\n", False), ("what\nyes\n", True)])
async def test_a_person_approves_only_by_saying_so(typed: str, approved: bool) -> None:
    assert (await at_terminal(typed, Question("q", "approve", "Run it?")))[0].approved is approved


async def test_a_person_gives_json_or_is_asked_again() -> None:
    answer, shown = await at_terminal('{"a": \n{"a": 1}\n', Question("q", "custom"))
    assert answer.payload == {"a": 1}
    assert "that is no JSON" in shown


async def test_what_an_agent_says_does_nothing_to_the_terminal() -> None:
    _, shown = await at_terminal("x\n", ask("\x1b]0;owned\x07\x1b[2J"))
    assert "\x1b" not in shown
    assert "\x07" not in shown


async def test_waiting_for_a_person_can_be_cancelled() -> None:
    with anyio.move_on_after(0.2) as scope:
        await at_terminal("", ask("?"))
    assert scope.cancelled_caught


async def test_without_a_terminal_it_says_so_before_anything_is_spent() -> None:
    context = AnswererContext("t", "c", "p", None, lambda usage: None)
    with pytest.raises(QuintainError, match="there is no terminal"):
        async with terminal.open(TerminalConfig(device="/nowhere/tty"), context):
            pass
