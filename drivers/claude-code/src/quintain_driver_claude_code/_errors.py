"""Errors that say which class of failure they are."""

from __future__ import annotations

from typing import ClassVar

from quintain import Failure, QuintainError


class NotLoggedIn(QuintainError):
    """There are no credentials that could work."""

    failure: ClassVar[Failure] = Failure.AUTH

    def __init__(self, message: str) -> None:
        super().__init__(message, hint='run `claude` once and log in, or write `credentials = "key"`')
