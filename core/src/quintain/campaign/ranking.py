"""The order of candidates: who may be chosen first, then objectives, then tie-breaks that are written down.

A rank is no decision. It says who is looked at first; whether that one is better is for the evidence to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from quintain.campaign.effects import sign_of
from quintain.model.campaign import BASELINE, Objective
from quintain.model.decision import Effect

_EVIDENCE = {"better": 0, "equivalent": 1, "unknown": 1, "worse": 2}


@frozen
class Contender:
    """What the order of one candidate depends on.

    Attributes:
        id: its name.
        eligible: it meets every constraint; None if that can't be told.
        violation: by how much it misses the worst.
        effects: its objectives, in order; empty for the baseline.
        worst_profile: the lowest mean pass rate on validation over the profiles, or None.
        bytes: size of its components.
    """

    id: str
    eligible: bool | None
    violation: float
    effects: tuple[Effect, ...]
    worst_profile: float | None
    bytes: int

    def gain(self, place: int, objective: Objective) -> float | None:
        """Estimated difference to the baseline, more is better; None if it is not known."""
        if self.id == BASELINE:
            return 0.0
        estimate = self.effects[place].difference.estimate if place < len(self.effects) else None
        return None if estimate is None else sign_of(objective) * estimate

    def evidence(self, place: int) -> int:
        """0 if it is shown to be better, 2 if worse, 1 otherwise."""
        return _EVIDENCE[self.effects[place].finding] if place < len(self.effects) else 1


def ranked(contenders: Sequence[Contender], objectives: Sequence[Objective]) -> list[tuple[int, Contender]]:
    """Contenders with their ranks, best first; those that nothing but their names tells apart share a rank.

    1. who meets every constraint, then those of whom it can't be told, then the others by their worst violation;
    2. each objective in order: shown to be better, then not shown to differ, then shown to be worse; then the larger
       estimated gain, unless it is within the objective's tolerance of the best;
    3. the higher pass rate under the worst profile, fewer bytes, the baseline before others, the name.
    """
    groups = _grouped(contenders, lambda one: ({True: 0, None: 1, False: 2}[one.eligible],))
    groups = [part for group in groups for part in _by_violation(group)]
    for place, objective in enumerate(objectives):
        groups = [part for group in groups for part in _by_objective(group, place, objective)]
    groups = [part for group in groups for part in _grouped(group, _tie_break)]
    found: list[tuple[int, Contender]] = []
    for group in groups:
        rank = len(found) + 1
        found += [(rank, one) for one in sorted(group, key=lambda one: (one.id != BASELINE, one.id))]
    return found


def frontier(contenders: Sequence[Contender], objectives: Sequence[Objective]) -> frozenset[str]:
    """Ids of those that no other is at least as good as in every objective and better in one, by their estimates."""
    known: Mapping[str, tuple[float, ...]] = {
        one.id: tuple(gain for gain in gains if gain is not None)
        for one in contenders
        if None not in (gains := tuple(one.gain(place, objective) for place, objective in enumerate(objectives)))
    }
    return frozenset(
        id
        for id, mine in known.items()
        if not any(all(b >= a for a, b in zip(mine, other, strict=True)) and other != mine for other in known.values())
    )


def _grouped(group: Sequence[Contender], key: Callable[[Contender], tuple[float, ...]]) -> list[list[Contender]]:
    parts: dict[tuple[float, ...], list[Contender]] = {}
    for one in group:
        parts.setdefault(key(one), []).append(one)
    return [parts[value] for value in sorted(parts)]


def _by_violation(group: Sequence[Contender]) -> list[list[Contender]]:
    """Among those that miss a constraint, the smaller violation first."""
    if not group or group[0].eligible is not False:
        return [list(group)]
    return _grouped(group, lambda one: (one.violation,))


def _by_objective(group: Sequence[Contender], place: int, objective: Objective) -> list[list[Contender]]:
    found = []
    for part in _grouped(group, lambda one: (one.evidence(place),)):
        known = [(gain, one) for one in part if (gain := one.gain(place, objective)) is not None]
        while known:
            best = max(gain for gain, _ in known)
            found.append([one for gain, one in known if gain >= best - objective.tolerance])
            known = [(gain, one) for gain, one in known if gain < best - objective.tolerance]
        if rest := [one for one in part if one.gain(place, objective) is None]:
            found.append(rest)
    return found


def _tie_break(one: Contender) -> tuple[float, ...]:
    return (-(one.worst_profile if one.worst_profile is not None else -1.0), one.bytes, one.id != BASELINE)
