"""Many errors at once."""

from __future__ import annotations

from collections.abc import Iterable

from quintain.errors import AuthoringErrors, QuintainError


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
