"""How a run is stopped from outside, politely and then firmly."""

from __future__ import annotations

import anyio

from quintain.trial.bench import StopSwitch


class Control:
    """Handed to a run and to whoever may stop it (a signal handler, a sink, a program)."""

    def __init__(self) -> None:
        self.switch = StopSwitch()
        self.status = "finished"
        self.reason: str | None = None
        self._scope: anyio.CancelScope | None = None

    @property
    def draining(self) -> bool:
        """No new trial is begun."""
        return self.status != "finished"

    def drain(self, status: str, reason: str) -> None:
        """Begin no new trial; those that run come to their end. The first reason stands."""
        if not self.draining:
            self.status, self.reason = status, reason

    def end_trials(self, because: str) -> None:
        """End the conversations that run; their trials are kept as cancelled."""
        self.drain("interrupted", because)
        self.switch.stop(because)

    def abandon(self) -> None:
        """Kill what runs and leave at once."""
        self.drain("interrupted", "abandoned")
        if self._scope is not None:
            self._scope.cancel()

    def owns(self, scope: anyio.CancelScope) -> anyio.CancelScope:
        """Tie the scope of the run's workers to `abandon`."""
        self._scope = scope
        return scope
