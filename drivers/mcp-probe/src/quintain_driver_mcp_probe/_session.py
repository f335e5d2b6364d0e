"""One probe of one server: initialize, list its tools, do the steps."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, MCPError
from quintain import (
    AgentProcess,
    Answer,
    Done,
    Event,
    Failed,
    Failure,
    ProcessGone,
    Question,
    Ready,
    ToolCall,
    ToolResult,
)

from quintain_driver_mcp_probe._config import ProbeConfig, Step
from quintain_driver_mcp_probe._questions import Questions
from quintain_driver_mcp_probe._steps import LISTS, StepFailed, ask, request, whole_list
from quintain_driver_mcp_probe._wire import Wire

END_S = 1.0
"""Seconds that a server which closed its output is waited for, to say how it ended."""


class ProbeSession:
    """The conversation; `run` goes on beside the iteration."""

    def __init__(self, config: ProbeConfig, process: AgentProcess, workspace: Path) -> None:
        self._config = config
        self._process = process
        self._send, self._receive = anyio.create_memory_object_stream[Event](math.inf)
        self._wire = Wire(process, self._send.send_nowait, config.max_answer_bytes)
        self._questions = Questions(self._send.send_nowait, workspace)
        self._results: dict[str, Any] = {}
        self._stage = "initialize"
        self._server: str | None = None
        self._said = ""

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._receive

    async def answer(self, question: Question, answer: Answer) -> None:
        """Fill in the form that the server sent."""
        if self._wire.ended or self._process.exit is not None:
            raise ProcessGone("the server has ended before it was answered")
        self._questions.deliver(answer)

    async def interrupt(self) -> None:
        """The core ends the server."""

    def close(self) -> None:
        """Let go of the events that nobody will read."""
        self._send.close()
        self._receive.close()

    async def run(self) -> None:
        """Probe, and end with `Done` or `Failed`."""
        with self._send:
            end = await self._ended()
            self._send.send_nowait(end)

    async def _ended(self) -> Event:
        try:
            async with self._wire.connected(self._questions) as client:
                try:
                    return await self._probe(client)
                except (MCPError, StepFailed, TimeoutError, ValueError, RuntimeError) as error:
                    return await self._failed(error)
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError) as broken:
            gone: BaseException = broken.exceptions[0]
        return await self._failed(gone)

    async def _failed(self, error: BaseException) -> Failed:
        if self._wire.overlong:
            words = (
                f"the answer has {self._wire.overlong:,} bytes; `max_answer_bytes` is {self._config.max_answer_bytes:,}"
            )
        elif self._wire.ended:
            with anyio.move_on_after(END_S):
                await self._process.wait()
            end = self._process.exit
            words = "the server " + ("closed its output" if end is None else f"ended ({end.describe()})")
        elif isinstance(error, TimeoutError):
            first = self._stage == "initialize"
            words = f"no answer within {self._config.initialize_s if first else self._config.step_s:g} s"
        else:
            words = str(error)
        failure = Failure.PROTOCOL if self._stage == "initialize" else None
        return Failed(f"{self._stage}: {words}", failure=failure, detail={"stage": self._stage})

    async def _probe(self, client: ClientSession) -> Done:
        with anyio.fail_after(self._config.initialize_s):
            hello = await client.initialize()
        said = hello.model_dump(by_alias=True, mode="json", exclude_none=True)
        info, capabilities = said["serverInfo"], said["capabilities"]
        self._server = info["name"]
        mcp = {"server": info, "capabilities": capabilities, "protocol": said["protocolVersion"]}
        if "tools" in capabilities:
            self._stage = "tools/list"
            with anyio.fail_after(self._config.step_s):
                mcp["tools"] = await whole_list(client, "list-tools", self._config.max_pages)
        self._send.send_nowait(Ready(agent=self._server, version=info.get("version"), detail={"mcp": mcp}))
        numbered = list(enumerate(self._config.steps, 1))
        for _, group in groupby(numbered, lambda item: item[1].together or item[0]):
            await self._group(client, list(group))
        return Done(self._said)

    async def _group(self, client: ClientSession, steps: list[tuple[int, Step]]) -> None:
        """Steps in parallel; the first that went wrong, in their order, is what the probe fails with."""
        wrong: dict[int, tuple[str, Exception]] = {}

        async def one(number: int, step: Step) -> None:
            try:
                await self._step(client, number, step)
            except (MCPError, StepFailed, TimeoutError, ValueError, RuntimeError) as error:
                wrong[number] = (f"step {number} ({step.title})", error)

        self._stage = ", ".join(f"step {number} ({step.title})" for number, step in steps)
        async with anyio.create_task_group() as tasks:
            for number, step in steps:
                tasks.start_soon(one, number, step)
        if wrong:
            self._stage, error = wrong[min(wrong)]
            raise error

    async def _step(self, client: ClientSession, number: int, step: Step) -> None:
        id, began = f"s{number}", time.monotonic()
        params: dict[str, Any] = {}
        name = step.tool or step.op
        if step.op in LISTS:
            method = LISTS[step.op][0]
        else:
            method, params = request(step, self._results)
        given = params.get("arguments", {}) if step.op == "call" else params
        self._send.send_nowait(ToolCall(id, name, given, server=self._server))
        try:
            with anyio.fail_after(self._config.step_s):
                result = await self._result(client, step, method, params)
        except (MCPError, StepFailed, TimeoutError) as error:
            text = str(error) or f"no answer within {self._config.step_s:g} s"
            took = time.monotonic() - began
            self._send.send_nowait(ToolResult(id, name, text, error=True, duration_s=took))
            if step.fails and isinstance(error, MCPError) and not self._wire.ended and not self._wire.overlong:
                return
            raise
        failed = bool(result.get("isError"))
        self._said = _text(result)
        took = time.monotonic() - began
        self._send.send_nowait(ToolResult(id, name, _text(result), result, error=failed, duration_s=took))
        if step.fails is not None and step.fails != failed:
            raise StepFailed("it was to fail and did not" if step.fails else f"it failed: {_text(result)}")
        if step.name is not None:
            self._results[step.name] = result

    async def _result(self, client: ClientSession, step: Step, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if step.op in LISTS:
            return {LISTS[step.op][1]: await whole_list(client, step.op, self._config.max_pages)}
        return await ask(client, method, params)


def _text(result: dict[str, Any]) -> str:
    parts = result.get("content") or result.get("contents") or []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
