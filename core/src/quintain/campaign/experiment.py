"""The campaign in which a person wrote the variants: search, promotion, test, decision.

1. search: if there are more variants than finalists, every candidate runs on the validation split as often as the search
   repeats, and the best go on;
2. promotion: the baseline and the finalists run on it as often as promotion repeats;
3. test: the baseline and the one candidate that stands best run on the test split, which nobody has looked at before;
4. decision.

Each phase runs what has no verdict yet, so a campaign that is taken up again goes through the same phases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import anyio

from quintain.campaign.ledger import Ledger, New
from quintain.campaign.monitor import Monitor
from quintain.campaign.outcome import decision_of
from quintain.campaign.ready import Ready
from quintain.campaign.runner import Runner, Settlement
from quintain.campaign.schedule import Slot, blocks
from quintain.campaign.select import outcome_of
from quintain.campaign.state import State
from quintain.errors import StoreError
from quintain.model.campaign import BASELINE, Campaign
from quintain.model.codec import to_plain
from quintain.model.decision import Decision
from quintain.runs.control import Control


class Experiment:
    """One session of an experiment.

    Args:
        ready: the campaign, prepared, with its candidates admitted.
        ledger: its record.
        state: where it stands.
        control: stops it.
    """

    def __init__(self, ready: Ready, ledger: Ledger, state: State, control: Control) -> None:
        self._ready = ready
        self._ledger = ledger
        self._state = state
        self._control = control
        self._planned: dict[str, Slot] = {}
        self._monitor = Monitor(ready.campaign, state) if ready.campaign.stopping.anytime else None

    async def heard(self, settlement: Settlement) -> None:
        """Look whether a candidate is decided, if the campaign may stop early."""
        if self._monitor is None:
            return
        for candidate, why in self._monitor.decided(settlement.settled.figures):
            entry = self._stopped(candidate, why)
            try:
                # As with a trial: what is in the ledger must be in the state, and nothing else.
                with anyio.CancelScope(shield=True):
                    await self._ledger.add(entry)
            except StoreError:
                del self._state.stopped[candidate]
                raise

    async def through(self, runner: Runner) -> None:
        """Run what is left to run."""
        campaign = self._ready.campaign
        variants = [id for id in self._ready.candidates if id != BASELINE]
        if searches(campaign, len(variants)):
            variants = await self._search(runner, variants)
        await self._run(runner, [BASELINE, *variants], search_splits(campaign), campaign.repetitions.promotion)
        if not self._control.draining and "test" in campaign.splits:
            finalist = await self._finalist()
            if finalist is not None:
                await self._run(runner, [BASELINE, finalist], ["test"], campaign.repetitions.promotion)

    async def _search(self, runner: Runner, variants: Sequence[str]) -> list[str]:
        """The best of many candidates, after a first round."""
        campaign = self._ready.campaign
        await self._run(runner, [BASELINE, *variants], search_splits(campaign), campaign.repetitions.search)
        if self._control.draining:
            return list(variants)
        chosen = {id for id in variants if id not in self._state.stopped}
        if len(chosen) > campaign.finalists:
            look = self._looked("validation", "to choose the finalists")
            standings = [one for one in self._decision().standings if one.candidate in chosen]
            chosen = {one.candidate for one in standings[: campaign.finalists]}
            why = f"not among the best {campaign.finalists} after the search"
            given_up = [self._stopped(one.candidate, why) for one in standings[campaign.finalists :]]
            # With what it led to, or not at all: a look whose result nobody saw is no look.
            await self._ledger.add(look, *given_up)
        return [id for id in variants if id in chosen]

    async def _finalist(self) -> str | None:
        """The candidate that the test split is to confirm; chosen once."""
        if self._state.finalist is None:
            look = self._looked("validation", "to choose the finalist")
            chosen = finalist_of(self._decision())
            await self._ledger.add(look, *([("finalist", chosen, {})] if chosen is not None else []))
            self._state.finalist = chosen
        return self._state.finalist

    async def _run(self, runner: Runner, candidates: Sequence[str], splits: Iterable[str], repetitions: int) -> None:
        for split in splits:
            # What was stopped before its first trial is missing all of them, and has no other verdict.
            if self._control.draining and self._planned:
                return
            slots = self.slots(candidates, split, repetitions)
            self._planned.update((slot.trial, slot) for slot in slots)
            if self._control.draining:
                return
            if self._monitor is not None and split == "validation":
                self._monitor.expect(slots)
            await runner.run(slots)

    def slots(self, candidates: Sequence[str], split: str, repetitions: int) -> list[Slot]:
        """What is to run on a split, in order."""
        campaign = self._ready.campaign
        whole = blocks(
            candidates,
            split,
            [case.id for case in campaign.splits[split].cases],
            [profile.name for profile in campaign.profiles],
            repetitions,
            seed=campaign.seed,
            case_by_case=campaign.stopping.anytime,
        )
        return [slot for block in whole for slot in block]

    def _decision(self) -> Decision:
        return decision_of(self._ready.campaign, self._state, self._counts())

    async def decide(self) -> Decision:
        """The decision; recorded with the looks that it took and with the end of the session, or not at all."""
        tested = self._tested()
        missing = self._missing()
        if missing and not tested:
            self._control.drain("incomplete", f"{missing} trials have no verdict; resuming runs only those")
        looks = [self._looked(split, "to decide") for split in ("validation", *(["test"] if tested else []))]
        decision = self._decision()
        body = {"decision": to_plain(decision), "planned": dict(self._counts())}
        ended = {"status": self._control.status, "reason": self._control.reason}
        await self._ledger.add(*looks, ("decision", decision.candidate or "", body), ("ended", "", ended))
        self._state.decision = decision
        return decision

    def _tested(self) -> bool:
        """The test split has been run as far as the decision asks; before that nobody looks at it.

        Nor does anybody who was stopped. Who has looked at it has decided: a campaign that could be taken up again after
        that would look twice.
        """
        finalist, stopped = self._state.finalist, self._state.stopped
        if finalist is None or self._control.draining:
            return False
        for candidate in (BASELINE, finalist):
            # Nobody waits for the other trials of a candidate that was given up.
            early = candidate in stopped or (candidate == BASELINE and stopped)
            splits = ["test"] if early else [*search_splits(self._ready.campaign), "test"]
            if not all(self._covered(candidate, split) for split in splits):
                return False
        return True

    def _covered(self, candidate: str, split: str) -> bool:
        """All trials of a candidate have come to their end, and as many as the decision asks for have a verdict."""
        mine = [slot.trial for slot in self._planned.values() if (slot.candidate, slot.split) == (candidate, split)]
        settled = [self._state.settled[trial] for trial in mine if trial in self._state.settled]
        scored = sum(one.figures.scored for one in settled)
        return len(settled) == len(mine) > 0 and scored >= self._ready.campaign.coverage * len(mine)

    def _counts(self) -> Counter[str]:
        """Trials by candidate that ran or ought to run."""
        settled, gives_up = self._state.settled, self._state.gives_up
        return Counter(
            slot.candidate
            for slot in self._planned.values()
            if slot.trial in settled or not gives_up(slot.candidate, slot.split)
        )

    def _missing(self) -> int:
        """Trials that ought to have a verdict and have none, of candidates that were not given up."""
        settled, gives_up = self._state.settled, self._state.gives_up
        return sum(
            not gives_up(slot.candidate, slot.split)
            and not (slot.trial in settled and settled[slot.trial].figures.scored)
            for slot in self._planned.values()
        )

    def _looked(self, split: str, why: str) -> New:
        """Count a look; to be written with what it leads to."""
        self._state.looks[split] = self._state.looks.get(split, 0) + 1
        return ("look", split, {"why": why})

    def _stopped(self, candidate: str, why: str) -> New:
        """Run a candidate no further; to be written with what led to it."""
        self._state.stopped[candidate] = why
        return ("stopped", candidate, {"why": why})


def searches(campaign: Campaign, variants: int) -> bool:
    """There is a first round in which the finalists are found.

    Not in a campaign that is watched: its test looks at each case once, when all its repetitions are there.
    """
    repeat = campaign.repetitions
    return variants > campaign.finalists and repeat.search < repeat.promotion and not campaign.stopping.anytime


def search_splits(campaign: Campaign) -> list[str]:
    """The splits on which every candidate runs: validation, and train if something is asked of it."""
    asked = {one.split for one in campaign.constraints} | {one.split for one in campaign.objectives}
    return ["validation", *(["train"] if "train" in asked and "train" in campaign.splits else [])]


def finalist_of(decision: Decision) -> str | None:
    """The best candidate that may still turn out to be better than the baseline, or None."""
    for standing in decision.standings:
        outcome = outcome_of(standing.effects)
        given_up = standing.stopped is not None and outcome != "better"
        if standing.candidate == BASELINE or standing.eligible is False or given_up:
            continue
        if outcome in ("better", "unknown"):
            return standing.candidate
    return None
