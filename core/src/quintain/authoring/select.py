"""Choosing among cases by id, by tag and by an expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from attrs import frozen

from quintain.authoring._structure import nearest
from quintain.errors import UsageError
from quintain.model.case import Case

_Test: TypeAlias = Callable[[Case], bool]

_TOKEN = re.compile(r"""\s*(?:(?P<sign>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_OPERATORS = ("and", "or", "not", "(", ")")


def select(
    cases: Sequence[Case],
    *,
    ids: Sequence[str] = (),
    tags: Sequence[str] = (),
    expression: str | None = None,
) -> tuple[Case, ...]:
    """The cases that fit all that is asked for, in their order.

    Args:
        cases: to choose from.
        ids: whole ids, or patterns with `*` and `?`; one of them must fit.
        tags: one of them must be among the case's tags.
        expression: words, joined by `and`, `or`, `not` and parentheses. A word fits if it is part of the id or of a
            tag; capitals don't matter. What has blanks or parentheses in it stands in quotes.

    Raises:
        UsageError: the expression can't be read, or an id is not there.
    """
    test = _parse(expression) if expression is not None else _anything
    chosen = [case for case in cases if test(case) and (not tags or set(tags) & set(case.tags))]
    if not ids:
        return tuple(chosen)
    known = [case.id for case in cases]
    for id in ids:
        if not any(fits(one, id) for one in known):
            raise UsageError(f"there is no case `{id}`", hint=nearest(id, known))
    return tuple(case for case in chosen if any(fits(case.id, id) for id in ids))


def fits(id: str, pattern: str) -> bool:
    """Whether an id is meant by a whole id or a pattern with `*` and `?`."""
    # Brackets are part of ids, so they can't stand for a set of characters.
    return id == pattern or fnmatchcase(id, pattern.replace("[", "[[]"))


def _anything(case: Case) -> bool:
    return True


def _parse(expression: str) -> _Test:
    tokens = _tokens(expression)
    parser = _Parser(expression, tokens)
    test, at = parser.any_of(0)
    if at < len(tokens):
        raise parser.error(at, "`and` or `or` is wanted")
    return test


@frozen
class _Token:
    text: str
    at: int
    quoted: bool = False

    def is_(self, *operators: str) -> bool:
        return not self.quoted and self.text in operators


def _tokens(expression: str) -> list[_Token]:
    found, at = [], 0
    while expression[at:].strip():
        token = _TOKEN.match(expression, at)
        if token is None:
            raise UsageError(f"`{expression}` has a quote that is not closed")
        kind = str(token.lastgroup)
        found.append(_Token(token[kind], token.start(kind), quoted=kind in ("single", "double")))
        at = token.end()
    return found


@frozen
class _Parser:
    expression: str
    tokens: list[_Token]

    def any_of(self, at: int) -> tuple[_Test, int]:
        test, at = self.all_of(at)
        while at < len(self.tokens) and self.tokens[at].is_("or"):
            other, at = self.all_of(at + 1)
            test = _either(test, other)
        return test, at

    def all_of(self, at: int) -> tuple[_Test, int]:
        test, at = self.one(at)
        while at < len(self.tokens) and self.tokens[at].is_("and"):
            other, at = self.one(at + 1)
            test = _both(test, other)
        return test, at

    def one(self, at: int) -> tuple[_Test, int]:
        if at < len(self.tokens) and self.tokens[at].is_("not"):
            test, at = self.one(at + 1)
            return _negated(test), at
        if at < len(self.tokens) and self.tokens[at].is_("("):
            test, at = self.any_of(at + 1)
            if at == len(self.tokens) or not self.tokens[at].is_(")"):
                raise self.error(at, "`)` is wanted")
            return test, at + 1
        if at == len(self.tokens) or self.tokens[at].is_(*_OPERATORS):
            raise self.error(at, "a word is wanted")
        return _word(self.tokens[at].text), at + 1

    def error(self, at: int, wanted: str) -> UsageError:
        if at == len(self.tokens):
            return UsageError(f"`{self.expression}` ends too early: {wanted}")
        token = self.tokens[at]
        return UsageError(f"in `{self.expression}`, {wanted} at character {token.at + 1}, not `{token.text}`")


def _word(word: str) -> _Test:
    low = word.lower()
    return lambda case: any(low in text.lower() for text in (case.id, *case.tags))


def _either(one: _Test, other: _Test) -> _Test:
    return lambda case: one(case) or other(case)


def _both(one: _Test, other: _Test) -> _Test:
    return lambda case: one(case) and other(case)


def _negated(test: _Test) -> _Test:
    return lambda case: not test(case)
