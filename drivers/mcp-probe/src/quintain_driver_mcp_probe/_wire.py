"""Carry the protocol between a process's lines and the client library's streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import ClientSession, types
from mcp.shared.message import SessionMessage
from quintain import AgentProcess, Event, Line, Log, ProcessGone

from quintain_driver_mcp_probe._questions import Questions

QUOTED = 500
"""Characters of a line that an event shows."""


class Wire:
    """One connection; `overlong` is the number of bytes of an answer that was too long."""

    def __init__(self, process: AgentProcess, tell: Callable[[Event], None], max_bytes: int) -> None:
        self._process = process
        self._tell = tell
        self._max_bytes = max_bytes
        self.overlong = 0
        self.ended = False

    @asynccontextmanager
    async def connected(self, questions: Questions) -> AsyncIterator[ClientSession]:
        """A client that is not yet initialized."""
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)
        with to_client, from_server, to_server, from_client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, to_client)
                tasks.start_soon(self._write, from_client)
                async with ClientSession(
                    from_server,
                    to_server,
                    elicitation_callback=questions.elicit,
                    list_roots_callback=questions.roots,
                ) as client:
                    yield client
                tasks.cancel_scope.cancel()

    async def _read(self, to_client: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        with to_client, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in self._process.lines():
                message = self._message(line)
                if self.overlong:
                    break
                if message is not None:
                    await to_client.send(message)
            self.ended = True

    async def _write(self, from_client: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with suppress(ProcessGone):  # the reader learns of it, too, and knows what came before
            async for item in from_client:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._process.send(text.encode() + b"\n")

    def _message(self, line: Line) -> SessionMessage | None:
        """The message in a line; servers print other things as well, which are noted and do no harm."""
        size = len(line.data) + line.dropped
        if (line.dropped or size > self._max_bytes) and line.data[:QUOTED].lstrip().startswith(b"{"):
            self.overlong = size
            return None
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line.data, by_name=False))
        except ValueError:
            self._tell(Log(line.text[:QUOTED], dropped=line.dropped))
            return None
