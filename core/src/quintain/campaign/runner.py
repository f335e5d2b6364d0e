"""Runs the slots of a schedule: so many at once, each promised before it begins and settled when it ends."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

import anyio
from attrs import evolve, frozen

from quintain.campaign.account import NOTHING, Account, Charge, bound_charge, charge_of
from quintain.campaign.backoff import Backoff
from quintain.campaign.ledger import Ledger, New, file_digest, text_digest
from quintain.campaign.metrics import figures_of
from quintain.campaign.ready import Ready
from quintain.campaign.reuse import Reuse, taken
from quintain.campaign.schedule import Slot
from quintain.campaign.settled import Settled, charge_body, settled_body
from quintain.campaign.state import State
from quintain.conditions import Watch
from quintain.errors import StoreError
from quintain.identity.tree import Difference
from quintain.model.outcome import Outcome, OutcomeKind
from quintain.model.plain import Json
from quintain.model.trial import Allowance, Attempt, TrialOrder, TrialReport
from quintain.model.usage import NO_SPEND
from quintain.runs.control import Control, Warden
from quintain.runs.store import EVIDENCE
from quintain.runs.tables import Row
from quintain.trial.bench import Bench
from quintain.trial.trial import run_trial


@frozen
class Settlement:
    """A trial that has just been settled, for those who watch."""

    slot: Slot
    report: TrialReport
    settled: Settled


@frozen
class _Ran:
    """A trial that has run: its order, the number of its template, its report, and the attempts made for it now."""

    order: TrialOrder
    template: int
    report: TrialReport
    attempts: tuple[Attempt, ...]


_NO_BOUND = Allowance()


class Runner:
    """Runs slots for one session of a campaign.

    Args:
        ready: the campaign, prepared.
        ledger: where everything is written.
        state: where the campaign stood when the session began; kept up to date.
        account: the budget.
        watch: looks at the conditions before and after each trial.
        control: stops it from outside.
        bench: where trials run.
        reuse: where equal trials of other campaigns are found.
        concurrency: trials at once.
        heard: told of each trial after it is settled.
    """

    def __init__(
        self,
        ready: Ready,
        ledger: Ledger,
        state: State,
        account: Account,
        watch: Watch,
        control: Control,
        bench: Bench,
        *,
        reuse: Reuse,
        concurrency: int,
        heard: Callable[[Settlement], Awaitable[None]],
    ) -> None:
        self._ready = ready
        self._ledger = ledger
        self._state = state
        self._account = account
        self._watch = watch
        self._control = control
        self._bench = evolve(bench, admits=self._again)
        self._reuse = reuse
        self._concurrency = concurrency
        self._heard = heard
        self._backoff = Backoff()
        self._bounds = dict(ready.campaign.budget.bounds)
        self._gradings: dict[str, Charge] = {}
        for settled in state.settled.values():
            self._recall(settled)
        self._slots: dict[str, Slot] = {}
        self._allowed: dict[str, Allowance] = {}
        self._warden = Warden(control)
        self._began = time.monotonic()
        self._earlier_s = state.wall_s

    async def run(self, slots: Iterable[Slot]) -> None:
        """Run every slot that has no verdict yet, in order, until it is told to stop or the budget ends."""
        todo = iter([slot for slot in slots if not self._has_verdict(slot) and not await self._taken(slot)])
        async with anyio.create_task_group() as group:
            for _ in range(self._concurrency):
                group.start_soon(self._work, todo)

    def _recall(self, settled: Settled) -> None:
        """What an earlier session has learned of the cost of an attempt: at least the mean of those of one trial."""
        profile, spent = settled.figures.profile, settled.charge
        self._grading_took(profile, Charge(judge_calls=spent.judge_calls))
        if spent.attempts and not spent.judge_calls:
            self._raise_bound(profile, spent.usd / spent.attempts, spent.tokens // spent.attempts)

    def _has_verdict(self, slot: Slot) -> bool:
        settled = self._state.settled.get(slot.trial)
        return settled is not None and settled.figures.scored

    async def _taken(self, slot: Slot) -> bool:
        """Take a trial from another campaign, if an equal one ran there; it costs nothing here."""
        key = self._ready.key(slot)
        source = self._reuse.find(key)
        if source is None or self._control.draining or self._state.gives_up(slot.candidate, slot.split):
            return False
        order, template = self._ready.order(slot, self._bound(slot.profile))
        with taken(source, slot.trial, slot.candidate, self._ledger) as report:
            figures = figures_of(report, slot.split, self._ready.clusters.get(slot.case))
            settled = Settled(figures, key, "", reused=f"{source.directory.name} {source.trial}")
            await self._store(slot, order, template.number, report, settled)
        return True

    async def _store(
        self, slot: Slot, order: TrialOrder, template: int, report: TrialReport, settled: Settled, *then: New
    ) -> None:
        """Write a settled trial and what follows from it. Raises StoreError."""
        stored: list[Settled] = []

        def body(row: Row, traces: Sequence[Row]) -> Json:
            stored.append(evolve(settled, report=text_digest(row[-1]), traces=self._digests(traces)))
            return settled_body(stored[-1])

        # What is in the ledger must be in the state: both are decided by, one of them again by whoever verifies.
        with anyio.CancelScope(shield=True):
            await self._ledger.settle(order, template, report, body, *then)
        self._state.settled[slot.trial] = stored[-1]
        await self._heard(Settlement(slot, report, stored[-1]))

    async def _work(self, todo: Iterator[Slot]) -> None:
        slot = await self._promised(self._next(todo))
        while slot is not None:
            await self._backoff.wait(slot.profile, self._control)
            if self._control.draining:
                await self._release(slot)
                return
            if self._state.gives_up(slot.candidate, slot.split):
                # Perhaps since it was promised.
                await self._release(slot)
                slot = await self._promised(self._next(todo))
                continue
            slot = await self._settle(slot, await self._trial(slot), todo)

    def _next(self, todo: Iterator[Slot]) -> Slot | None:
        if self._control.draining:
            return None
        return next((slot for slot in todo if not self._state.gives_up(slot.candidate, slot.split)), None)

    async def _promised(self, slot: Slot | None) -> Slot | None:
        """The slot, once what it may cost is promised, or None if it can't be."""
        if slot is None:
            return None
        if await self._conditions_changed():
            return None
        charge = self._promise(slot)
        self._account.spend_time(self._wall_s())
        refusal = await self._account.admit(slot.trial, charge)
        if refusal is not None:
            self._control.drain("budget", refusal)
            return None
        try:
            await self._ledger.add(_reserved(slot.trial, charge))
        except StoreError as error:
            self._full(error)
            self._account.settle(slot.trial, NOTHING)
            return None
        return slot

    async def _release(self, slot: Slot) -> None:
        """Take back a promise for a trial that was not begun."""
        self._account.settle(slot.trial, NOTHING)
        self._allowed.pop(slot.trial, None)
        try:
            await self._ledger.add(("released", slot.trial, {}))
        except StoreError as error:
            self._full(error)

    def _bound(self, profile: str) -> Allowance:
        return self._bounds.get(profile, _NO_BOUND)

    def _promise(self, slot: Slot) -> Charge:
        """What is promised for a slot: an attempt, and the grading, of which nothing is known before the first.

        The attempt is allowed as much, even if the bound is raised before it begins.
        """
        self._allowed[slot.trial] = bound = self._bound(slot.profile)
        return bound_charge(bound) + self._gradings.get(slot.profile, NOTHING)

    def _wall_s(self) -> float:
        return self._earlier_s + time.monotonic() - self._began

    async def _conditions_changed(self) -> str | None:
        """Why nothing may run any more, if something is not what it was."""
        found = await self._watch.changed()
        if not found:
            return None
        because = conditions_words(found)
        self._control.drain("stopped", because)
        return because

    async def _trial(self, slot: Slot) -> _Ran:
        order, template = self._ready.order(slot, self._allowed.pop(slot.trial))
        earlier: tuple[Attempt, ...] = ()
        if slot.trial in self._state.settled:
            earlier = self._ledger.store.report(slot.trial).attempts
        self._slots[slot.trial] = slot
        report = await run_trial(order, template.prepared, template.fixtures, self._bench, earlier=earlier)
        del self._slots[slot.trial]
        because = await self._conditions_changed()
        if because is not None:
            # What it ran on is not what the others ran on, and nobody can tell since when.
            report = evolve(report, outcome=Outcome(OutcomeKind.INVALID, because))
        return _Ran(order, template.number, report, report.attempts[len(earlier) :])

    async def _again(self, order: TrialOrder, failed: Attempt) -> bool:
        """Whether another attempt may be made, which costs again."""
        slot, bound = self._slots[order.trial], order.allowance
        self._backoff.saw(slot.profile, order.retry, [failed.outcome])
        await self._backoff.wait(slot.profile, self._control)
        promised = self._account.standing.promised.get(order.trial, NOTHING)
        another = promised + bound_charge(bound)
        if self._account.promise(order.trial, another) is not None or self._control.draining:
            return False
        try:
            await self._ledger.add(_reserved(order.trial, another))
        except StoreError as error:
            self._full(error)
            return False
        return True

    async def _settle(self, slot: Slot, ran: _Ran, todo: Iterator[Slot]) -> Slot | None:
        """Settle a trial; the promise for the next is written with it, if it is clear that it fits."""
        order, report = ran.order, ran.report
        charge = charge_for(report, ran.attempts, order.allowance)
        for spend in (attempt.spend.total for attempt in ran.attempts):
            self._raise_bound(slot.profile, spend.cost.usd or 0.0, spend.tokens.total if spend.tokens else 0)
        self._grading_took(slot.profile, graded_charge(report))
        figures = figures_of(report, slot.split, self._ready.clusters.get(slot.case))
        settled = Settled(figures, self._ready.key(slot), "", charge=charge)
        self._account.settle(slot.trial, charge)
        self._account.spend_time(self._wall_s())
        self._backoff.saw(slot.profile, order.retry, [report.outcome])
        self._warden.saw(report.outcome)
        following = self._next(todo)
        promise = self._promise(following) if following else NOTHING
        then: tuple[New, ...] = ()
        if following is not None and self._account.promise(following.trial, promise) is None:
            then = (_reserved(following.trial, promise),)
        try:
            await self._store(slot, order, ran.template, report, settled, *then)
        except StoreError as error:
            self._full(error)
            if following is not None and then:
                # Others may wait for it.
                self._account.settle(following.trial, NOTHING)
            return None
        if following is None or then:
            return following
        return await self._promised(following)

    def _digests(self, traces: Sequence[Row]) -> dict[str, str]:
        """Digests of evidence, wherever it lies."""
        found = {}
        for trial, attempt, *texts in traces:
            for kind, text in zip(EVIDENCE, texts, strict=True):
                if text is not None:
                    found[f"{attempt}.{kind}"] = text_digest(text)
                elif (path := self._ledger.store.evidence_file(trial, attempt, kind)).exists():
                    found[f"{attempt}.{kind}"] = file_digest(path)
        return found

    def _raise_bound(self, profile: str, usd: float, tokens: int) -> None:
        """What one attempt has cost another may cost, whatever was said before."""
        bound = self._bound(profile)
        if bound.usd is not None and usd > bound.usd:
            bound = evolve(bound, usd=usd)
        if bound.tokens is not None and tokens > bound.tokens:
            bound = evolve(bound, tokens=tokens)
        self._bounds[profile] = bound

    def _grading_took(self, profile: str, charge: Charge) -> None:
        """What one grading has taken another may take."""
        known = self._gradings.get(profile, NOTHING)
        usd, calls = max(known.usd, charge.usd), max(known.judge_calls, charge.judge_calls)
        self._gradings[profile] = Charge(usd=usd, judge_calls=calls)

    def _full(self, error: StoreError) -> None:
        """Stop: nothing more can be written down."""
        self._control.drain("stopped", f"the ledger does not take more: {error}")


def conditions_words(found: Sequence[Difference]) -> str:
    """What is not what it was, as the reason of a stop."""
    return f"the conditions have changed: {'; '.join(map(str, found[:5]))}"


def charge_for(report: TrialReport, attempts: Sequence[Attempt], bound: Allowance) -> Charge:
    """What attempts of a trial are charged, with the grading of the trial."""
    return sum((charge_of(attempt.spend.total, bound) for attempt in attempts), graded_charge(report))


def graded_charge(report: TrialReport) -> Charge:
    """What the grading of a trial is charged."""
    judged = report.grade.spend if report.grade is not None else NO_SPEND
    return NOTHING if judged == NO_SPEND else charge_of(judged, _NO_BOUND, attempts=0, judge_calls=judged.calls)


def _reserved(trial: str, charge: Charge) -> New:
    return ("reserved", trial, {"charge": charge_body(charge)})
