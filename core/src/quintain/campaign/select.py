"""The one decision of a campaign, from the figures of its trials. Pure: the same figures give the same decision.

With a test split, validation only says who is to be confirmed and whether the constraints are met there; that it is
better is for the test split to show, with the whole alpha, because it was not looked at before. Without one, validation
has to show it, corrected for every candidate and objective. docs/explanation/decisions.md says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from quintain.campaign.effects import Finding, effects_on, watches
from quintain.campaign.evaluate import Table
from quintain.campaign.gates import eligible, gates_of, worst_violation
from quintain.campaign.limits import limits_of
from quintain.campaign.ranking import Contender, frontier, ranked
from quintain.campaign.words import effect_words, gate_words
from quintain.model.campaign import BASELINE, Campaign, Candidate
from quintain.model.decision import Decision, Effect, GateResult, Standing, TrialFigures, Verdict
from quintain.model.usage import sum_spend


def decide(
    campaign: Campaign,
    candidates: Sequence[Candidate],
    figures: Iterable[TrialFigures],
    *,
    planned: Mapping[str, int],
    looks: Mapping[str, int] | None = None,
    stopped: Mapping[str, str] | None = None,
) -> Decision:
    """What the trials of a campaign come to.

    Args:
        campaign: what is measured and what counts as better.
        candidates: the baseline and all candidates that were admitted.
        figures: of all settled trials that may be looked at; those of the test split only once it was run.
        planned: trials by candidate that were to run; a candidate that isn't named planned what it has.
        looks: how often each split was looked at.
        stopped: candidates that are run no further, and why.
    """
    table, looks, stopped = Table(figures), looks or {}, stopped or {}
    baseline = next((one for one in candidates if one.id == BASELINE), None)
    challengers = [one for one in candidates if one.id != BASELINE]
    size = baseline.bytes if baseline is not None else 0
    effects = effects_on(campaign, table, None, challengers, size, stopped)
    gates = {one.id: gates_of(campaign, table, one, baseline) for one in candidates}
    contenders = [
        Contender(
            one.id,
            eligible(gates[one.id]),
            worst_violation(gates[one.id]),
            effects.get(one.id, ()),
            _worst_profile(campaign, table, one.id),
            one.bytes,
        )
        for one in candidates
    ]
    best = frontier(contenders, campaign.objectives)
    standings = tuple(
        _standing(table, one, rank, gates[one.id], planned, stopped, one.id in best)
        for rank, one in ranked(contenders, campaign.objectives)
    )
    tested = [one for one in challengers if "test" in campaign.splits and table.trials(one.id, "test")]
    confirmed = effects_on(campaign, table, "test", tested, size, {}) if tested else {}
    court = _Court(campaign, standings, confirmed, stopped)
    verdict, chosen, why = court.judge()
    return Decision(
        verdict=verdict,
        candidate=chosen,
        why=why,
        standings=standings,
        confirmed=confirmed.get(court.finalist or "", ()),
        limits=limits_of(campaign, table, standings, confirmed, looks, stopped),
        alpha=campaign.alpha,
        looks=dict(looks),
    )


def outcome_of(effects: Sequence[Effect]) -> Finding:
    """What the objectives say together: the first that is not equivalent decides."""
    for effect in effects:
        if effect.finding != "equivalent":
            return effect.finding
    return "equivalent" if effects else "unknown"


def deciding(effects: Sequence[Effect]) -> Effect | None:
    """The effect that the outcome rests on."""
    return next((effect for effect in effects if effect.finding != "equivalent"), effects[-1] if effects else None)


def _worst_profile(campaign: Campaign, table: Table, candidate: str) -> float | None:
    rates = []
    for profile in campaign.profiles:
        cases = table.cases(candidate, "validation", profile.name, "pass_rate")
        if cases:
            rates.append(sum(one.mean for one in cases.values()) / len(cases))
    return min(rates, default=None)


def _standing(
    table: Table,
    one: Contender,
    rank: int,
    gates: tuple[GateResult, ...],
    planned: Mapping[str, int],
    stopped: Mapping[str, str],
    on_frontier: bool,
) -> Standing:
    trials = table.trials(one.id)
    scored = sum(trial.scored for trial in trials)
    # Nobody waits for the trials of a candidate that was given up.
    wanted = len(trials) if one.id in stopped else max(planned.get(one.id, 0), len(trials))
    known = [trial.metrics["pass_rate"] for trial in trials if "pass_rate" in trial.metrics]
    passed = sum(known)
    return Standing(
        candidate=one.id,
        rank=rank,
        eligible=one.eligible,
        gates=gates,
        effects=one.effects,
        spend=sum_spend(trial.spend for trial in trials),
        planned=wanted,
        scored=scored,
        missing=wanted - scored,
        missing_trials=tuple(f"{trial.trial or trial.case} ({trial.outcome})" for trial in trials if not trial.scored),
        worst_case=passed / wanted if wanted else None,
        best_case=(passed + wanted - len(known)) / wanted if wanted else None,
        frontier=on_frontier,
        bytes=one.bytes,
        stopped=stopped.get(one.id),
    )


@frozen
class _Court:
    """Judges the standings."""

    campaign: Campaign
    standings: tuple[Standing, ...]
    confirmed: Mapping[str, tuple[Effect, ...]]
    stopped: Mapping[str, str]

    @property
    def finalist(self) -> str | None:
        """The candidate that was run on the test split."""
        return next((one.candidate for one in self.standings if one.candidate in self.confirmed), None)

    def judge(self) -> tuple[Verdict, str | None, str]:
        """The verdict, the promoted candidate, and why."""
        variants = [one for one in self.standings if one.candidate != BASELINE]
        if not variants:
            return Verdict.KEEP_BASELINE, None, "There is no candidate to compare with the baseline."
        open_ones = [one for one in variants if one.eligible is not False]
        if not open_ones:
            return Verdict.FAILED_CONSTRAINT, None, self._failed(variants[0], len(variants))
        finalist = next((one for one in variants if one.candidate == self.finalist), None)
        if finalist is not None:
            return self._tested(finalist)
        hopeful = [one for one in open_ones if self._hopeful(one)]
        for one in hopeful:
            if "test" not in self.campaign.splits and self._promotable(one):
                return Verdict.PROMOTE, one.candidate, self._won(one, one.effects)
        if (gap := self._gap(hopeful)) is not None:
            return Verdict.INCOMPLETE, None, gap
        if not hopeful:
            return Verdict.KEEP_BASELINE, None, self._beaten(open_ones)
        if "test" in self.campaign.splits:
            why = (
                f"`{hopeful[0].candidate}` stands best on validation, and was not run on the test split, which decides."
            )
            return Verdict.INCOMPLETE, None, why
        return Verdict.NOT_ENOUGH_EVIDENCE, None, self._unclear(hopeful[0], hopeful[0].effects)

    def _tested(self, one: Standing) -> tuple[Verdict, str | None, str]:
        effects = self.confirmed[one.candidate]
        if one.eligible is False:
            return Verdict.FAILED_CONSTRAINT, None, self._failed(one, 1)
        if (gap := self._gap([one])) is not None:
            return Verdict.INCOMPLETE, None, gap
        match outcome_of(effects):
            case "better" if one.eligible:
                return Verdict.PROMOTE, one.candidate, self._won(one, effects)
            case "worse" | "equivalent":
                return Verdict.KEEP_BASELINE, None, f"`{one.candidate}` is {_how(effects)}."
        return Verdict.NOT_ENOUGH_EVIDENCE, None, self._unclear(one, effects)

    def _hopeful(self, one: Standing) -> bool:
        """It may still be better than the baseline, as far as anybody knows."""
        outcome = outcome_of(one.effects)
        if one.candidate in self.stopped and not (watches(self.campaign) and outcome == "better"):
            return False
        return outcome in ("better", "unknown")

    def _promotable(self, one: Standing) -> bool:
        return one.eligible is True and outcome_of(one.effects) == "better" and self._gap([one]) is None

    def _gap(self, hopeful: Sequence[Standing]) -> str | None:
        """Who has too few trials with a verdict for a decision, or None if nobody that matters has."""
        base = [one for one in self.standings if one.candidate == BASELINE]
        for one in (*base, *hopeful):
            early = one.candidate in self.stopped or (one.candidate == BASELINE and self.stopped)
            if one.planned and not early and one.scored < self.campaign.coverage * one.planned:
                bounds = f"{one.worst_case:.3f} to {one.best_case:.3f}" if one.worst_case is not None else "unknown"
                return (
                    f"Only {one.scored} of {one.planned} trials of `{one.candidate}` have a verdict,"
                    f" {self.campaign.coverage:.0%} are asked for: its pass rate may be {bounds}."
                )
        return None

    def _won(self, one: Standing, effects: Sequence[Effect]) -> str:
        met = f", and meets {_all(len(one.gates))}" if one.gates else ""
        return f"`{one.candidate}` is {_how(effects)}{met}."

    def _beaten(self, variants: Sequence[Standing]) -> str:
        one = variants[0]
        given_up = one.stopped if one.stopped and outcome_of(one.effects) not in ("worse", "equivalent") else None
        more = f" No other of {len(variants)} candidates is better." if len(variants) > 1 else ""
        return f"`{one.candidate}` is {f'given up: {given_up}' if given_up else _how(one.effects)}.{more}"

    def _failed(self, one: Standing, many: int) -> str:
        gate = max((gate for gate in one.gates if gate.met is False), key=lambda gate: gate.violation)
        base = next((other for other in self.standings if other.candidate == BASELINE), None)
        also = " The baseline misses a constraint, too." if base is not None and base.eligible is False else ""
        none = "" if many == 1 else f"None of {many} candidates meets every constraint; the nearest: "
        return f"{none}`{one.candidate}` does not: {gate_words(gate)}.{also}"

    def _unclear(self, one: Standing, effects: Sequence[Effect]) -> str:
        if outcome_of(effects) == "better":
            gate = next((gate for gate in one.gates if gate.met is None), None)
            what = gate_words(gate) if gate is not None else "a constraint can't be told"
            return f"`{one.candidate}` is {_how(effects)}, but it isn't shown to meet every constraint: {what}."
        effect = deciding(effects)
        if effect is None:
            return f"Nothing is known of `{one.candidate}`."
        return f"`{one.candidate}` is not shown to be better: {effect_words(effect)}."


def _all(many: int) -> str:
    return "the constraint" if many == 1 else f"all {many} constraints"


def _how(effects: Sequence[Effect]) -> str:
    effect = deciding(effects)
    if effect is None:
        return "not compared"
    word = {
        "better": "better than the baseline",
        "worse": "worse than the baseline",
        "equivalent": "no different from the baseline within the tolerance",
        "unknown": "not shown to differ from the baseline",
    }[effect.finding]
    return f"{word}: {effect_words(effect)}"
