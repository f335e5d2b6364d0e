"""One converter between records and plain data: strict on the way in, JSON-safe on the way out.

Plain data is what JSON holds. Bytes that are no text travel in strings as lone surrogates, which JSON escapes.
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
from typing import Any, TypeVar, get_args, get_origin

import attrs
from cattrs import AttributeValidationNote, Converter, IterableValidationNote
from cattrs.cols import list_structure_factory, mapping_structure_factory
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from quintain.errors import RecordError
from quintain.model.events import EVENT_NAMES, Event

T = TypeVar("T")

_EVENT_TYPES: Mapping[str, type] = {name: cls for cls, name in EVENT_NAMES.items()}


def _strict_bool(value: Any, _: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is wanted here, not {value!r}")
    return value


def _strict_int(value: Any, _: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"a whole number is wanted here, not {value!r}")
    return value


def _strict_float(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number is wanted here, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"a finite number is wanted here, not {value!r}")
    return float(value)


def _strict_str(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"text is wanted here, not {value!r} ({type(value).__name__})")
    return value


def _is_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, Enum)


def _strict_enum(value: Any, cls: type[Enum]) -> Enum:
    try:
        return cls(value)
    except ValueError:
        raise ValueError(f"{value!r} is none of {', '.join(repr(member.value) for member in cls)}") from None


def _strict_scalar(scalar: type, hook: Callable[[Any, Any], Any], value: Any, cls: Any) -> Any:
    """What is registered for a class also gets its subclasses, as enumerations of strings."""
    return hook(value, cls) if cls is scalar else _strict_enum(value, cls)


def _path(value: Any, _: Any) -> Path:
    return value if isinstance(value, Path) else Path(_strict_str(value, str))


def _sequence_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    """A text is a sequence of characters to Python, never to a person who wrote it where a list is wanted."""
    as_list: Any = list[get_args(cls)[0]]  # type: ignore[misc]  # a type made at run time
    structure = list_structure_factory(as_list, built)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError(f"a list is wanted here, not {value!r}")
        return tuple(structure(value, list))

    return hook


def _mapping_hook_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    structure = mapping_structure_factory(cls, built)

    def hook(value: Any, target: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"a table is wanted here, not {value!r}")
        return structure(value, target)

    return hook


def _record_factory(cls: Any, built: Converter) -> Callable[[Any, Any], Any]:
    structure = built.gen_structure_attrs_fromdict(cls)

    def hook(value: Any, target: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"a table is wanted here, not {value!r}")
        return structure(value, target)

    return hook


def _structure_event(data: Any, _: Any) -> Event:
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        raise ValueError("an event is an object with a text `type`")
    cls = _EVENT_TYPES.get(data["type"])
    if cls is None:
        raise ValueError(f"{data['type']!r} is no kind of event")
    event: Event = converter.structure({key: value for key, value in data.items() if key != "type"}, cls)
    return event


def _unstructure_event(event: Event) -> dict[str, Any]:
    plain = converter.unstructure(event)
    return {"type": EVENT_NAMES[type(event)], **plain}


def _build() -> Converter:
    built = Converter(forbid_extra_keys=True, detailed_validation=True, omit_if_default=True)
    # By class: cattrs has hooks of its own for these, which a predicate would not come before.
    for scalar, hook in ((bool, _strict_bool), (int, _strict_int), (float, _strict_float), (str, _strict_str)):
        built.register_structure_hook(scalar, partial(_strict_scalar, scalar, hook))
    built.register_structure_hook(Path, _path)
    built.register_unstructure_hook(Path, str)
    built.register_structure_hook_func(_is_enum, _strict_enum)
    built.register_structure_hook_factory(_is_open_tuple, _sequence_factory)
    built.register_structure_hook_factory(_is_mapping, _mapping_hook_factory)
    built.register_structure_hook_factory(attrs.has, _record_factory)
    built.register_structure_hook_func(lambda cls: cls == Event, _structure_event)
    built.register_unstructure_hook_func(lambda cls: cls == Event, _unstructure_event)
    return built


def _is_open_tuple(cls: Any) -> bool:
    return get_origin(cls) is tuple and len(get_args(cls)) == 2 and get_args(cls)[1] is Ellipsis


def _is_mapping(cls: Any) -> bool:
    return get_origin(cls) in (dict, collections.abc.Mapping)


converter = _build()
"""For code that adds hooks of its own: copy it, don't change it."""


def to_plain(record: Any) -> Any:
    """Turn a record, or a container of records, into plain data; what equals its default is left out."""
    return _unstructure_event(record) if type(record) in EVENT_NAMES else converter.unstructure(record)


def from_plain(data: Any, cls: type[T]) -> T:
    """Turn plain data into a record, strictly.

    Raises:
        RecordError: the data doesn't fit; the error has the path to the key, what was found and what is allowed.
    """
    try:
        return converter.structure(data, cls)
    except (BaseValidationError, ForbiddenExtraKeysError, ValueError, TypeError, KeyError) as error:
        # A misspelt key is the cause, the key that is missing for it the consequence.
        found = sorted(problems(error, cls), key=lambda problem: problem.message.endswith("is missing"))
        raise found[0] from error


def problems(error: BaseException, cls: type, path: tuple[str | int, ...] = ()) -> Iterator[RecordError]:
    """Every single thing that is wrong in a failed conversion, each with the path to its key."""
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from problems(inner, error.cl, path + _step(inner))
    elif isinstance(error, ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl)]
        for key in sorted(error.extra_fields):
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}"
            yield RecordError(f"unknown key `{key}`", path=(*path, key), hint=hint)
    elif isinstance(error, KeyError):
        yield RecordError(f"`{error.args[0]}` is missing", path=path)
    elif isinstance(error, RecordError):
        yield RecordError(error.message, path=(*path, *error.path), hint=error.hint)
    else:
        yield RecordError(str(error), path=path)


def _step(error: BaseException) -> tuple[str | int, ...]:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            # A missing key is said of the record that lacks it.
            return () if isinstance(error, KeyError) else (note.name,)
        if isinstance(note, IterableValidationNote):
            return (note.index,)
    return ()


_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def dumps(data: Any) -> str:
    """One line of strict JSON; anything that is no text comes out escaped, NaN and Infinity are refused."""
    return _encode(data)
