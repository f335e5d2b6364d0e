"""Plain data into records, with everything that is wrong in it, not only the first thing."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from attrs import asdict, field, fields, frozen
from cattrs import Converter
from cattrs.errors import BaseValidationError

from quintain.authoring._lines import Key
from quintain.contracts.assertion import Checked
from quintain.contracts.tables import assertion_from_table
from quintain.errors import AuthoringError, RecordError
from quintain.model import codec
from quintain.model.case import Assertion
from quintain.model.limits import LimitOverrides
from quintain.model.plain import Json, Plug, quoted

T = TypeVar("T")

_LISTED = 20


@frozen
class PartialPlug:
    """A plugin that may leave its name to what it extends."""

    name: str | None = None
    config: Mapping[str, Json] = field(factory=dict)


def structure(data: Any, cls: type[T], where: Callable[[Key], str], errors: list[AuthoringError]) -> T | None:
    """Make a record of plain data.

    Args:
        data: from a file.
        cls: what it should be.
        where: the place of a key, for people.
        errors: gets what is wrong.

    Returns:
        The record, or None if there was something wrong.
    """
    try:
        return _converter.structure(data, cls)
    except (BaseValidationError, RecordError, ValueError, TypeError, KeyError) as error:
        found = codec.problems(error, cls)
        errors.extend(AuthoringError(one.message, where=where(one.path), hint=one.hint) for one in found)
        return None


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word that was probably meant, or those that there are."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return f"there are: {', '.join(words[:_LISTED])}{more}" if words else "there is none"


def _plain(value: Any, cls: type[Any]) -> Any:
    """What a program made is checked as if it had been read."""
    return asdict(value, recurse=False) if isinstance(value, cls) else value


def _assertion(value: Any, _: Any) -> Assertion:
    if isinstance(value, Checked):
        raise RecordError(
            "an assertion that is a function works in programs only",
            hint="name an installed type of assertion, or run these cases by `quintain.run`",
        )
    if isinstance(value, Assertion):
        return codec.converter.structure(_plain(value, Assertion), Assertion)
    return assertion_from_table(value)


def _plug(value: Any, cls: Any) -> Any:
    """A name alone, or a table with the configuration in a table of its own."""
    if isinstance(value, str):
        return cls(value)
    if isinstance(value, Mapping):
        known = [one.name for one in fields(cls)]
        for key in value:
            if key not in known and not difflib.get_close_matches(key, known, n=1):
                hint = f"what the plugin itself takes stands in `config`: {{ name = ..., config = {{ {key} = ... }} }}"
                raise RecordError(f"unknown key `{key}`", path=(key,), hint=hint)
    elif not isinstance(value, cls):
        raise ValueError(f"a name, or a table with `name` and `config`, is wanted here, not {quoted(value)}")
    return codec.converter.structure(_plain(value, cls), cls)


def _limits(value: Any, _: Any) -> LimitOverrides:
    return codec.converter.structure(_plain(value, LimitOverrides), LimitOverrides)


def _build() -> Converter:
    built: Converter = codec.converter.copy()
    built.register_structure_hook(Assertion, _assertion)
    built.register_structure_hook(Plug, _plug)
    built.register_structure_hook(PartialPlug, _plug)
    built.register_structure_hook(LimitOverrides, _limits)
    return built


_converter = _build()
