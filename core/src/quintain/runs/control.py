"""How a run is stopped from outside, politely and then firmly."""

from __future__ import annotations

import anyio

from quintain.model.outcome import Failure, Outcome
from quintain.trial.bench import StopSwitch

AUTH_FAILURES = 3
"""After so many authentication failures in a row work stops: the next trials would only fail alike."""


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


class Warden:
    """Stops work that can only get worse.

    Args:
        control: of the work.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._auth_failures = 0

    def saw(self, outcome: Outcome) -> None:
        """Take note of how a trial ended."""
        if outcome.failure is Failure.DISK:
            self._control.drain("stopped", f"the disk does not take more: {outcome.reason}")
        self._auth_failures = self._auth_failures + 1 if outcome.failure is Failure.AUTH else 0
        if self._auth_failures >= AUTH_FAILURES:
            self._control.drain("stopped", f"{AUTH_FAILURES} trials in a row failed to authenticate: {outcome.reason}")
