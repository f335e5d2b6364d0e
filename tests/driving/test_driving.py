"""The parts that drivers are made of, tried without any driver."""

from __future__ import annotations

import errno
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest
import quintain.driving
from hypothesis import given
from hypothesis import strategies as st
from quintain import Done, Event, Exit, IdentityContext, Log, Message, ProcessGone, ProtocolError, QuintainError
from quintain.driving import (
    DEPTH,
    Events,
    HomeError,
    Speaker,
    WrongField,
    beside,
    definition_digest,
    interpreter_of,
    is_option,
    need_table,
    need_text,
    prompt_bytes,
    read,
    server_programs,
    visible,
)
from quintain.identity.files import digest_file
from quintain.model.outcome import Failure
from quintain.process import Line

pytestmark = pytest.mark.anyio


def line(text: str, *, complete: bool = True, dropped: int = 0) -> Line:
    return Line(text.encode("utf-8", "surrogateescape"), dropped=dropped, complete=complete)


class Pipe:
    """A process that keeps what it is told, or is gone."""

    pid = 1
    exit: Exit | None = None

    def __init__(self, *lines: str, gone: bool = False) -> None:
        self._lines = lines
        self._gone = gone
        self.told: list[bytes] = []
        self.closed = 0

    async def lines(self) -> AsyncIterator[Line]:
        for text in self._lines:
            yield line(text)

    async def send(self, data: bytes) -> None:
        if self._gone:
            raise ProcessGone("it is gone")
        self.told.append(data)

    async def close_stdin(self) -> None:
        self.closed += 1

    async def wait(self) -> Exit:
        raise AssertionError("nobody waits here")

    async def stop(self) -> Exit:
        raise AssertionError("nobody stops it here")


@given(st.dictionaries(st.text("abc"), st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=4))
def test_a_json_object_is_read_whatever_stands_around_it(data: dict[str, Any]) -> None:
    text = f"\ufeff \x1b[1m{json.dumps(data)}\x1b[0m\r"
    found = read(line(text), 1)
    assert found.message == data
    assert found.events == ()


@given(st.text())
def test_whatever_a_line_is_it_is_a_message_or_is_told(text: str) -> None:
    said = Line(text.replace("\n", " ").encode("utf-8", "surrogatepass"))
    found = read(said, 7)
    assert bool(found.message is not None or found.events) is bool(visible(said.text).strip(" \t\r\n\ufeff"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "a message is a JSON object"),
        ('{"a": 1, "a": 2}', "`a` is there twice in one object"),
        ('{"a": ' + "[" * (DEPTH + 1) + "]" * (DEPTH + 1) + "}", f"nested deeper than {DEPTH} levels"),
        ('{"a": ' + "[" * 100_000, "nested deeper"),
        ('{"a": ' + "9" * 5000 + "}", "thousands of digits"),
        ('{"a"', "it is not valid JSON"),
    ],
)
def test_json_that_cannot_be_taken_is_a_protocol_error_that_says_why(text: str, said: str) -> None:
    found = read(line(text), 3)
    assert found.message is None
    (event,) = found.events
    assert isinstance(event, ProtocolError)
    assert said in event.message
    assert event.number == 3


def test_a_number_that_json_does_not_have_counts_as_null_and_is_told() -> None:
    found = read(line('{"a": NaN}'), 1)
    assert found.message == {"a": None}
    assert found.odd
    (event,) = found.events
    assert isinstance(event, ProtocolError)
    assert "NaN" in event.message


def test_other_text_is_log_output_and_a_torn_end_is_told() -> None:
    assert read(line("[info] \x1b[31mhello"), 1).events == (Log("[info] hello", "stdout"),)
    (torn,) = read(line('{"a"', complete=False), 1).events
    assert isinstance(torn, ProtocolError)
    assert "in the middle" in torn.message
    (cut,) = read(line('{"a"', dropped=5), 1).events
    assert isinstance(cut, ProtocolError)
    assert "5 bytes were left out" in cut.message


def test_a_field_that_must_be_there_is_named_with_its_path() -> None:
    assert need_text({"a": "x"}, "a", "m") == "x"
    for value in ({}, {"a": ""}, {"a": 1}):
        with pytest.raises(WrongField, match=r"`m\.a` must be a text"):
            need_text(value, "a", "m")
    with pytest.raises(WrongField, match=r"`m\.a` must be an object"):
        need_table({"a": []}, "a", "m")


async def test_events_end_with_the_lines_and_close_the_input_after_the_last_word() -> None:
    process = Pipe("one", "two")

    def take(said: Line) -> Iterable[Event]:
        return [Message(said.text)]

    events = Events(process, process.lines(), take, finish=lambda: [Done("end")])
    assert [event async for event in events] == [Message("one"), Message("two"), Done("end")]
    assert process.closed == 1
    deaf = Events(None, process.lines(), take, finish=lambda: [Done("end")])
    assert len([event async for event in deaf]) == 3
    assert process.closed == 1


async def test_messages_are_said_in_order_and_to_nobody_once_it_is_gone() -> None:
    process = Pipe()
    speaker = Speaker[str](process, str.encode)
    async with beside(speaker.speak):
        speaker.say(["a", "b"])
        speaker.say(["c"])
        await anyio.wait_all_tasks_blocked()
        await speaker.send("d")
    speaker.close()
    speaker.say(["e"])
    assert process.told == [b"a", b"b", b"c", b"d"]
    gone = Speaker[str](Pipe(gone=True), str.encode)
    gone.say(["a"])
    await gone.speak()
    with pytest.raises(ProcessGone):
        await gone.send("b")
    gone.close()


async def test_an_error_inside_is_raised_as_it_is_although_work_goes_on_beside() -> None:
    with pytest.raises(QuintainError, match="as it is"):
        async with beside(anyio.sleep_forever):
            raise QuintainError("as it is")


def test_half_of_a_character_is_no_prompt() -> None:
    assert prompt_bytes("caf\udce9") == b"caf\xe9"
    with pytest.raises(QuintainError, match="position 1"):
        prompt_bytes("a\ud800")


@pytest.mark.parametrize(
    ("argument", "name", "found"),
    [
        ("--config", "--config", True),
        ("--config=a", "--config", True),
        ("--configure", "--config", False),
        ("-ca", "-c", True),
        ("--cd", "-c", False),
        ("c", "-c", False),
    ],
)
def test_an_option_is_known_alone_and_with_its_value(argument: str, name: str, found: bool) -> None:
    assert is_option(argument, name) is found


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        ("#!/bin/sh -e\n", "/bin/sh"),
        ("#!/usr/bin/env -S A=1 python3 -I\n", "python3"),
        ("#!\n", None),
        ("\x7fELF", None),
        ("", None),
    ],
)
def test_a_script_says_what_it_asks_for(tmp_path: Path, first: str, asked: str | None) -> None:
    (tmp_path / "program").write_text(first)
    assert interpreter_of(tmp_path / "program") == asked


def test_tool_servers_are_their_programs_and_the_files_that_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("rules")
    context = IdentityContext(tmp_path, {}, digest_file, lambda path: "tree")
    server = {"command": "sh", "args": ["-c", str(tmp_path / "rules"), "rules"]}
    found = server_programs({"one": server, "web": {"url": "http://x"}, "odd": 1}, "/bin:/usr/bin", context)
    assert {name: sorted(files) for name, files in found.items()} == {"one": ["2 rules", "sh"], "web": []}
    with pytest.raises(QuintainError, match="`nothing-here` is not there"):
        server_programs({"one": {"command": "nothing-here"}}, "/bin", context)


def test_a_definition_counts_but_for_the_values_of_its_secrets() -> None:
    one = {"command": "sh", "env": {"KEY": "a"}}
    assert definition_digest(one, ["env"]) == definition_digest({"command": "sh", "env": {"KEY": "b"}}, ["env"])
    assert definition_digest(one, ["env"]) != definition_digest({"command": "sh", "env": {"OTHER": "a"}}, ["env"])
    assert definition_digest(one, []) != definition_digest({"command": "sh", "env": {"KEY": "b"}}, [])


def test_a_full_disk_is_another_failure_than_a_home_that_is_in_the_way() -> None:
    assert HomeError("It", OSError(errno.ENOSPC, "full", "x")).failure is Failure.DISK
    assert HomeError("It", OSError(errno.EACCES, "denied", "x")).failure is Failure.CRASH


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in quintain.driving.__all__:
        found = getattr(quintain.driving, name)
        assert isinstance(found, int) or found.__doc__
