"""Choosing among cases."""

from __future__ import annotations

import pytest
from quintain.authoring import select
from quintain.errors import UsageError
from quintain.model.case import Case

CASES = (
    Case("calculator/add[lang=py]", "p", tags=("smoke", "Fast")),
    Case("calculator/mean", "p", tags=("slow",)),
    Case("parser/and more", "p", tags=("smoke",)),
)
ADD, MEAN, PARSER = (case.id for case in CASES)


def chosen(**how: object) -> list[str]:
    return [case.id for case in select(CASES, **how)]  # type: ignore[arg-type]  # any arguments


def test_without_a_wish_all_are_chosen() -> None:
    assert select(CASES) == CASES


def test_one_of_several_tags_is_enough() -> None:
    assert chosen(tags=["smoke"]) == [ADD, PARSER]
    assert chosen(tags=["Fast", "slow"]) == [ADD, MEAN]
    assert chosen(tags=["smok"]) == []


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("add", [ADD]),
        ("ADD", [ADD]),
        ("fast", [ADD]),
        ("calculator and smoke", [ADD]),
        ("not calculator", [PARSER]),
        ("add or mean and slow", [ADD, MEAN]),
        ("(add or mean) and slow", [MEAN]),
        ("not (add or mean)", [PARSER]),
        ("not not add", [ADD]),
        ("lang=py]", [ADD]),
        ("calculator/", [ADD, MEAN]),
        ("'and more'", [PARSER]),
        ('"and"', [PARSER]),
        ("  mean  ", [MEAN]),
        ("nothing", []),
    ],
)
def test_words_and_operators(expression: str, expected: list[str]) -> None:
    assert chosen(expression=expression) == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "ends too early: a word is wanted"),
        ("add or", "ends too early: a word is wanted"),
        ("(add", "ends too early: `)` is wanted"),
        ("add mean", "`and` or `or` is wanted at character 5, not `mean`"),
        ("add )", "`and` or `or` is wanted at character 5, not `)`"),
        ("or add", "a word is wanted at character 1, not `or`"),
        ("a and (not)", "a word is wanted at character 11, not `)`"),
        ("add 'x", "has a quote that is not closed"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_place(expression: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(CASES, expression=expression)
    assert words in str(caught.value)


def test_ids_are_whole_or_patterns_and_must_be_there() -> None:
    assert chosen(ids=[ADD]) == [ADD]
    assert chosen(ids=["calculator/*"]) == [ADD, MEAN]
    assert chosen(ids=["*[lang=?y]", MEAN]) == [ADD, MEAN]
    with pytest.raises(UsageError, match=r"there is no case `calculator/meen`\n  did you mean `calculator/mean`"):
        select(CASES, ids=[ADD, "calculator/meen"])


def test_all_that_is_asked_for_must_fit() -> None:
    assert chosen(ids=["calculator/*"], tags=["smoke", "slow"], expression="mean") == [MEAN]
    assert chosen(ids=[MEAN], tags=["smoke"]) == []
