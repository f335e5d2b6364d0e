"""What a campaign has spent, what it has promised, and whether one more trial fits.

Every attempt is reserved at its upper bound before it begins and settled at what it cost after, so the sum of both is
never above the budget, however many run at once. What can't be known is charged at its bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import anyio
from attrs import field, frozen

from quintain.model.campaign import Budget
from quintain.model.trial import Allowance
from quintain.model.usage import CostState, Spend


@frozen
class Charge:
    """What is counted against a budget.

    Attributes:
        attempts: of trials.
        usd: money, unknown parts at their bound.
        tokens: likewise.
        unpriced: attempts whose cost stayed unknown.
        judge_calls: model calls of graders.
        proposal_calls: model calls of optimizers.
    """

    attempts: int = 0
    usd: float = 0.0
    tokens: int = 0
    unpriced: int = 0
    judge_calls: int = 0
    proposal_calls: int = 0

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            self.attempts + other.attempts,
            math.fsum((self.usd, other.usd)),
            self.tokens + other.tokens,
            self.unpriced + other.unpriced,
            self.judge_calls + other.judge_calls,
            self.proposal_calls + other.proposal_calls,
        )


NOTHING = Charge()


def bound_charge(bound: Allowance) -> Charge:
    """What is reserved for one attempt; abandoned without a bound, nobody knows what it cost."""
    return Charge(attempts=1, usd=bound.usd or 0.0, tokens=bound.tokens or 0, unpriced=int(bound.usd is None))


def charge_of(spend: Spend, bound: Allowance, *, attempts: int = 1, judge_calls: int = 0) -> Charge:
    """What is charged for attempts that are over.

    Args:
        spend: what is known of them.
        bound: the most that one of them may have spent.
        attempts: how many they were.
        judge_calls: model calls of their graders.
    """
    usd, unpriced = spend.cost.usd or 0.0, 0
    if spend.cost.state is CostState.UNKNOWN:
        # Graders make no attempts; what they spent is as unknown.
        usd, unpriced = max(usd, (bound.usd or 0.0) * attempts), attempts or 1
    tokens = spend.tokens.total if spend.tokens is not None else 0
    if spend.tokens is None or not spend.complete:
        tokens = max(tokens, (bound.tokens or 0) * attempts)
    return Charge(attempts, usd, tokens, unpriced, judge_calls)


@frozen
class Standing:
    """A budget, what is spent of it, and what is promised."""

    budget: Budget
    spent: Charge = NOTHING
    promised: Mapping[str, Charge] = field(factory=dict)
    wall_s: float = 0.0

    @property
    def committed(self) -> Charge:
        """Spent and promised together."""
        return sum(self.promised.values(), self.spent)

    def refusal(self, more: Charge, *, settled: bool = False) -> str | None:
        """Why so much more does not fit, or None if it does.

        Args:
            more: what would be promised.
            settled: compare with what is spent alone, as if nothing were promised.
        """
        budget, used = self.budget, self.spent if settled else self.committed
        for name, limit, have, want in (
            ("trials", budget.trials, used.attempts, more.attempts),
            ("usd", budget.usd, used.usd, more.usd),
            ("tokens", budget.tokens, used.tokens, more.tokens),
            ("judge_calls", budget.judge_calls, used.judge_calls, more.judge_calls),
            ("proposal_calls", budget.proposal_calls, used.proposal_calls, more.proposal_calls),
        ):
            # Sums of floats may end a hair above what they mean.
            if limit is not None and want and have + want > limit * (1 + 1e-12):
                return (
                    f"budget.{name}: {_amount(have)} of {_amount(limit)} spent or promised, {_amount(want)} more asked"
                )
            # Nobody can say beforehand how many calls a first grading takes.
            if name == "judge_calls" and limit is not None and more.attempts and have and have >= limit:
                return f"budget.{name}: {_amount(have)} of {_amount(limit)} spent"
        if budget.usd is not None and self.spent.unpriced > budget.unpriced_calls:
            return (
                f"budget.unpriced_calls: the cost of {self.spent.unpriced} attempts is unknown"
                f" ({budget.unpriced_calls} tolerated)"
            )
        if budget.wall_s is not None and self.wall_s >= budget.wall_s:
            return f"budget.wall_s: {self.wall_s:.0f} of {budget.wall_s:.0f} seconds are over"
        return None


def _amount(value: float) -> str:
    return f"{value:.10g}"


class Account:
    """A budget that trials which run at the same time draw on."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._waiting: list[anyio.Event] = []

    @property
    def standing(self) -> Standing:
        """As it is now."""
        return self._standing

    async def admit(self, name: str, more: Charge) -> str | None:
        """Promise a charge, when it fits; waits while it would fit but for what others may not need.

        Args:
            name: what it is for; settled under the same name.
            more: its upper bound.

        Returns:
            None if it is promised, or why it does not fit.
        """
        while True:
            refusal = self.promise(name, more)
            standing = self._standing
            if refusal is None or not standing.promised or standing.refusal(more, settled=True) is not None:
                return refusal
            changed = anyio.Event()
            self._waiting.append(changed)
            await changed.wait()

    def promise(self, name: str, whole: Charge) -> str | None:
        """Promise a charge, or raise a promise to it, if that fits now.

        Returns:
            None if it is promised, or why it does not fit.
        """
        now = self._standing
        others = {key: value for key, value in now.promised.items() if key != name}
        refusal = Standing(now.budget, now.spent, others, now.wall_s).refusal(whole)
        if refusal is None:
            others[name] = whole
            self._hold(now.spent, others)
        return refusal

    def settle(self, name: str, charge: Charge) -> None:
        """Replace a promise by what was really spent."""
        now = self._standing
        self._hold(now.spent + charge, {key: value for key, value in now.promised.items() if key != name})

    def spend_time(self, wall_s: float) -> None:
        """Say how long the campaign has been running."""
        now = self._standing
        self._standing = Standing(now.budget, now.spent, now.promised, wall_s)

    def _hold(self, spent: Charge, promised: Mapping[str, Charge]) -> None:
        now = self._standing
        self._standing = Standing(now.budget, spent, promised, now.wall_s)
        while self._waiting:
            self._waiting.pop().set()
