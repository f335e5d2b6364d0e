"""Trials run in blocks in which every candidate meets the same case close in time."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from quintain.campaign.schedule import blocks

names = st.lists(st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=5, unique=True)


@given(names, names, names, st.integers(1, 4), st.integers(), st.booleans())
def test_every_trial_is_there_once_and_each_block_holds_every_candidate(
    candidates: list[str], cases: list[str], profiles: list[str], repetitions: int, seed: int, case_by_case: bool
) -> None:
    made = blocks(candidates, "validation", cases, profiles, repetitions, seed=seed, case_by_case=case_by_case)
    seen = Counter((slot.candidate, slot.case, slot.profile, slot.repetition) for block in made for slot in block)
    assert set(seen.values()) == {1}
    assert len(seen) == len(candidates) * len(cases) * len(profiles) * repetitions
    for block in made:
        assert sorted(slot.candidate for slot in block) == sorted(candidates)
        assert len({(slot.case, slot.profile, slot.repetition) for slot in block}) == 1
    assert made == blocks(candidates, "validation", cases, profiles, repetitions, seed=seed, case_by_case=case_by_case)


@given(st.integers())
def test_case_by_case_a_case_is_whole_before_the_next_begins(seed: int) -> None:
    cases = [f"c{number}" for number in range(8)]
    made = blocks(["baseline", "x"], "validation", cases, ["p", "q"], 3, seed=seed, case_by_case=True)
    order = [block[0].case for block in made]
    assert sorted(set(order), key=order.index) == [order[at] for at in range(0, len(order), 6)]


def test_the_order_of_cases_and_of_candidates_is_mixed_and_comes_from_the_seed() -> None:
    cases = [f"c{number}" for number in range(20)]
    first, second = (blocks(["a", "b", "c"], "validation", cases, ["p"], 2, seed=seed) for seed in (1, 2))
    assert first != second
    assert len({block[0].candidate for block in first}) == 3
    positions = Counter(
        block[0].candidate for seed in range(200) for block in blocks("abc", "v", ["x"], ["p"], 1, seed=seed)
    )
    assert min(positions.values()) > 30


def test_trials_are_named_by_candidate_case_profile_and_repetition() -> None:
    ((slot,),) = blocks(["short"], "test", ["greet/hello"], ["fast"], 1, seed=0)
    assert slot.trial == "short:greet/hello@fast#1"
