"""How a process ended."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Stop = Literal["none", "stdin-closed", "terminated", "killed"]


@frozen
class Exit:
    """The end of one process.

    Attributes:
        code: exit status, or None if a signal ended it or it can't be known.
        signal: number of the signal that ended it, or None.
        stop: the strongest thing that we did to make it end; "none" means that it ended by itself.
        leftover: processes of its tree that were still alive after it and were killed.
    """

    code: int | None = None
    signal: int | None = None
    stop: Stop = "none"
    leftover: int = 0

    @property
    def clean(self) -> bool:
        """It ended by itself with status 0."""
        return self.code == 0 and self.stop == "none"

    def describe(self) -> str:
        """A few words for people: `exit status 3`, `signal 9, sent by us`."""
        if self.signal is not None:
            return f"signal {self.signal}" + ("" if self.stop == "none" else ", sent by us")
        return "unknown exit status" if self.code is None else f"exit status {self.code}"
