"""Two runs, or campaigns, side by side: is the second better, worse, or not to be told from the first?

The comparison is that of a campaign with one candidate: paired by case, corrected for all metrics that are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from attrs import evolve, frozen

from quintain.campaign.effects import effects_on, sign_of
from quintain.campaign.evaluate import Table
from quintain.campaign.metrics import METRICS
from quintain.conditions import concern_of
from quintain.errors import UsageError
from quintain.identity.lock import LOCK, read_lock
from quintain.identity.tree import Difference, difference
from quintain.model.campaign import BASELINE, Campaign, Candidate, Objective, Split, Subject
from quintain.model.case import Case
from quintain.model.decision import Effect, TrialFigures
from quintain.model.outcome import OutcomeKind
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.runs.store import RunStore
from quintain.runs.tables import TrialRow

BRANCH = "branch"
SPLIT = "validation"
COMPARED = ("pass_rate", "score", "cost_usd", "tokens", "duration_s", "attempts")
"""Metrics that the table of a record has for each trial."""
USUAL = ("pass_rate",)
"""What decides if nothing else is asked for."""
ALSO = ("cost_usd", "tokens")
"""What is shown beside it."""

Outcome = Literal["better", "worse", "no difference shown", "no worse", "not comparable"]


@frozen
class Side:
    """One of two records.

    Attributes:
        name: of its directory.
        candidate: whose trials are compared.
        trials: how many there are.
        scored: how many have a verdict.
    """

    name: str
    candidate: str
    trials: int
    scored: int


@frozen
class Comparison:
    """What a comparison came to.

    Attributes:
        base: what is compared with.
        branch: what is compared.
        outcome: "worse" if any metric is; "no worse" if it is shown that none is by more than the tolerance.
        effects: metric by metric, of those that decide.
        beside: of others, for information; not corrected for them.
        differences: what else differs between the two, that was not accepted.
        accepted: what differs and was accepted.
        notes: what a reader must know.
    """

    base: Side
    branch: Side
    outcome: Outcome
    effects: tuple[Effect, ...]
    beside: tuple[Effect, ...]
    differences: tuple[Difference, ...]
    accepted: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


def compare(
    base: Path,
    branch: Path,
    *,
    metrics: Sequence[str] = USUAL,
    tolerance: float = 0.0,
    confidence: float = 0.95,
    accept: Sequence[str] = (),
    base_candidate: str = BASELINE,
    branch_candidate: str = BASELINE,
) -> Comparison:
    """Compare two records, case by case.

    Args:
        base: directory of a run or a campaign.
        branch: likewise; is it better?
        metrics: what decides.
        tolerance: a difference of no more than this is none, for metrics between 0 and 1.
        confidence: with which a difference must be shown, over all metrics together.
        accept: differences of the conditions that don't matter: names, patterns of them, or what they concern
            ("profile", "program", "machine", "case", "grader").
        base_candidate: whose trials are taken of a campaign.
        branch_candidate: likewise.

    Raises:
        UsageError: a metric isn't known, or a candidate isn't there.
        StoreError: a record can't be read.
    """
    for metric in metrics:
        if metric not in COMPARED:
            raise UsageError(f"`{metric}` can't be compared", hint=f"one of {', '.join(COMPARED)}")
    ours, our_side = _figures(base, base_candidate, BASELINE)
    theirs, their_side = _figures(branch, branch_candidate, BRANCH)
    differing = difference(read_lock(base / LOCK).tree, read_lock(branch / LOCK).tree)
    fine = tuple(one for one in differing if _is_accepted(one, accept))
    rest = tuple(one for one in differing if one not in fine)
    table = Table([*ours, *theirs])

    def effects_of(names: Sequence[str]) -> tuple[Effect, ...]:
        campaign = _campaign(ours, theirs, names, tolerance, confidence)
        found = effects_on(campaign, table, None, [Candidate(BRANCH, "", {})], 0, {})[BRANCH]
        return tuple(evolve(effect, split="both sides") for effect in found)

    effects = effects_of(metrics)
    return Comparison(
        our_side,
        their_side,
        "not comparable" if rest else _outcome(effects),
        effects,
        effects_of([name for name in ALSO if name not in metrics]),
        rest,
        fine,
        tuple(_notes(our_side, their_side, effects)),
    )


def _figures(directory: Path, candidate: str, name: str) -> tuple[list[TrialFigures], Side]:
    with closing(RunStore(directory)) as store:
        rows = [row for row in store.rows() if row.candidate == candidate]
        others = sorted({row.candidate for row in store.rows()})
        orders = store.connection.execute("SELECT body FROM orders")
        clusters = {case["id"]: case.get("cluster") for case in (json.loads(body)["case"] for (body,) in orders)}
    if not rows:
        raise UsageError(
            f"there is no trial of `{candidate}` in it", where=str(directory), hint=f"there are: {', '.join(others)}"
        )
    figures = [_figure(row, name, clusters.get(row.case)) for row in rows]
    return figures, Side(directory.name, candidate, len(rows), sum(row.scored for row in rows))


def _figure(row: TrialRow, name: str, cluster: str | None) -> TrialFigures:
    # A trial that infrastructure cut short is not cheap or quick, but missing.
    ended = row.scored or row.outcome == OutcomeKind.GRADER_FAILED
    known = {
        "pass_rate": None if row.passed is None else float(row.passed),
        "score": row.score,
        "cost_usd": row.usd if row.cost_state != "unknown" else None,
        "tokens": None if row.tokens is None else float(row.tokens),
        "duration_s": row.duration_s,
        "attempts": float(row.attempts),
    }
    metrics = {
        metric: value
        for metric, value in known.items()
        if ended and value is not None and (row.scored or metric != "score")
    }
    return TrialFigures(
        candidate=name,
        profile=row.profile,
        split=SPLIT,
        case=row.case,
        repetition=row.repetition,
        scored=row.scored,
        metrics=metrics,
        cluster=cluster,
        outcome=row.outcome,
        trial=row.trial,
    )


def _campaign(
    ours: Sequence[TrialFigures],
    theirs: Sequence[TrialFigures],
    metrics: Sequence[str],
    tolerance: float,
    confidence: float,
) -> Campaign:
    """The campaign that would compare them."""
    profiles = sorted({one.profile for one in ours} & {one.profile for one in theirs})
    if not profiles:
        raise UsageError(
            "they have no profile in common",
            hint=f"{', '.join(sorted({one.profile for one in ours}))} here, "
            f"{', '.join(sorted({one.profile for one in theirs}))} there",
        )
    cases = sorted({one.case for one in ours} & {one.case for one in theirs})
    if not cases:
        raise UsageError("they have no case in common")
    return Campaign(
        "compare",
        Subject(Path(), ()),
        tuple(Profile(name, Plug("any")) for name in profiles),
        {SPLIT: Split(tuple(Case(case, "") for case in cases))},
        objectives=tuple(
            Objective(metric, tolerance=tolerance if METRICS[metric].unit_interval else 0.0) for metric in metrics
        ),
        alpha=1.0 - confidence,
    )


def _is_accepted(one: Difference, accept: Sequence[str]) -> bool:
    return any(word == concern_of(one.name) or fnmatchcase(one.name, word) for word in accept)


def _outcome(effects: Sequence[Effect]) -> Outcome:
    findings = [effect.finding for effect in effects]
    if "worse" in findings:
        return "worse"
    if "better" in findings:
        return "better"
    return "no worse" if all(_is_no_worse(effect) for effect in effects) else "no difference shown"


def _is_no_worse(effect: Effect) -> bool:
    """It is shown that it is not worse by more than the tolerance."""
    low, high = effect.difference.low, effect.difference.high
    bound = low if sign_of(effect.objective) > 0 else None if high is None else -high
    return bound is not None and bound >= -effect.objective.tolerance


def _notes(base: Side, branch: Side, effects: Sequence[Effect]) -> Iterator[str]:
    for side in (base, branch):
        if side.scored < side.trials:
            yield f"{side.trials - side.scored} of {side.trials} trials of {side.name} have no verdict"
    for effect in effects:
        if effect.difference.estimate is None:
            yield f"{effect.objective.metric} is known of no case for both"
        elif effect.unpaired:
            yield f"{effect.objective.metric}: {len(effect.unpaired)} cases have a value on one side only"
