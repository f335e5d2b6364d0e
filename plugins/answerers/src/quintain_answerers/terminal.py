"""A person at the terminal answers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
from attrs import frozen
from quintain import Answer, Answerer, AnswererContext, AnswererSpec, Exchange, Question, QuintainError, hookimpl

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@frozen
class TerminalConfig:
    """`device` is the terminal."""

    device: str = "/dev/tty"


class _Terminal:
    def __init__(self, descriptor: int, context: AnswererContext) -> None:
        self._descriptor = descriptor
        self._context = context
        self._rest = b""

    async def answer(self, question: Question, history: Sequence[Exchange]) -> Answer:
        await self._print(f"\n{self._context.case} asks: {question.text}")
        if question.payload is not None:
            await self._print(json.dumps(question.payload, indent=2, default=str))
        for number, option in enumerate(question.options, 1):
            more = f": {option.description}" if option.description else ""
            await self._print(f"  {number}) {option.label}{more}")
        if question.kind == "approve":
            return await self._approval(question)
        if question.kind == "custom":
            return Answer.give(question, await self._json())
        said = await self._line("> ")
        if question.options and said.isdigit() and 1 <= int(said) <= len(question.options):
            label = question.options[int(said) - 1].label
            return Answer.say(question, label, chosen=(label,))
        return Answer.say(question, said)

    async def _approval(self, question: Question) -> Answer:
        while True:
            said = (await self._line("yes or no? ")).lower()
            if said in ("y", "yes", "n", "no", ""):
                return Answer.decide(question, said in ("y", "yes"))

    async def _json(self) -> object:
        while True:
            try:
                return json.loads(await self._line("JSON> "))
            except ValueError as error:
                await self._print(f"that is no JSON: {error}")

    async def _print(self, text: str) -> None:
        await self._write(_CONTROL.sub("?", text) + "\n")

    async def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            await anyio.wait_writable(self._descriptor)
            data = data[os.write(self._descriptor, data) :]

    async def _line(self, prompt: str) -> str:
        await self._write(prompt)
        while b"\n" not in self._rest:
            await anyio.wait_readable(self._descriptor)
            chunk = os.read(self._descriptor, 4096)
            if not chunk:
                raise QuintainError("the terminal was closed before the question was answered")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


@asynccontextmanager
async def _open(config: TerminalConfig, context: AnswererContext) -> AsyncIterator[Answerer]:
    try:
        descriptor = os.open(config.device, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise QuintainError(
            f"there is no terminal for a person to answer at: {config.device}: {error.strerror}",
            hint="run it in a terminal, or choose another answerer, such as scripted",
        ) from error
    try:
        yield _Terminal(descriptor, context)
    finally:
        os.close(descriptor)


terminal = AnswererSpec(
    "terminal", _open, TerminalConfig, interactive=True, summary="A person at the terminal answers."
)


@hookimpl
def quintain_answerer() -> AnswererSpec[TerminalConfig]:
    """Declare `terminal`."""
    return terminal
