"""The preflight of a campaign: each way to run is tried, and paid for, before the first trial."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import anyio
from attrs import evolve, frozen

from quintain.campaign.account import NOTHING, Account, Charge, bound_charge
from quintain.campaign.ledger import Ledger
from quintain.campaign.ready import Ready
from quintain.campaign.runner import charge_for
from quintain.campaign.schedule import Slot
from quintain.campaign.settled import charge_body
from quintain.errors import StoreError
from quintain.model.campaign import BASELINE
from quintain.model.trial import Allowance, Attempt, TrialOrder
from quintain.plugins import Plugins
from quintain.runs.control import Control
from quintain.runs.preflight import FOLDER, Flight, Preflight, failure_of, flights_of, fly
from quintain.trial.bench import Bench

AROUND = "Once that is mended, resume the campaign; --no-preflight runs it as it is."


@frozen
class Tower:
    """What the flights of a campaign share.

    Attributes:
        ledger: where what they cost is written.
        account: the budget that they draw on; they count as no trials.
        control: stops them, and is stopped by them.
        bench: where they run.
        told: of each when it is over.
    """

    ledger: Ledger
    account: Account
    control: Control
    bench: Bench
    told: Callable[[Preflight], Awaitable[None]]

    async def through(self, ready: Ready, plugins: Plugins, *, concurrency: int) -> None:
        """Try every way to run; one that does not work stops the campaign before any trial.

        Args:
            ready: the campaign, with its baseline admitted.
            plugins: where plugins come from.
            concurrency: how many are tried at once.

        Raises:
            QuintainError: what a driver declares can't be run.
        """
        found: list[Preflight] = []
        limit = anyio.CapacityLimiter(concurrency)

        async def one(flight: Flight) -> None:
            async with limit:
                try:
                    came = await self._fly(flight)
                except StoreError as error:
                    self.control.drain("stopped", f"the ledger does not take more: {error}")
                    return
            if came is not None:
                found.append(came)
                await self.told(came)

        async with anyio.create_task_group() as group:
            for flight in flights_of(_orders(ready), plugins):
                group.start_soon(one, flight)
        words = failure_of(found)
        if words is not None:
            self.control.drain("stopped", f"{words} {AROUND}")

    async def _fly(self, flight: Flight) -> Preflight | None:
        """Promise, try, settle. Raises StoreError."""
        if flight.prepared is None:
            return Preflight(flight)
        bound = flight.order.allowance
        if self.control.draining or not await self._promised(flight.name, _charge(bound)):
            return None
        bench = evolve(self.bench, admits=self._again)
        came = await fly(flight, bench, self.ledger.directory / FOLDER)
        charge = NOTHING
        if came.report is not None:
            charge = evolve(charge_for(came.report, came.report.attempts, bound), attempts=0)
        self.account.settle(flight.name, charge)
        with anyio.CancelScope(shield=True):
            await self.ledger.add(("preflight", flight.name, {"charge": charge_body(charge), **_body(came)}))
        return came

    async def _promised(self, name: str, charge: Charge) -> bool:
        refusal = await self.account.admit(name, charge)
        if refusal is not None:
            self.control.drain("budget", refusal)
            return False
        await self.ledger.add(_began(name, charge))
        return True

    async def _again(self, order: TrialOrder, failed: Attempt) -> bool:
        """Whether another attempt may be made, which costs again."""
        another = self.account.standing.promised.get(order.trial, NOTHING) + _charge(order.allowance)
        if self.control.draining or self.account.promise(order.trial, another) is not None:
            return False
        await self.ledger.add(_began(order.trial, another))
        return True


def _charge(bound: Allowance) -> Charge:
    return evolve(bound_charge(bound), attempts=0)


def _began(name: str, charge: Charge) -> tuple[str, str, dict[str, object]]:
    return ("preflight_began", name, {"charge": charge_body(charge)})


def _body(came: Preflight) -> dict[str, object]:
    outcome = came.report.outcome.describe() if came.report is not None else None
    return {
        "profiles": list(came.flight.profiles),
        "driver": came.flight.order.driver.name,
        "outcome": outcome,
        "problems": list(came.problems),
        "duration_s": round(came.duration_s, 3),
    }


def _orders(ready: Ready) -> Iterator[TrialOrder]:
    """One order of the baseline for each case and profile, with what a trial of it may spend."""
    for template in ready.templates:
        case, profile = template.order.case.id, template.order.profile
        bound = ready.campaign.budget.bounds.get(profile, Allowance())
        yield ready.order(Slot(BASELINE, "", case, profile, 1), bound)[0]
