"""What the parts of a campaign can't say to one another, in a file or in a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Literal, Protocol

from quintain.authoring._lines import Key
from quintain.authoring._structure import nearest
from quintain.errors import AuthoringError, WorkspaceError
from quintain.identity.files import scan_tree, tree_digest
from quintain.model.campaign import BASELINE, SPLITS, Campaign, Constraint, Objective
from quintain.model.case import Case
from quintain.model.plain import quoted

Where = Callable[[Key], str]


class MetricRule(Protocol):
    """What is to be known of a metric here."""

    @property
    def unit_interval(self) -> bool:
        """Its values are from 0 to 1."""

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """In which direction it gets better."""


def problems(campaign: Campaign, metrics: Mapping[str, MetricRule], where: Where) -> Iterator[AuthoringError]:
    """Everything that is wrong between the parts of a campaign.

    Args:
        campaign: the whole.
        metrics: what can be measured, by name.
        where: place of a key, as it is written in a file.
    """
    yield from _subject(campaign, where)
    yield from _profiles(campaign, where)
    yield from _splits(campaign, where)
    yield from _variants(campaign, where)
    yield from _constraints(campaign, metrics, where)
    yield from _objectives(campaign, metrics, where)
    yield from _bounds(campaign, where)


def _subject(campaign: Campaign, where: Where) -> Iterator[AuthoringError]:
    subject = campaign.subject
    if not subject.mutable:
        yield AuthoringError(
            "nothing is mutable, so candidates could not differ",
            where=where(("subject", "mutable")),
            hint='patterns of text files, such as ["prompts/**/*.md"]',
        )
    for name, patterns in (("mutable", subject.mutable), ("exclude", subject.exclude)):
        for number, pattern in enumerate(patterns):
            if not pattern or pattern.startswith("/") or "\0" in pattern or ".." in pattern.split("/"):
                yield AuthoringError(
                    f"{quoted(pattern)} is no pattern of paths below the subject's root",
                    where=where(("subject", name, number)),
                )
    if subject.into.startswith("/") or ".." in subject.into.split("/"):
        yield AuthoringError(f"{quoted(subject.into)} leads out of the workspace", where=where(("subject", "into")))
    if subject.place == "beside" and subject.into != ".":
        yield AuthoringError(
            "`into` is a place in the workspace, and this subject lies beside it", where=where(("subject", "into"))
        )
    for number, validation in enumerate(subject.validate):
        if not validation.command:
            yield AuthoringError(
                "an empty command runs nothing", where=where(("subject", "validate", number, "command"))
            )


def _profiles(campaign: Campaign, where: Where) -> Iterator[AuthoringError]:
    if not campaign.profiles:
        yield AuthoringError("no profile says how to run candidates", where=where(("profiles",)))
    for name, count in Counter(profile.name for profile in campaign.profiles).items():
        if count > 1:
            yield AuthoringError(f"the profile `{name}` is named {count} times", where=where(("profiles",)))


def _splits(campaign: Campaign, where: Where) -> Iterator[AuthoringError]:
    splits = campaign.splits
    for name, split in splits.items():
        if name not in SPLITS:
            yield AuthoringError(
                f"there is no split `{name}`", where=where(("splits", name)), hint=f"they are {', '.join(SPLITS)}"
            )
        if not split.cases:
            yield AuthoringError(f"0 cases are in the split `{name}`", where=where(("splits", name)))
        for id, count in Counter(case.id for case in split.cases).items():
            if count > 1:
                yield AuthoringError(f"the case `{id}` is {count} times in it", where=where(("splits", name)))
    if "validation" not in splits:
        yield AuthoringError(
            "there is no split `validation`, on which candidates are compared",
            where=where(("splits",)),
            hint="the test split only confirms what was found there; with one set of cases, call it `validation`",
        )
    for one, other in combinations(splits, 2):
        yield from _shared(one, splits[one].cases, other, splits[other].cases, where)


def _shared(
    one: str, first: tuple[Case, ...], other: str, second: tuple[Case, ...], where: Where
) -> Iterator[AuthoringError]:
    """What two splits have in common, so that the one would tell what is in the other."""
    place = where(("splits", other))
    ids = {case.id for case in first}
    clusters = {case.cluster: case.id for case in first if case.cluster is not None}
    prompts: dict[str, list[Case]] = {}
    for case in first:
        prompts.setdefault(case.prompt, []).append(case)
    told: set[str] = set()
    for case in second:
        if case.id in ids:
            yield AuthoringError(f"the case `{case.id}` is in the splits `{one}` and `{other}`", where=place)
            continue
        if case.cluster in clusters and case.cluster not in told and case.cluster is not None:
            told.add(case.cluster)
            yield AuthoringError(
                f"the cluster `{case.cluster}` is in two splits: `{clusters[case.cluster]}` in `{one}` and `{case.id}` "
                f"in `{other}`",
                where=place,
                hint="cases of one cluster are not independent; keep them in one split",
            )
        for twin in prompts.get(case.prompt, ()):
            if _same_files(twin.fixtures, case.fixtures):
                yield AuthoringError(
                    f"`{twin.id}` in `{one}` and `{case.id}` in `{other}` are the same task: prompt and fixtures are equal",
                    where=place,
                    hint="what is learned on one would be tested on the other; take one out",
                )


def _same_files(one: Path | None, other: Path | None) -> bool:
    if one is None or other is None or one == other:
        return one == other
    try:
        return tree_digest(scan_tree(one)) == tree_digest(scan_tree(other))
    except (OSError, WorkspaceError):
        return False  # what can't be read is told where it is captured


def _variants(campaign: Campaign, where: Where) -> Iterator[AuthoringError]:
    known = {BASELINE, *(variant.id for variant in campaign.variants)}
    seen: set[str] = set()
    for number, variant in enumerate(campaign.variants):
        key: Key = ("variants", number)
        if variant.id == BASELINE:
            yield AuthoringError(
                f"`{BASELINE}` is the source as it stands, so no variant can have this id", where=where((*key, "id"))
            )
        if variant.id in seen:
            yield AuthoringError(f"the id `{variant.id}` is used twice", where=where((*key, "id")))
        seen.add(variant.id)
        said = (variant.revision, variant.directory, variant.files, variant.text, variant.delete)
        if not any(said):
            yield AuthoringError(
                f"the variant `{variant.id}` changes nothing",
                where=where(key),
                hint="one of text, files, directory, revision, delete",
            )
        for place, parent in enumerate(variant.parents):
            if parent not in known or parent == variant.id:
                others = known - {variant.id}
                yield AuthoringError(
                    f"`{parent}` is no other candidate",
                    where=where((*key, "parents", place)),
                    hint=nearest(parent, others),
                )


def _constraints(campaign: Campaign, metrics: Mapping[str, MetricRule], where: Where) -> Iterator[AuthoringError]:
    for number, one in enumerate(campaign.constraints):
        key: Key = ("constraints", number)
        yield from _measured(campaign, one, key, metrics, where)
        metric = metrics.get(one.metric)
        limits = {"min": 0.0, "max": 0.0, "min_difference": -1.0, "max_difference": -1.0}
        for name, lowest in limits.items():
            bound: float | None = getattr(one, name)
            if bound is not None and metric is not None and metric.unit_interval and not lowest <= bound <= 1:
                yield AuthoringError(
                    f"`{one.metric}` is from 0 to 1, so {quoted(bound)} is no bound of it",
                    where=where((*key, name)),
                    hint=f"a number from {lowest:g} to 1",
                )
        for low, high in (("min", "max"), ("min_difference", "max_difference")):
            least, most = getattr(one, low), getattr(one, high)
            if least is not None and most is not None and least > most:
                yield AuthoringError(
                    f"nothing is at least {quoted(least)} and at most {quoted(most)}", where=where((*key, high))
                )


def _objectives(campaign: Campaign, metrics: Mapping[str, MetricRule], where: Where) -> Iterator[AuthoringError]:
    if not campaign.objectives:
        yield AuthoringError("there is no objective, so nothing could be better", where=where(("objectives",)))
    seen: set[tuple[str, str, str | None]] = set()
    for number, one in enumerate(campaign.objectives):
        key: Key = ("objectives", number)
        yield from _measured(campaign, one, key, metrics, where)
        metric = metrics.get(one.metric)
        if metric is not None and metric.unit_interval and one.tolerance >= 1:
            yield AuthoringError(
                f"`{one.metric}` is from 0 to 1, so a tolerance of {quoted(one.tolerance)} calls everything equal",
                where=where((*key, "tolerance")),
            )
        place = (one.metric, one.split, one.profile)
        if place in seen:
            yield AuthoringError(f"`{one.metric}` is an objective twice", where=where((*key, "metric")))
        seen.add(place)


def _measured(
    campaign: Campaign, one: Constraint | Objective, key: Key, metrics: Mapping[str, MetricRule], where: Where
) -> Iterator[AuthoringError]:
    names = [profile.name for profile in campaign.profiles]
    if one.metric not in metrics:
        yield AuthoringError(
            f"there is no metric `{one.metric}`", where=where((*key, "metric")), hint=nearest(one.metric, metrics)
        )
    if one.split not in campaign.splits:
        yield AuthoringError(
            f"the campaign has no split `{one.split}`",
            where=where((*key, "split")),
            hint=nearest(one.split, campaign.splits),
        )
    if one.profile is not None and one.profile not in names:
        yield AuthoringError(
            f"the campaign has no profile `{one.profile}`",
            where=where((*key, "profile")),
            hint=nearest(one.profile, names),
        )


def _bounds(campaign: Campaign, where: Where) -> Iterator[AuthoringError]:
    names = [one.name for one in campaign.profiles]
    for name, allowance in campaign.budget.bounds.items():
        key: Key = ("budget", "bounds", name)
        if name not in names:
            yield AuthoringError(f"the campaign has no profile `{name}`", where=where(key), hint=nearest(name, names))
        for part in ("usd", "tokens"):
            value: float | None = getattr(allowance, part)
            if value is not None and value <= 0:
                yield AuthoringError(f"a number above 0 is wanted here, not {quoted(value)}", where=where((*key, part)))
