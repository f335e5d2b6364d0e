"""In which order trials run: in randomised blocks, so that time can't pass for an effect.

A block is one case, one repetition and one profile with every candidate that is compared, in random order: all of them
meet the case close in time, and a model service that drifts drifts for all alike.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import field, frozen

from quintain.runs.plan import trial_name


@frozen
class Slot:
    """One trial that is to be run.

    Attributes:
        candidate: id of the candidate.
        split: which split its case is in.
        case: id of the case.
        profile: name of the profile.
        repetition: from 1.
        trial: its name: `short:greet/hello@default#1`.
    """

    candidate: str
    split: str
    case: str
    profile: str
    repetition: int
    trial: str = field(init=False, eq=False)

    @trial.default
    def _named(self) -> str:
        return f"{self.candidate}:{trial_name(self.case, self.profile, self.repetition)}"


Block = tuple[Slot, ...]


def blocks(
    candidates: Sequence[str],
    split: str,
    cases: Sequence[str],
    profiles: Sequence[str],
    repetitions: int,
    *,
    seed: int,
    case_by_case: bool = False,
) -> tuple[Block, ...]:
    """The blocks of one split in the order in which they run; the same for the same arguments on every machine.

    Args:
        candidates: ids, the baseline among them.
        split: name of the split.
        cases: ids of its cases.
        profiles: names of the profiles.
        repetitions: how often each case runs.
        seed: of the order.
        case_by_case: all blocks of a case before those of the next, so that a case is whole as early as it can be.
    """
    # A number for each split of its own: its order must not depend on which splits ran before.
    order = random.Random(f"{seed}/{split}/{'/'.join(candidates)}")
    places = [(case, profile, number) for case in cases for profile in profiles for number in range(1, repetitions + 1)]
    order.shuffle(places)
    if case_by_case:
        turns = {case: turn for turn, case in enumerate(case_order(cases, split, seed=seed))}
        places.sort(key=lambda place: turns[place[0]])
    return tuple(
        tuple(Slot(candidate, split, case, profile, number) for candidate in order.sample(candidates, len(candidates)))
        for case, profile, number in places
    )


def case_order(cases: Sequence[str], split: str, *, seed: int) -> tuple[str, ...]:
    """The order in which cases become whole if all blocks of one run before the next.

    It does not depend on the candidates, so that a decision can look at the cases as they were watched.

    Args:
        cases: ids, in any order.
        split: name of their split.
        seed: of the order.
    """
    return tuple(random.Random(f"{seed}/{split}/cases").sample(sorted(cases), len(cases)))
