"""A campaign with everything loaded, captured and checked that can be before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

from quintain.campaign.schedule import Slot
from quintain.candidates import Captured, materialise, staged_fixtures
from quintain.conditions import Conditions
from quintain.identity.canonical import digest
from quintain.model.campaign import Campaign, Candidate
from quintain.model.trial import Allowance, TrialOrder
from quintain.runs.plan import Template
from quintain.trial.fixtures import Fixtures, store_record
from quintain.trial.prepare import Prepared
from quintain.workspace.blobs import BlobStore

AA = "baseline-again"
"""Name of the candidate of an A/A campaign: the baseline under another name."""
AA_SEEDS = 1_000_003
"""What is added to its seeds."""


@frozen
class CandidateTemplate:
    """What all repetitions of one case under one profile share for one candidate.

    Attributes:
        number: by which the record of the campaign knows it.
        order: the order but for repetition, seed and allowance.
        prepared: its plugins.
        fixtures: the case's files with the candidate's laid in.
    """

    number: int
    order: TrialOrder
    prepared: Prepared
    fixtures: Fixtures


@define
class Ready:
    """A campaign that can run.

    Attributes:
        campaign: what is measured and how it is decided.
        digest: of that, but for the budget.
        captured: the subject as it stands.
        conditions: identity of everything else.
        templates: of the baseline, one for each case and profile.
        authored: the baseline, and the candidates that a person wrote.
        blobs: the store of file contents.
        clusters: of cases that are not independent.
        candidates: those admitted so far, by id.
    """

    campaign: Campaign
    digest: str
    captured: Captured
    conditions: Conditions
    templates: tuple[Template, ...]
    authored: tuple[Candidate, ...]
    blobs: BlobStore
    clusters: Mapping[str, str | None]
    candidates: dict[str, Candidate] = field(factory=dict)
    _made: dict[tuple[str, str, str], CandidateTemplate] = field(factory=dict)
    _keys: dict[tuple[str, str, str], str] = field(factory=dict)

    def admit(self, candidate: Candidate) -> Sequence[CandidateTemplate]:
        """Make the templates of a candidate; the order in which candidates are admitted numbers them."""
        first = len(self.candidates) * len(self.templates)
        self.candidates[candidate.id] = candidate
        tree = materialise(candidate, self.captured, self.blobs)
        subject = self.campaign.subject
        beside = store_record(tree, self.blobs) if subject.place == "beside" else None
        laid: dict[tuple[str | None, str | None], Fixtures] = {}
        made = []
        for number, template in enumerate(self.templates, first):
            fixtures, case = template.fixtures, template.order.case
            key = fixtures.visible_digest, fixtures.hidden_digest
            if key not in laid:
                laid[key] = fixtures if beside else staged_fixtures(fixtures, tree, subject.into, self.blobs)
            order = evolve(
                template.order,
                candidate=candidate.id,
                fixtures=laid[key].visible_digest,
                subject=beside,
            )
            mine = CandidateTemplate(number, order, template.prepared, laid[key])
            self._made[candidate.id, case.id, template.order.profile] = mine
            made.append(mine)
        return made

    def order(self, slot: Slot, bound: Allowance) -> tuple[TrialOrder, CandidateTemplate]:
        """The order of a slot, and its template."""
        template = self._made[slot.candidate, slot.case, slot.profile]
        order = evolve(
            template.order,
            trial=slot.trial,
            repetition=slot.repetition,
            seed=seed_of(self.campaign, slot.candidate, slot.repetition),
            allowance=bound,
        )
        return order, template

    def key(self, slot: Slot) -> str:
        """Digest of everything that decides the result of a slot, but chance."""
        place = slot.candidate, slot.case, slot.profile
        kind = self._keys.get(place)
        if kind is None:
            subject = self.campaign.subject
            kind = self._keys[place] = digest(
                {
                    "components": self.candidates[slot.candidate].digest,
                    "context": self.captured.context,
                    "place": [subject.place, subject.into],
                    "profile": self.conditions.profile(slot.profile),
                    "case": self.conditions.case(slot.case),
                }
            )
        return f"{kind}#{seed_of(self.campaign, slot.candidate, slot.repetition)}"


def seed_of(campaign: Campaign, candidate: str, repetition: int) -> int:
    """The seed of a trial, the same for all candidates: they differ in nothing but what is under test.

    In an A/A campaign that would leave no noise to be seen, so there the second baseline has seeds of its own.
    """
    own = AA_SEEDS if candidate == AA else 0
    return campaign.seed + own + repetition - 1
