"""Tells sinks what happens, and leaves out the ones that fail."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import anyio

from quintain.contracts.sink import Sink, SinkContext
from quintain.model.events import Traced
from quintain.model.plain import Plug
from quintain.model.run import RunInfo, RunSummary
from quintain.model.trial import TrialOrder, TrialReport
from quintain.plugins import Plugins
from quintain.trial.prepare import structure


class Audience:
    """All sinks of a run as one.

    Attributes:
        warnings: which sinks failed, and how.
    """

    def __init__(self, sinks: dict[str, Sink]) -> None:
        self._sinks = sinks
        self._watchers = {name: sink for name, sink in sinks.items() if type(sink).event is not Sink.event}
        self._send, self._receive = anyio.create_memory_object_stream[tuple[str, Traced] | anyio.Event](math.inf)
        self.warnings: list[str] = []

    @property
    def watches_events(self) -> bool:
        """Some sink wants to hear of every event."""
        return bool(self._watchers)

    async def run_began(self, run: RunInfo) -> None:
        """Tell all."""
        await self._tell(self._sinks, lambda sink: sink.run_began(run))

    async def trial_began(self, order: TrialOrder, attempt: int) -> None:
        """Tell all."""
        await self._tell(self._sinks, lambda sink: sink.trial_began(order, attempt))

    def event(self, trial: str, traced: Traced) -> None:
        """Put an event where `pump` finds it: what happens in a trial doesn't wait for those who listen."""
        self._send.send_nowait((trial, traced))

    async def trial_ended(self, report: TrialReport) -> None:
        """Tell all, after the events of the trial."""
        if self._sinks:
            heard = anyio.Event()
            self._send.send_nowait(heard)
            await heard.wait()
            await self._tell(self._sinks, lambda sink: sink.trial_ended(report))

    async def run_ended(self, summary: RunSummary) -> None:
        """Tell all."""
        await self._tell(self._sinks, lambda sink: sink.run_ended(summary))

    async def pump(self) -> None:
        """Pass events on to those that want to hear of every one, until `close`."""
        async with self._receive:
            async for item in self._receive:
                if isinstance(item, anyio.Event):
                    item.set()
                    continue
                trial, traced = item
                await self._tell(self._watchers, partial(_hear, trial, traced))

    def close(self) -> None:
        """No more events come."""
        self._send.close()

    async def _tell(self, sinks: dict[str, Sink], call: Callable[[Sink], Coroutine[Any, Any, None]]) -> None:
        for name, sink in tuple(sinks.items()):
            try:
                await call(sink)
            except Exception as error:  # noqa: BLE001  # a sink never hurts a run, whatever it raises
                self.failed(name, error)

    def failed(self, name: str, error: BaseException) -> None:
        """Leave a sink out from now on."""
        self.warnings.append(f"sink {name} failed and was left out: {type(error).__name__}: {error}")
        self._sinks.pop(name, None)
        self._watchers.pop(name, None)


def _place_of(name: str, key: tuple[str | int, ...]) -> str:
    return ".".join((f"sink {name}", *map(str, key)))


async def _hear(trial: str, traced: Traced, sink: Sink) -> None:
    await sink.event(trial, traced)


@asynccontextmanager
async def open_sinks(
    plugs: Sequence[Plug], own: Sequence[Sink], plugins: Plugins, context: SinkContext
) -> AsyncIterator[Audience]:
    """Open the sinks of a run.

    Args:
        plugs: sinks by name; one that can't be opened is an error, because nothing has been spent yet.
        own: sinks that are open already.
        plugins: where sinks come from.
        context: where they write.
    """
    sinks: dict[str, Sink] = {f"#{number}": sink for number, sink in enumerate(own, 1)}
    async with AsyncExitStack() as stack:
        for plug in plugs:
            spec = plugins.sink(plug.name)
            config = structure(plug.config, spec.config, partial(_place_of, plug.name))
            name = plug.name if plug.name not in sinks else f"{plug.name}-{len(sinks)}"
            sinks[name] = await stack.enter_async_context(spec.open(config, context))
        audience = Audience(sinks)
        async with anyio.create_task_group() as group:
            group.start_soon(audience.pump)
            try:
                yield audience
            finally:
                audience.close()
