"""Assertions made of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen
from quintain import Assertion, AssertionSpec, Evidence, Status, Verdict, assertion_from_table

from quintain_assertions._common import not_empty


def _nested(tables: Sequence[Mapping[str, Any]]) -> tuple[Assertion, ...]:
    return tuple(table if isinstance(table, Assertion) else assertion_from_table(table) for table in tables)


def _nested_one(table: Mapping[str, Any]) -> Assertion:
    return _nested([table])[0]


@frozen
class Several:
    """`assertions`, each a table as at the top."""

    assertions: tuple[Any, ...] = field(validator=not_empty, converter=_nested)


@frozen
class AtLeast:
    """At least `n` of `assertions`."""

    n: int
    assertions: tuple[Any, ...] = field(validator=not_empty, converter=_nested)

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.n <= len(self.assertions):
            raise ValueError(f"`n` is {self.n}; it can be 1 to {len(self.assertions)}")


@frozen
class One:
    """The one assertion in `assertion`."""

    assertion: Any = field(converter=_nested_one)


async def _verdicts(assertions: Sequence[Assertion], evidence: Evidence) -> list[Verdict]:
    return [await evidence.evaluate(assertion) for assertion in assertions]


def _at_least(n: int, verdicts: Sequence[Verdict]) -> Verdict:
    passed = sum(verdict.status is Status.PASS for verdict in verdicts)
    open_ = sum(verdict.status is Status.ABSTAIN for verdict in verdicts)
    reason = f"{passed} of {len(verdicts)} passed (wanted: at least {n}); " + "; ".join(
        f"{verdict.status.value}: {verdict.reason}" for verdict in verdicts if verdict.status is not Status.PASS
    )
    if passed >= n:
        return Verdict.passed(reason.rstrip("; "))
    return Verdict.abstain(reason) if passed + open_ >= n else Verdict.failed(reason)


async def _all_of(config: Several, evidence: Evidence) -> Verdict:
    return _at_least(len(config.assertions), await _verdicts(config.assertions, evidence))


async def _any_of(config: Several, evidence: Evidence) -> Verdict:
    return _at_least(1, await _verdicts(config.assertions, evidence))


async def _some_of(config: AtLeast, evidence: Evidence) -> Verdict:
    return _at_least(config.n, await _verdicts(config.assertions, evidence))


async def _not(config: One, evidence: Evidence) -> Verdict:
    verdict = await evidence.evaluate(config.assertion)
    if verdict.status is Status.ABSTAIN:
        return verdict
    return Verdict.of(verdict.status is Status.FAIL, f"not: {verdict.reason}")


def _inside(config: Several | AtLeast) -> Sequence[Assertion]:
    return config.assertions


def _inside_one(config: One) -> Sequence[Assertion]:
    return (config.assertion,)


SPECS = (
    AssertionSpec("all_of", _all_of, Several, nested=_inside, summary="All of several assertions pass."),
    AssertionSpec("any_of", _any_of, Several, nested=_inside, summary="At least one of several passes."),
    AssertionSpec("at_least", _some_of, AtLeast, nested=_inside, summary="At least n of several pass."),
    AssertionSpec("not", _not, One, nested=_inside_one, summary="An assertion fails."),
)
