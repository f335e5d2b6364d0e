"""Strategies for every record that is stored or sent, made of the types of its fields, so that none is left out."""

from __future__ import annotations

import importlib
import pkgutil
import re
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
import quintain.model
from hypothesis import strategies as st
from quintain.model.campaign import Constraint, Repetitions, Split, candidate_id, share
from quintain.model.case import Case
from quintain.model.events import Event
from quintain.model.limits import Retry
from quintain.model.outcome import Failure
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.usage import Cost, CostState

EVENTS: tuple[type, ...] = get_args(Event)
"""Every kind of event."""


def _records() -> tuple[type, ...]:
    modules = [
        importlib.import_module(f"quintain.model.{one.name}") for one in pkgutil.iter_modules(quintain.model.__path__)
    ]
    found = {cls: None for one in modules for cls in vars(one).values() if isinstance(cls, type) and attrs.has(cls)}
    return tuple(cls for cls in found if cls.__module__.startswith("quintain.model."))


RECORDS = _records()
"""Every record of the model."""

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

texts = st.text(
    st.sampled_from('\x00\x1b\n\r\u2028"\\/é☕🎉\ud83d\udcb2\udcff') | st.characters(codec=None, exclude_categories=()),
    max_size=8,
).filter(lambda text: not _PAIR.search(text))
"""Also lone surrogates; not two of them that together stand for a character, which JSON can't tell from it."""

numbers = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
_positive = st.floats(1e-3, 1e9)

costs = st.one_of(
    st.builds(Cost.known, st.floats(0, 1e6)),
    st.builds(Cost, st.just(CostState.ESTIMATED), st.floats(0, 1e6)),
    st.builds(Cost.at_least, st.none() | st.floats(0, 1e6)),
    st.just(Cost.free()),
)
_retries = st.builds(
    Retry,
    attempts=st.integers(1, 9),
    base_s=st.dictionaries(st.sampled_from([one.value for one in Failure]), _positive, max_size=3),
    longest_s=_positive,
)


def of(hint: Any, *, bounded: bool = False) -> st.SearchStrategy[Any]:
    """Values of a type as the annotations of records name them.

    Args:
        hint: the type.
        bounded: a validator wants a number above 0.
    """
    origin, args = get_origin(hint), get_args(hint)
    if hint in _SIMPLE:
        return (
            _positive
            if bounded and hint is float
            else st.integers(1, 2**40)
            if bounded and hint is int
            else _SIMPLE[hint]
        )
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of([of(one, bounded=bounded) for one in args])
    if origin is tuple:
        return st.lists(of(args[0]), max_size=2).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(of(args[0]), of(args[1]), max_size=2)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return st.deferred(lambda: _record(hint))


def _record(cls: type[Any]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{one.name: _field(one, hints[one.name]) for one in attrs.fields(cls)})


def _field(attribute: attrs.Attribute[Any], hint: Any) -> st.SearchStrategy[Any]:
    if attribute.validator is candidate_id:
        return st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
    if attribute.validator is share:
        return st.floats(0.01, 0.99) | (st.none() if NoneType in get_args(hint) else st.nothing())
    return of(hint, bounded=bool(attribute.validator))


_SIMPLE: Mapping[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    NoneType: st.none(),
    bool: st.booleans(),
    int: st.integers(),
    float: numbers,
    str: texts,
    Path: st.text("abc/._é\udcff", min_size=1, max_size=8).map(Path),
    Cost: costs,
    Retry: _retries,
    Repetitions: st.builds(Repetitions, search=st.integers(1, 3), promotion=st.integers(3, 9)),
    Constraint: st.builds(Constraint, metric=texts, max=numbers, confidence=st.none() | st.floats(0.01, 0.99)),
    Split: st.just(Split((Case("a", "Do it."),))),
    Profile: st.just(Profile("fast", Plug("subprocess", {"command": ["true"]}))),
}
