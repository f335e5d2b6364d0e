"""What can go wrong for a user of Quintain, each with a place and a way out.

Every error that a user can cause derives from `QuintainError`; the command line prints it without a traceback and exits
with its `exit_code`. Anything else that escapes is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar


class QuintainError(Exception):
    """Base of all errors that have a cause a user can act on.

    Args:
        message: what happened, and to what.
        where: file, line and key, or another place that a person can go to.
        hint: what to do about it.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n  {self.hint}" if self.hint else ""
        return f"{place}{self.message}{advice}"


class UsageError(QuintainError):
    """The command line or a function was called with arguments that don't fit together."""


class AuthoringError(QuintainError):
    """A project, case, dataset or campaign file says something it can't say."""


class AuthoringErrors(QuintainError):
    """Several errors of what was authored at once, so that one reading of the output is enough to mend them all."""

    def __init__(self, errors: tuple[QuintainError, ...]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = errors


def raise_all(errors: Iterable[QuintainError]) -> None:
    """Raise the error, or all of them as one; each that says the same as another only once."""
    found = flatten(errors)
    if len(found) == 1:
        raise found[0]
    if found:
        raise AuthoringErrors(found)


def flatten(errors: Iterable[QuintainError]) -> tuple[QuintainError, ...]:
    """Single errors, each once."""
    found: dict[str, QuintainError] = {}
    for error in errors:
        for single in error.errors if isinstance(error, AuthoringErrors) else (error,):
            found.setdefault(str(single), single)
    return tuple(found.values())


@contextmanager
def collected(errors: list[QuintainError]) -> Iterator[None]:
    """Add an error of what was authored to a list and go on, so that one reading of the output mends them all."""
    try:
        yield
    except (AuthoringError, AuthoringErrors, PluginError, WorkspaceError) as error:
        errors.append(error)


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise an error that went through task groups as itself: whoever handles it knows nothing of tasks."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = list(_singles(group))
        if len(found) == 1 or all(isinstance(error, QuintainError) for error in found):
            raise found[0] from None
        raise


def _singles(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _singles(error)
        else:
            yield error


class RecordError(QuintainError):
    """A stored record or a plugin's configuration doesn't fit its type; `path` is the key inside it."""

    def __init__(self, message: str, *, path: tuple[str | int, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, where=".".join(str(part) for part in path) or None, hint=hint)
        self.path = path


class PluginError(QuintainError):
    """A plugin can't be found, loaded or used; other plugins are not affected."""


class PolicyViolation(QuintainError):
    """A driver refuses a configuration that could not be reproduced; says what to write instead."""


class WorkspaceError(QuintainError):
    """Fixtures can't be staged, or evidence can't be read, safely."""


class SandboxUnavailable(QuintainError):
    """A sandbox was asked for and this machine can't give it."""


class StoreError(QuintainError):
    """The place where evidence is kept can't be read or written."""

    exit_code = 3


class LaunchError(QuintainError):
    """A program can't be found or started, or what it would be given can't be passed to it."""


class ProcessGone(QuintainError):
    """Something was sent to a process that has closed its input or ended."""


class SampleError(QuintainError):
    """Numbers that a statistical procedure can't honestly be computed from.

    Args:
        position: index, from 0, of the value that is at fault, if it is one; a caller that knows the case names it.
    """

    def __init__(
        self, message: str, *, position: int | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.position = position


class TooFewCases(SampleError):
    """There are too few independent cases for a procedure that is only right for more of them."""
