"""One converter between records and plain data: strict on the way in, JSON-safe on the way out.

Plain data is what JSON holds. Bytes that are no text travel in strings as lone surrogates, which JSON escapes; only two
of them that together stand for one character come back as that character.

What equals its default is left out, so a default is part of the format of what is stored: a stored record says which
version of it it is written in (`runs.store.SCHEMA`). Records that hold choices which may well be tuned one day (`WHOLE`)
are written whole, so that a stored order means the same for ever.
"""

from __future__ import annotations

import collections.abc
import difflib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import AttributeValidationNote, Converter, IterableValidationNote
from cattrs.cols import list_structure_factory, mapping_structure_factory
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError
from cattrs.gen import make_dict_unstructure_fn

from quintain.errors import RecordError
from quintain.model.campaign import (
    Budget,
    Campaign,
    Constraint,
    Objective,
    Repetitions,
    Stopping,
    Subject,
    Validation,
    Variant,
)
from quintain.model.case import Assertion
from quintain.model.events import EVENT_NAMES, Event
from quintain.model.limits import Limits, Retry
from quintain.model.plain import quoted
from quintain.model.trial import Isolation, TrialOrder

T = TypeVar("T")

WHOLE = (
    Assertion,
    Budget,
    Campaign,
    Constraint,
    Isolation,
    Limits,
    Objective,
    Repetitions,
    Retry,
    Stopping,
    Subject,
    TrialOrder,
    Validation,
    Variant,
)
"""Records of which nothing is left out."""

_EVENT_TYPES: Mapping[str, type] = {name: cls for cls, name in EVENT_NAMES.items()}


def _strict_bool(value: Any, _: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is wanted here, not {quoted(value)}")
    return value


def _strict_int(value: Any, _: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"a whole number is wanted here, not {quoted(value)}")
    return value


def _strict_float(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number is wanted here, not {quoted(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"a finite number is wanted here, not {quoted(value)}")
    return number


def _strict_str(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"text is wanted here, not {quoted(value)}")
    return value


def _is_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, Enum)


def _strict_enum(value: Any, cls: type[Enum]) -> Enum:
    try:
        return cls(value)
    except ValueError:
        raise ValueError(_none_of(value, (member.value for member in cls))) from None


def _is_literal(cls: Any) -> bool:
    origin: Any = get_origin(cls)
    return origin is Literal


def _strict_literal(value: Any, cls: Any) -> Any:
    for allowed in get_args(cls):
        if type(value) is type(allowed) and value == allowed:
            return allowed
    raise ValueError(_none_of(value, get_args(cls)))


def _none_of(value: Any, allowed: collections.abc.Iterable[object]) -> str:
    return f"{quoted(value)} is none of {', '.join(map(repr, allowed))}"


def _strict_scalar(scalar: type, hook: Callable[[Any, Any], Any], value: Any, cls: Any) -> Any:
    """What is registered for a class also gets its subclasses, as enumerations of strings."""
    return hook(value, cls) if cls is scalar else _strict_enum(value, cls)


def _path(value: Any, _: Any) -> Path:
    return value if isinstance(value, Path) else Path(_strict_str(value, str))


_SEQUENCES: Mapping[Any, Callable[[list[Any]], Any]] = {
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
    collections.abc.Set: frozenset,
}


def _is_sequence(cls: Any) -> bool:
    return (get_origin(cls) or cls) in _SEQUENCES


def _sequence_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    """A text is a sequence of characters to Python, never to a person who wrote it where a list is wanted."""
    kind, items = get_origin(cls) or cls, get_args(cls)
    one_by_one = kind is tuple and bool(items) and items[-1] is not Ellipsis
    accepted = (list, tuple, set, frozenset) if issubclass(kind, collections.abc.Set) else (list, tuple)
    as_list: Any = list[items[0] if items and not one_by_one else Any]  # type: ignore[misc]  # made at run time
    structure = list_structure_factory(as_list, built)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, accepted):
            raise ValueError(f"a list is wanted here, not {quoted(value)}")
        if one_by_one:
            if len(value) != len(items):
                raise ValueError(f"a list of {len(items)} is wanted here, not one of {len(value)}")
            return tuple(_item(built, *one) for one in zip(range(len(items)), value, items, strict=True))
        return _SEQUENCES[kind](structure(value, list))

    return hook


def _item(built: Converter, index: int, value: Any, cls: Any) -> Any:
    try:
        return built.structure(value, cls)
    except (BaseValidationError, ForbiddenExtraKeysError, ValueError) as error:
        raise next(problems(error, cls, (index,))) from error


def _is_mapping(cls: Any) -> bool:
    return (get_origin(cls) or cls) in (dict, collections.abc.Mapping)


def _mapping_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    structure = mapping_structure_factory(cls if get_args(cls) else dict[Any, Any], built)

    def hook(value: Any, target: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"a table is wanted here, not {quoted(value)}")
        return structure(value, target)

    return hook


def _record_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    structure = built.gen_structure_attrs_fromdict(cls)

    def hook(value: Any, target: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"a table is wanted here, not {quoted(value)}")
        return structure(value, target)

    return hook


def _alternatives(cls: Any) -> tuple[Any, ...]:
    return tuple(one for one in get_args(cls) if one is not type(None))


def _is_choice(cls: Any) -> bool:
    """A union of several types, `None` not counted, that cattrs can't tell apart by their keys."""
    if get_origin(cls) not in (Union, UnionType) or cls == Event:
        return False
    several = _alternatives(cls)
    return len(several) > 1 and not all(attrs.has(one) for one in several)


def _choice_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    """The first type that fits; as each is strict, it is the one that is meant."""

    def hook(value: Any, _: Any) -> Any:
        if value is None and type(None) in get_args(cls):
            return None
        complaints = []
        for one in _alternatives(cls):
            try:
                return built.structure(value, one)
            except (BaseValidationError, ForbiddenExtraKeysError, ValueError) as error:
                complaints += [str(problem) for problem in problems(error, one)]
        raise ValueError("; or: ".join(complaints))

    return hook


def _structure_event(data: Any, _: Any) -> Event:
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        raise ValueError("an event is a table with a text `type`")
    cls = _EVENT_TYPES.get(data["type"])
    if cls is None:
        raise ValueError(f"{quoted(data['type'])} is no kind of event")
    event: Event = converter.structure(_untyped(data), cls)
    return event


def _untyped(data: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in data.items() if key != "type"}


def _unstructure_event(event: Event) -> dict[str, Any]:
    plain = converter.unstructure(event)
    return {"type": EVENT_NAMES[type(event)], **plain}


def _whole_factory(cls: Any, built: Converter) -> Callable[[Any], dict[str, Any]]:
    return make_dict_unstructure_fn(cls, built, _cattrs_omit_if_default=False)


def _in_order(items: collections.abc.Iterable[Any]) -> list[Any]:
    return sorted(items, key=str)


def _build() -> Converter:
    built = Converter(
        forbid_extra_keys=True,
        detailed_validation=True,
        omit_if_default=True,
        unstruct_collection_overrides={collections.abc.Set: _in_order},
    )
    # By class: cattrs has hooks of its own for these, which a predicate would not come before.
    for scalar, hook in ((bool, _strict_bool), (int, _strict_int), (float, _strict_float), (str, _strict_str)):
        built.register_structure_hook(scalar, partial(_strict_scalar, scalar, hook))
    built.register_structure_hook(Path, _path)
    built.register_unstructure_hook(Path, str)
    built.register_structure_hook_func(_is_enum, _strict_enum)
    built.register_structure_hook_func(_is_literal, _strict_literal)
    built.register_structure_hook_factory(_is_sequence, _sequence_factory)
    built.register_structure_hook_factory(_is_mapping, _mapping_factory)
    built.register_structure_hook_factory(attrs.has, _record_factory)
    built.register_structure_hook_factory(_is_choice, _choice_factory)
    built.register_structure_hook_func(lambda cls: cls == Event, _structure_event)
    built.register_unstructure_hook_func(lambda cls: cls == Event, _unstructure_event)
    built.register_unstructure_hook_factory(lambda cls: cls in WHOLE, _whole_factory)
    return built


converter = _build()
"""For code that adds hooks of its own: copy it, don't change it."""


def to_plain(record: Any) -> Any:
    """Turn a record, or a list of records, into plain data; what equals its default is left out, but see `WHOLE`."""
    if type(record) in EVENT_NAMES:
        return _unstructure_event(record)
    if isinstance(record, list | tuple):
        return [to_plain(one) for one in record]
    return converter.unstructure(record)


def from_plain(data: Any, cls: type[T]) -> T:
    """Turn plain data into a record, strictly; an event of a known kind may come with its `type`, as it is written.

    Raises:
        RecordError: the data doesn't fit; the error has the path to the key, what was found and what is allowed.
    """
    name = EVENT_NAMES.get(cls)
    if name is not None and isinstance(data, Mapping) and data.get("type") == name:
        data = _untyped(data)
    try:
        return converter.structure(data, cls)
    except (BaseValidationError, ForbiddenExtraKeysError, ValueError, TypeError, KeyError) as error:
        raise next(problems(error, cls)) from error


def problems(error: BaseException, cls: type, path: tuple[str | int, ...] = ()) -> Iterator[RecordError]:
    """Every single thing that is wrong in a failed conversion, each with the path to its key.

    Unknown keys come first: a misspelt key is the cause, the key that is missing for it the consequence.
    """
    if isinstance(error, BaseValidationError):
        for inner in sorted(error.exceptions, key=lambda one: not isinstance(one, ForbiddenExtraKeysError)):
            missing = _missing(inner)
            if missing is not None:
                yield RecordError(f"`{missing}` is missing", path=path)
            else:
                yield from problems(inner, error.cl, path + _step(inner))
    elif isinstance(error, ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl)]
        for key in sorted(map(str, error.extra_fields)):
            near = difflib.get_close_matches(key, known, n=1)
            others = f"known keys: {', '.join(known)}" if known else "there are no keys here"
            yield RecordError(
                f"unknown key `{key}`", path=(*path, key), hint=f"did you mean `{near[0]}`?" if near else others
            )
    elif isinstance(error, RecordError):
        yield RecordError(error.message, path=(*path, *error.path), hint=error.hint)
    else:
        yield RecordError(str(error) or type(error).__name__, path=path)


def _notes(error: BaseException) -> Iterator[AttributeValidationNote | IterableValidationNote]:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote | IterableValidationNote):
            yield note


def _missing(error: BaseException) -> str | None:
    """The key that a record lacks, if that is the error."""
    note = next(_notes(error), None)
    lacks = isinstance(error, KeyError) and isinstance(note, AttributeValidationNote) and error.args == (note.name,)
    return note.name if lacks and isinstance(note, AttributeValidationNote) else None


def _step(error: BaseException) -> tuple[str | int, ...]:
    for note in _notes(error):
        return (note.name,) if isinstance(note, AttributeValidationNote) else (note.index,)
    return ()


_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def dumps(data: Any) -> str:
    """One line of strict JSON; anything that is no text comes out escaped.

    Raises:
        ValueError: there is NaN or Infinity in it.
    """
    return _encode(data)
