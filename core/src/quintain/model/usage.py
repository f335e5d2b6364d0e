"""Tokens and money in one normal form, in which unknown is never zero.

Buckets are disjoint: a token is counted in exactly one of `input`, `cache_read`, `cache_write` and `output`;
`reasoning` says how many of the output tokens were reasoning. Agents report in dialects (some count cached tokens
inside the input, some beside it): each driver declares its dialect by calling `disjoint` or `inclusive`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from attrs import evolve, field, frozen

from quintain.errors import RecordError
from quintain.model.bounds import at_least
from quintain.model.plain import quoted

SANE_TOKENS = 10**11
"""A single report of more tokens than this is taken for a fault of the reporter."""
SANE_USD = 1e9
"""Likewise for money."""

NOT_NEGATIVE = at_least(0)


@frozen
class Tokens:
    """Token counts, each at least 0."""

    input: int = field(default=0, validator=NOT_NEGATIVE)
    cache_read: int = field(default=0, validator=NOT_NEGATIVE)
    cache_write: int = field(default=0, validator=NOT_NEGATIVE)
    output: int = field(default=0, validator=NOT_NEGATIVE)
    reasoning: int = field(default=0, validator=NOT_NEGATIVE)

    @property
    def total(self) -> int:
        """All tokens, each counted once."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


class CostState(StrEnum):
    """How much is known about a price."""

    KNOWN = "known"
    """The agent or provider reported it."""
    ESTIMATED = "estimated"
    """Computed from tokens and a price table."""
    UNKNOWN = "unknown"
    """Something was spent and nobody knows how much; `usd` is a lower bound or None."""
    FREE = "free"
    """Declared to cost nothing, or nothing was spent."""


@frozen
class Cost:
    """Money in US dollars.

    Attributes:
        state: how much is known.
        usd: the amount; for `UNKNOWN` the part that is known (a lower bound) or None if no part is.
    """

    state: CostState = CostState.UNKNOWN
    usd: float | None = field(default=None, validator=NOT_NEGATIVE)

    def __attrs_post_init__(self) -> None:
        if self.usd is None and self.state is not CostState.UNKNOWN:
            raise RecordError(f"an amount is wanted for a cost that is {self.state}", path=("usd",))
        if self.usd and self.state is CostState.FREE:
            raise RecordError(f"what is free doesn't cost ${self.usd}", path=("usd",))

    @classmethod
    def known(cls, usd: float) -> Cost:
        """A reported amount; 0 is a real zero."""
        return cls(CostState.KNOWN, usd)

    @classmethod
    def free(cls) -> Cost:
        """Nothing was spent."""
        return cls(CostState.FREE, 0.0)

    @classmethod
    def at_least(cls, usd: float | None) -> Cost:
        """An unknown amount of which a part is known; to know of a part that it is 0 is to know nothing."""
        return cls(CostState.UNKNOWN, usd or None)

    def describe(self) -> str:
        """For people: `$0.0123`, `about $0.0123`, `unknown (at least $0.0100)`, `free`."""
        if self.state is CostState.FREE:
            return "free"
        amount = f"${self.usd or 0:.4f}"
        if self.state is CostState.UNKNOWN:
            return f"unknown (at least {amount})" if self.usd else "unknown"
        return f"about {amount}" if self.state is CostState.ESTIMATED else amount


def sum_costs(costs: Iterable[Cost]) -> Cost:
    """Add costs; one unknown part makes the whole unknown, with the known parts as its lower bound."""
    parts = [part for part in costs if part.state is not CostState.FREE]
    if len(parts) <= 1:
        return parts[0] if parts else Cost.free()
    usd = math.fsum(part.usd for part in parts if part.usd is not None)
    states = {part.state for part in parts}
    if CostState.UNKNOWN in states:
        return Cost.at_least(usd)
    return Cost(CostState.ESTIMATED if CostState.ESTIMATED in states else CostState.KNOWN, usd)


@frozen
class Usage:
    """One report of what was used, as a driver understood it.

    Attributes:
        tokens: None if they are unknown.
        cost: the amount the agent itself reported; unknown if it didn't.
        model: the model that served the call.
        id: identity of the model call (a message id); of several reports with one id the last counts.
        scope: "call" for one model call, "total" for the agent's own sum over its whole run.
        agent: the subagent that made the call, or None for the main agent.
        problem: why tokens or cost were refused and count as unknown.
    """

    tokens: Tokens | None = None
    cost: Cost = field(factory=Cost)
    model: str | None = None
    id: str | None = None
    scope: Literal["call", "total"] = "call"
    agent: str | None = None
    problem: str | None = None


@frozen
class Spend:
    """What an attempt, a trial or a run used.

    Attributes:
        tokens: None if nothing about them is known.
        cost: money.
        calls: model calls that were seen.
        complete: False if more was used than was reported (killed before its totals, or a part unknown): every
            number is then a lower bound.
        problems: what was wrong with the reports.
    """

    tokens: Tokens | None = None
    cost: Cost = field(factory=Cost.free)
    calls: int = 0
    complete: bool = True
    problems: tuple[str, ...] = ()


NO_SPEND = Spend(tokens=Tokens())


def sum_spend(spends: Iterable[Spend]) -> Spend:
    """Add spends; the sum is complete only if each part is, and if the tokens of each are known."""
    parts = [spend for spend in spends if spend is not NO_SPEND]
    if len(parts) <= 1 and all(part.tokens is not None for part in parts):
        return parts[0] if parts else NO_SPEND
    known = [part.tokens for part in parts if part.tokens is not None]
    whole = len(known) == len(parts)
    tokens = sum(known, Tokens())
    return Spend(
        tokens=tokens if whole or tokens != Tokens() else None,
        cost=sum_costs(part.cost for part in parts),
        calls=sum(part.calls for part in parts),
        complete=whole and all(part.complete for part in parts),
        problems=tuple(dict.fromkeys(problem for part in parts for problem in part.problems)),
    )


def _checked(counts: dict[str, object]) -> dict[str, int] | str:
    """The counts, or what is wrong with the first that can't be one."""
    checked: dict[str, int] = {}
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int):
            return f"{name} is not a whole number: {quoted(count)}"
        if count < 0:
            return f"{name} is negative: {quoted(count)}"
        if count > SANE_TOKENS:
            return f"{name} is beyond any sane bound: {quoted(count)}"
        checked[name] = count
    return checked


def disjoint(
    *,
    input: object = 0,
    cache_read: object = 0,
    cache_write: object = 0,
    output: object = 0,
    reasoning: object = 0,
) -> tuple[Tokens | None, str | None]:
    """Tokens from counts in which the cache stands beside the input. Never raises.

    Args:
        input: uncached input tokens, straight from the agent, whatever their type.
        cache_read: input tokens read from a cache.
        cache_write: input tokens written to a cache.
        output: output tokens, reasoning included.
        reasoning: how many of the output tokens were reasoning.

    Returns:
        The tokens and None, or None and the reason why the report can't be true.
    """
    counts = {"input": input, "cache_read": cache_read, "cache_write": cache_write, "output": output}
    checked = _checked({**counts, "reasoning": reasoning})
    if isinstance(checked, str):
        return None, checked
    tokens = Tokens(**checked)
    if tokens.reasoning > tokens.output:
        return None, f"reasoning ({tokens.reasoning}) exceeds output ({tokens.output})"
    return tokens, None


def inclusive(
    *,
    input: object = 0,
    cache_read: object = 0,
    cache_write: object = 0,
    output: object = 0,
    reasoning: object = 0,
) -> tuple[Tokens | None, str | None]:
    """Tokens from counts in which the input includes what was read from and written to the cache. Never raises.

    Arguments and result are those of `disjoint`, except that `input` is the whole.
    """
    tokens, problem = disjoint(
        input=input, cache_read=cache_read, cache_write=cache_write, output=output, reasoning=reasoning
    )
    if tokens is None:
        return None, problem
    uncached = tokens.input - tokens.cache_read - tokens.cache_write
    if uncached < 0:
        return None, f"cached tokens exceed the input ({tokens.input}) that should include them"
    return evolve(tokens, input=uncached), None


def reported_cost(usd: object) -> tuple[Cost, str | None]:
    """The cost that an agent reported, or unknown with the reason; None means that it said nothing. Never raises."""
    if usd is None:
        return Cost(), None
    if isinstance(usd, bool) or not isinstance(usd, int | float):
        return Cost(), f"cost is not a number: {quoted(usd)}"
    if not 0 <= usd <= SANE_USD:
        return Cost(), f"cost is not a sane amount: {quoted(usd)}"
    return Cost.known(float(usd)), None
