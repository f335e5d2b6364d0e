"""Campaigns and figures that tests of decisions are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from quintain.campaign.select import decide
from quintain.model.campaign import BASELINE, Campaign, Candidate, Repetitions, Split, Subject
from quintain.model.case import Case
from quintain.model.decision import Decision, TrialFigures
from quintain.model.plain import Plug
from quintain.model.project import Profile


def campaign_of(cases: int | Mapping[str, int], *, repetitions: int = 1, profiles: int = 1, **also: Any) -> Campaign:
    """A campaign with so many cases on validation, or on each split."""
    sizes = cases if isinstance(cases, Mapping) else {"validation": cases}
    return Campaign(
        id="trial",
        subject=Subject(Path("subject"), ("**",)),
        profiles=tuple(Profile(f"p{number}", Plug("agent")) for number in range(profiles)),
        splits={name: Split(tuple(case_of(name, number) for number in range(count))) for name, count in sizes.items()},
        repetitions=Repetitions(1, repetitions),
        **also,
    )


def case_of(split: str, number: int) -> Case:
    return Case(id=f"{split}/{number:03}", prompt="do it")


def candidates_of(*names: str, bytes: int = 100) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, f"digest-{name}", {}, bytes=bytes) for name in (BASELINE, *names))


def figures_of_values(
    candidate: str,
    values: Sequence[Sequence[float | None]],
    *,
    metric: str = "pass_rate",
    split: str = "validation",
    profile: str = "p0",
    clusters: Sequence[str] | None = None,
    **also: Any,
) -> list[TrialFigures]:
    """Figures of one candidate: for each case the values of its repetitions; None is a trial without a verdict."""
    return [
        TrialFigures(
            candidate,
            profile,
            split,
            f"{split}/{number:03}",
            repetition,
            scored=value is not None,
            metrics={} if value is None else {metric: float(value)},
            cluster=clusters[number] if clusters is not None else None,
            outcome="completed" if value is not None else "infrastructure (open, crash)",
            trial=f"{candidate}:{split}/{number:03}@{profile}#{repetition}",
            **also,
        )
        for number, repetitions in enumerate(values)
        for repetition, value in enumerate(repetitions, 1)
    ]


def with_metric(figures: Sequence[TrialFigures], metric: str, values: Sequence[float]) -> list[TrialFigures]:
    """The figures, with one more metric each."""
    return [evolve(one, metrics={**one.metrics, metric: value}) for one, value in zip(figures, values, strict=True)]


def decided(campaign: Campaign, *figures: Sequence[TrialFigures], **also: Any) -> Decision:
    """The decision on the candidates that the figures are of, in the order in which they come."""
    flat = [one for part in figures for one in part]
    names = dict.fromkeys(one.candidate for one in flat if one.candidate != BASELINE)
    planned = {name: sum(one.candidate == name for one in flat) for name in (BASELINE, *names)}
    arguments: dict[str, Any] = {"planned": planned, "candidates": candidates_of(*names), **also}
    return decide(campaign, figures=flat, **arguments)
