"""Adds up what an agent reports of its usage, each model call once."""

from __future__ import annotations

import math
from collections.abc import Iterable

from quintain.model.usage import Cost, CostState, Spend, Tokens, Usage, sum_costs

TOLERANCE = 0.01
"""A difference between an agent's total and the sum of its calls beyond this share is reported."""


class SpendMeter:
    """Collects reports; `spend` can be asked for at any time.

    Of several reports with one id the last counts. A report of scope "total" is the agent's own sum: it wins over the
    sum of the calls before it, both are compared, and calls that come after it are added.
    """

    def __init__(self) -> None:
        self._calls: dict[str, Usage] = {}
        self._totals: dict[str | None, Usage] = {}
        self._late: dict[str, Usage] = {}
        self._problems: dict[str, None] = {}

    def add(self, usage: Usage) -> None:
        """Take one report."""
        if usage.problem:
            self._problems[usage.problem] = None
        if usage.scope == "total":
            self._totals[usage.agent] = usage
            return
        id = usage.id if usage.id is not None else f"#{len(self._calls)}"
        if self._totals and id not in self._calls:
            self._late[id] = usage
        self._calls[id] = usage

    @property
    def seen(self) -> bool:
        """Something was reported."""
        return bool(self._calls or self._totals)

    @property
    def tokens(self) -> int | None:
        """All tokens so far, or None if none are known."""
        known = self._total() if self._totals else _sum(self._calls.values())
        return known[0].total if known[0] is not None else None

    @property
    def usd(self) -> float | None:
        """Money so far, as far as it is known."""
        return (self._total() if self._totals else _sum(self._calls.values()))[1].usd

    def spend(self, *, complete: bool) -> Spend:
        """What was used so far.

        Args:
            complete: the agent came to its end; otherwise what is known is a lower bound.
        """
        if not self.seen:
            # An agent that reports nothing has spent an unknown amount, not nothing.
            return Spend(tokens=None, cost=Cost(), complete=False, problems=tuple(self._problems))
        tokens, cost, whole = self._total() if self._totals else _sum(self._calls.values())
        if not (complete and whole) and cost.state in (CostState.KNOWN, CostState.ESTIMATED):
            cost = Cost.at_least(cost.usd)
        return Spend(tokens, cost, len(self._calls), complete and whole, tuple(self._problems))

    def _total(self) -> tuple[Tokens | None, Cost, bool]:
        early = [usage for id, usage in self._calls.items() if id not in self._late]
        calls, total = _sum(early), _sum(self._totals.values())
        if early and calls[0] is not None and total[0] is not None:
            self._compare(calls[0], total[0])
        tokens = total[0] if total[0] is not None else calls[0] if early else None
        cost = calls[1] if early and total[1].usd is None else total[1]
        whole = total[2] or (bool(early) and calls[2])
        if not self._late:
            return tokens, cost, whole
        late = _sum(self._late.values())
        both = tokens + late[0] if tokens is not None and late[0] is not None else tokens
        return both, sum_costs((cost, late[1])), whole and late[2]

    def _compare(self, calls: Tokens, total: Tokens) -> None:
        if not math.isclose(calls.total, total.total, rel_tol=TOLERANCE):
            text = f"the agent's total of {total.total} tokens differs from the sum of its calls, {calls.total}"
            self._problems[text] = None


def _sum(usages: Iterable[Usage]) -> tuple[Tokens | None, Cost, bool]:
    """Tokens, cost, and whether all tokens are known."""
    parts = tuple(usages)
    known = [usage.tokens for usage in parts if usage.tokens is not None]
    tokens = sum(known, Tokens()) if known else None
    return tokens, sum_costs(usage.cost for usage in parts), len(known) == len(parts)
