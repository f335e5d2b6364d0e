"""What a run will do: every case under every profile, as often as asked, checked before the first trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from quintain.errors import AuthoringError, QuintainError, UsageError, collected, raise_all
from quintain.model.case import Case
from quintain.model.limits import LimitOverrides
from quintain.model.plain import PluginUse
from quintain.model.project import Profile
from quintain.model.trial import TrialOrder
from quintain.plugins import Plugins
from quintain.trial.fixtures import Fixtures
from quintain.trial.prepare import Places, Prepared, prepare_order
from quintain.workspace.blobs import BlobStore


@frozen
class Template:
    """What all repetitions of one case under one profile share."""

    order: TrialOrder
    prepared: Prepared
    fixtures: Fixtures


@frozen
class Plan:
    """A checked plan.

    Attributes:
        templates: one for each case and profile, in order.
        repeat: repetitions of each.
        seed: from which the trials' seeds are made.
    """

    templates: tuple[Template, ...]
    repeat: int = 1
    seed: int = 0

    @property
    def trials(self) -> int:
        """How many trials it has."""
        return len(self.templates) * self.repeat

    @property
    def plugins(self) -> tuple[PluginUse, ...]:
        """Which installed code takes part."""
        return tuple(dict.fromkeys(use for template in self.templates for use in template.prepared.plugins))

    def orders(self) -> Iterator[tuple[int, TrialOrder]]:
        """Every trial with the number of its template; all cases once before any of them again."""
        for repetition in range(1, self.repeat + 1):
            for index, template in enumerate(self.templates):
                name = trial_name(template.order.case.id, template.order.profile, repetition)
                seed = self.seed + repetition - 1
                yield index, evolve(template.order, trial=name, repetition=repetition, seed=seed)


def trial_name(case: str, profile: str, repetition: int) -> str:
    """How a trial is called: `calculator/add@default#1`."""
    return f"{case}@{profile}#{repetition}"


def make_plan(
    cases: Sequence[Case],
    profiles: Sequence[Profile],
    plugins: Plugins,
    blobs: BlobStore,
    *,
    repeat: int = 1,
    seed: int = 0,
    limits: LimitOverrides | None = None,
    places: Places | None = None,
) -> Plan:
    """Check everything that can be checked without running an agent.

    Args:
        cases: the tasks.
        profiles: the ways to run them.
        plugins: where drivers, answerers and assertions come from.
        blobs: where fixtures are stored.
        repeat: repetitions of each case under each profile.
        seed: of the first repetition.
        limits: override those of profiles and cases.
        places: where cases and profiles were written, for errors.

    Raises:
        QuintainError: the first error, or all of them together if there are several.
    """
    if repeat < 1:
        raise UsageError(f"a case runs at least once, not {repeat} times")
    _refuse_duplicates(cases)
    templates: list[Template] = []
    errors: list[QuintainError] = []
    captured: dict[object, Fixtures] = {}
    for case in cases:
        for profile in profiles:
            with collected(errors):
                templates.append(_template(case, profile, plugins, blobs, limits or LimitOverrides(), captured, places))
    raise_all(errors)
    return Plan(tuple(templates), repeat, seed)


def _refuse_duplicates(cases: Sequence[Case]) -> None:
    seen: dict[str, Case] = {}
    for case in cases:
        other = seen.setdefault(case.id, case)
        if other is not case:
            places = " and ".join(str(one.source) for one in (other, case) if one.source) or "two places"
            raise AuthoringError(f"the case id `{case.id}` is used twice, in {places}")


def _template(
    case: Case,
    profile: Profile,
    plugins: Plugins,
    blobs: BlobStore,
    overrides: LimitOverrides,
    captured: dict[object, Fixtures],
    places: Places | None,
) -> Template:
    key = case.fixtures, case.hidden
    if key not in captured:
        captured[key] = Fixtures.capture(case, blobs)
    fixtures = captured[key]
    order = TrialOrder(
        trial=trial_name(case.id, profile.name, 1),
        case=case,
        profile=profile.name,
        driver=case.driver or profile.driver,
        answerer=case.answerer or profile.answerer,
        fixtures=fixtures.visible_digest,
        hidden=fixtures.hidden_digest,
        limits=overrides.over(case.limits.over(profile.limits)),
        retry=profile.retry,
        isolation=profile.isolation,
    )
    return Template(order, prepare_order(order, plugins, places), fixtures)
