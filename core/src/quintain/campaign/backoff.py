"""A pause that all trials of a profile share when its model service says that there are too many of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from attrs import define, field

from quintain.model.limits import Retry
from quintain.model.outcome import Failure, Outcome
from quintain.runs.control import Control

LOOK_S = 0.5
"""Seconds after which one that waits looks whether it is to begin at all."""

BUSY = frozenset({Failure.RATE_LIMIT, Failure.OVERLOAD})
"""Failures that more trials at once would only make worse."""


@define
class _Pause:
    strikes: int = 0
    until_s: float = 0.0


@define
class Backoff:
    """Doubles the pause of a profile with each trial that the service refused, and forgets it with the next success.

    Attributes:
        clock: monotonic seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _pauses: dict[str, _Pause] = field(factory=dict)

    def saw(self, profile: str, retry: Retry, outcomes: Sequence[Outcome]) -> None:
        """Take note of how attempts under a profile ended."""
        pause = self._pauses.setdefault(profile, _Pause())
        for outcome in outcomes:
            if outcome.failure in BUSY:
                pause.strikes += 1
                wait_s = retry.wait_s(outcome.failure.value, pause.strikes)
                pause.until_s = max(pause.until_s, self.clock() + wait_s)
            else:
                pause.strikes = 0

    async def wait(self, profile: str, control: Control) -> None:
        """Wait until a trial of the profile may begin, unless none is to begin any more."""
        while not control.draining:
            pause = self._pauses.get(profile)
            left_s = pause.until_s - self.clock() if pause else 0.0
            if left_s <= 0:
                return
            await control.switch.sleep(min(left_s, LOOK_S))
