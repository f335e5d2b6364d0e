"""The order of things between the host and an agent, with a process that does as it is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from quintain import Answer, Asked, Exit, Line, Question
from quintain.driving import lines_of
from quintain.process import Line as ReadLine
from quintain_driver_subprocess._messages import CANCEL, answer_message, wire
from quintain_driver_subprocess._parser import Parser
from quintain_driver_subprocess._session import JsonSession, Speech

pytestmark = pytest.mark.anyio


class SlowProcess:
    """An agent that talks before it listens."""

    def __init__(self, *said: dict[str, Any]) -> None:
        self.said = said
        self.heard: list[dict[str, Any]] = []
        self.listens = anyio.Event()
        self.closed = False
        self.lines_left_open = 0
        self.pid = 1
        self.exit: Exit | None = None

    async def lines(self) -> AsyncIterator[Line]:
        self.lines_left_open += 1
        try:
            for message in self.said:
                await anyio.lowlevel.checkpoint()
                yield ReadLine(json.dumps(message).encode())
        finally:
            self.lines_left_open -= 1

    async def send(self, data: bytes) -> None:
        await self.listens.wait()
        self.heard.append(json.loads(data))

    async def close_stdin(self) -> None:
        self.closed = True

    async def wait(self) -> Exit:
        return Exit(0)

    async def stop(self) -> Exit:
        return Exit(0)


def _session(process: SlowProcess, lines: AsyncIterator[Line] | None = None) -> JsonSession:
    return JsonSession(
        process, lines or process.lines(), Parser(wire("disjoint")), Speech(answer_message, {"type": "start"}, CANCEL)
    )


async def test_an_answer_never_overtakes_the_start() -> None:
    process = SlowProcess({"type": "question", "id": "q", "text": "?"})
    session = _session(process)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            async for event in session:
                if isinstance(event, Asked):
                    tasks.start_soon(session.answer, event.question, Answer.say(event.question, "x"))
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(session.start)
            await anyio.wait_all_tasks_blocked()
            assert process.heard == []
            process.listens.set()
    assert [message["type"] for message in process.heard] == ["start", "answer"]


async def test_the_end_closes_the_agents_input_before_it_is_told() -> None:
    process = SlowProcess({"type": "message", "text": "a"}, {"type": "done"}, {"type": "message", "text": "b"})
    seen = [(type(event).__name__, process.closed) async for event in _session(process)]
    assert seen == [("Ready", False), ("Message", False), ("Done", True), ("Message", True)]


async def test_an_iteration_that_is_left_early_leaves_no_iterator_behind() -> None:
    process = SlowProcess({"type": "ready"}, {"type": "done"})
    async with lines_of(process) as lines:
        async for _ in _session(process, lines):
            break
        assert process.lines_left_open == 1
    assert process.lines_left_open == 0


@pytest.mark.parametrize("approved", [True, False, None])
async def test_only_a_clear_yes_is_an_approval(approved: bool | None) -> None:
    question = Question("q", "approve", "rm?")
    assert answer_message(question, Answer("q", "approve", approved=approved))["approved"] is (approved is True)
    assert answer_message(question, Answer("q", "approve", approved=approved, refused=True))["approved"] is False
