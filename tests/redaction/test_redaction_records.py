"""Records are cleaned field by field: texts lose their secrets, closed words and numbers keep their meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.records import EVENTS, of
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.model.events import Asked, Done, Failed, Log, Message, ToolCall, Traced, Unknown
from quintain.model.exit import Exit
from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage
from quintain.model.plain import Finding
from quintain.model.question import Question
from quintain.model.trial import Attempt
from quintain.redaction import Redactor

KEY = 's3cr3t"\\/+CANARY=='
KNOWN = Redactor.of({"API_KEY": KEY})
MARK = "[redacted:API_KEY]"


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_every_text_of_every_kind_of_event_is_cleaned(cls: type) -> None:
    """Whatever a record holds, with a secret put into each of its texts."""

    @settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None)
    @given(of(cls))
    def cleaned(event: Any) -> None:
        traced = from_plain(poisoned(to_plain(Traced(1, 0.5, event))), Traced)
        clean = KNOWN.record(traced)
        line = dumps(to_plain(clean))
        assert "CANARY" not in line
        assert from_plain(json.loads(line), Traced) == clean
        assert to_plain(clean) == marked(to_plain(traced))

    cleaned()


OPEN = {
    "text",
    "message",
    "line",
    "reason",
    "label",
    "path",
    "input",
    "output",
    "data",
    "payload",
    "description",
    "detail",
}


def poisoned(value: Any, key: str = "") -> Any:
    """Plain data with the secret in each text of a field that takes any."""
    if isinstance(value, dict):
        return {name: poisoned(one, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [poisoned(one, key) for one in value]
    return value + KEY if isinstance(value, str) and key in OPEN else value


def marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {marked(key): marked(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [marked(one) for one in value]
    return KNOWN.text(value) if isinstance(value, str) else value


def test_a_record_without_a_secret_is_the_same_object() -> None:
    traced = Traced(1, 0.5, ToolCall("1", "x", {"deep": [1, "a", {"b": None}]}))
    assert KNOWN.record(traced) is traced
    assert Redactor().record(traced) is traced


def test_words_of_closed_sets_survive_a_secret_that_is_one_of_them() -> None:
    known = Redactor.of(
        dict(zip("ABCDEFG", ("stdout", "approve", "custom", "message", "killed", "converse", "completed"), strict=True))
    )
    records = [
        Traced(1, 0.0, Log("stdout", "stdout")),
        Traced(1, 0.0, Asked(Question("q", "approve", "approve"))),
        Traced(1, 0.0, Message("message")),
        Traced(1, 0.0, Failed("killed", Failure.KILLED)),
        Exit(stop="killed"),
        Outcome(OutcomeKind.COMPLETED, "completed", Stage.CONVERSE),
    ]
    for record in records:
        clean = known.record(record)
        assert from_plain(json.loads(dumps(to_plain(clean))), type(clean)) == clean
    assert known.record(records[0]) == Traced(1, 0.0, Log("[redacted:A]", "stdout"))
    assert known.record(records[5]) == Outcome(OutcomeKind.COMPLETED, "[redacted:G]", Stage.CONVERSE)


def test_a_secret_of_digits_is_found_in_the_agents_data_and_in_no_count_of_ours() -> None:
    known = Redactor.of({"PIN": "123456"})
    call = Traced(123456, 123456.0, ToolCall("1", "x", {"pin": 123456, "list": [123456, 9123456.5, True, None]}))
    clean = known.record(call)
    assert (clean.seq, clean.at_s) == (123456, 123456.0)
    assert isinstance(clean.event, ToolCall)
    assert clean.event.input == {"pin": "[redacted:PIN]", "list": ["[redacted:PIN]", "9[redacted:PIN].5", True, None]}
    assert known.record(Unknown("x", 123456)) == Unknown("x", "[redacted:PIN]")


def test_a_secret_is_taken_out_of_keys_and_none_of_them_is_lost() -> None:
    clean = KNOWN.record(Unknown("x", {KEY: 1, json.dumps(KEY)[1:-1]: 2, "a": 3}))
    assert list(clean.data.values()) == [1, 2, 3]
    assert "CANARY" not in str(clean)


def test_an_attempts_words_are_cleaned_wherever_they_stand() -> None:
    attempt = Attempt(
        1,
        Outcome(OutcomeKind.AGENT_FAILED, f"it said {KEY}", conflicts=(f"a {KEY}", "b")),
        "2026-01-02T03:04:05Z",
        1.5,
        answer=KEY,
        stderr=f"{KEY}\n",
        findings=(Finding("leak", f"{KEY} in", (f"n_{KEY}",)),),
        environment=("API_KEY",),
    )
    clean = KNOWN.record(attempt)
    assert "CANARY" not in str(clean)
    assert clean.outcome == Outcome(OutcomeKind.AGENT_FAILED, f"it said {MARK}", conflicts=(f"a {MARK}", "b"))
    assert clean.findings == (Finding("leak", f"{MARK} in", (f"n_{MARK}",)),)
    assert clean.environment == ("API_KEY",)
    assert clean.duration_s == 1.5


def test_paths_are_texts_too() -> None:
    from quintain.model.case import Case

    assert KNOWN.record(Case("a", "b", fixtures=Path(f"x/{KEY}"))).fixtures == Path(f"x/{MARK}")


def test_the_text_of_done_is_cleaned_and_its_failure_kept() -> None:
    assert KNOWN.record(Done(f"the key is {KEY}", failure=Failure.AUTH)) == Done(
        f"the key is {MARK}", failure=Failure.AUTH
    )


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(of(Attempt), st.lists(st.text('abé\\"', min_size=6, max_size=8), min_size=1, max_size=3))
def test_any_record_stays_a_record(attempt: Attempt, values: list[str]) -> None:
    known = Redactor.of({f"S{number}": value for number, value in enumerate(values)})
    clean = known.record(attempt)
    assert from_plain(json.loads(dumps(to_plain(clean))), Attempt) == clean
