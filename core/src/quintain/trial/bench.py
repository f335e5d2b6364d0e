"""Where trials run: the things of this machine that an order, being plain data, can't carry."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from os import getpid

import anyio
from attrs import field, frozen

from quintain.model.events import Traced
from quintain.model.trial import Attempt, TrialOrder
from quintain.plugins import Plugins
from quintain.process import Keepers
from quintain.trial.decide import Stopped
from quintain.trial.trace import EvidencePlace
from quintain.trial.watch import Watchman
from quintain.workspace.area import Areas
from quintain.workspace.blobs import BlobStore


class StopSwitch:
    """Ends all running conversations at once; their trials end as cancelled, with their evidence."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Stopped, str], None]] = []
        self.because: str | None = None

    def stop(self, because: str) -> None:
        """End what runs, and whatever begins later."""
        self.because = because
        for listener in tuple(self._listeners):
            listener(Stopped.CANCELLED, because)

    async def sleep(self, seconds: float) -> None:
        """Wait, unless everything is ended meanwhile."""
        with anyio.CancelScope() as scope, self.telling(lambda why, because: scope.cancel()):
            await anyio.sleep(seconds)

    @contextmanager
    def telling(self, listener: Callable[[Stopped, str], None]) -> Iterator[None]:
        """Tell a conversation while the context is open."""
        self._listeners.append(listener)
        try:
            if self.because is not None:
                listener(Stopped.CANCELLED, self.because)
            yield
        finally:
            self._listeners.remove(listener)


async def nobody(order: TrialOrder, attempt: int) -> None:
    """Is told of an attempt and doesn't care."""


async def _always(order: TrialOrder, failed: Attempt) -> bool:
    return True


@frozen
class Bench:
    """A place to run trials in.

    Attributes:
        plugins: where drivers, answerers and assertions come from.
        blobs: the store of file contents.
        evidence: where the evidence of a trial's attempt goes.
        host: the host's environment variables.
        areas: where workspaces come from.
        marker: recognises the processes of this harness.
        switch: ends everything.
        keepers: make many processes fast; None starts each by itself.
        watchman: looks at the clocks of all conversations; its `watch` must run beside them.
        gate: held while a person answers, so that one trial asks at a time.
        attempt_began: told before each attempt.
        admits: asked before another attempt, which costs again, after one that failed.
        listen: told of each line of each trace.
    """

    plugins: Plugins
    blobs: BlobStore
    evidence: Callable[[str, int], EvidencePlace]
    host: Mapping[str, str]
    areas: Areas = field(factory=Areas)
    keepers: Keepers | None = None
    marker: str = field(factory=lambda: f"{getpid()}.{secrets.token_hex(8)}")
    switch: StopSwitch = field(factory=StopSwitch)
    watchman: Watchman = field(factory=Watchman)
    gate: anyio.Lock = field(factory=anyio.Lock)
    attempt_began: Callable[[TrialOrder, int], Awaitable[None]] = nobody
    admits: Callable[[TrialOrder, Attempt], Awaitable[bool]] = _always
    listen: Callable[[str, Traced], None] | None = None
