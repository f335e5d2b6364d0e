"""The page about the protocol says what the code does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from quintain import Answer, Asked, Done, Event, Failure, Option, ProtocolError, Question, Ready, Unknown
from quintain.driving import DEPTH
from quintain_driver_subprocess._messages import FAILURES, answer_message, wire
from quintain_driver_subprocess._parser import QUOTED

PAGE = (Path(__file__).parents[2] / "docs/reference/subprocess-protocol.md").read_text()
EXAMPLE = re.findall(r"^(host|agent)  ? ?(\{.*\})$", PAGE, re.MULTILINE)
AGENT_PART = PAGE.partition("## From the agent")[2].partition("## What is no message")[0]

Say = Callable[..., list[Event]]


def test_the_example_is_understood_from_its_first_line_to_its_last(say: Say) -> None:
    events = say(*(line for who, line in EXAMPLE if who == "agent"))
    assert isinstance(events[0], Ready)
    assert isinstance(events[-1], Done)
    assert not [event for event in events if isinstance(event, ProtocolError | Unknown)]
    assert {json.loads(line)["type"] for who, line in EXAMPLE if who == "agent"} >= set(wire("disjoint").readers) - {
        "error"
    }


def test_the_answers_of_the_example_are_those_that_are_sent(say: Say) -> None:
    answers = [json.loads(line) for who, line in EXAMPLE if who == "host"][1:]
    ask, approve = (event.question for event in say(*(line for _, line in EXAMPLE)) if isinstance(event, Asked))
    assert isinstance(ask, Question)
    assert ask.options[1] == Option("an error", "raise ValueError")
    assert answers == [
        answer_message(ask, Answer.say(ask, "an error", chosen=("an error",))),
        answer_message(approve, Answer.decide(approve, True)),
    ]


def test_the_page_names_every_field_of_every_message() -> None:
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^### |\Z)", AGENT_PART, re.MULTILINE | re.DOTALL))
    fields = wire("disjoint").fields
    assert sections.keys() == fields.keys()
    for kind, names in fields.items():
        rows = [
            line.partition("|")[2].partition("|")[0] for line in sections[kind].splitlines() if line.startswith("| `")
        ]
        assert set(re.findall(r"`(\w+)`", " ".join(rows))) == names - {"type"}, kind


def test_the_page_names_the_limits_and_the_failures() -> None:
    assert f"deeper than {DEPTH} levels" in PAGE
    assert f"first {QUOTED} characters" in PAGE
    for failure in FAILURES.values():
        assert isinstance(failure, Failure)
        assert f"`{failure.value}`" in PAGE
