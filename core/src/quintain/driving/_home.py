"""The private home that a driver makes for its agent, when it can't be made."""

from __future__ import annotations

import errno

from quintain.errors import QuintainError
from quintain.model.outcome import Failure

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Errors of a disk and not of who asks it."""


class HomeError(QuintainError):
    """The private home of a trial can't be made; says which class of failure that is.

    Args:
        agent: whose home, for people.
        error: of the system.
    """

    def __init__(self, agent: str, error: OSError) -> None:
        super().__init__(f"{agent}'s home can't be made: {error.strerror}: {error.filename}")
        self.failure = Failure.DISK if error.errno in FULL else Failure.CRASH
