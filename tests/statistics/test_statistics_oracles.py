"""The procedures agree with values that other programs printed."""

from __future__ import annotations

import pytest
from quintain.statistics import clopper_pearson, jeffreys, wilson

PRINTED = {
    (8, 10): ((0.4901624715, 0.9433178485), (0.4439045377, 0.9747892737), (0.4972255036, 0.9559405864)),
    (0, 10): ((0.0, 0.2775327999), (0.0, 0.3084971078), (4.78904e-05, 0.2171962675)),
    (10, 10): ((0.7224672001, 1.0), (0.6915028922, 1.0), (0.7828037325, 0.9999521096)),
    (45, 100): ((0.3561453798, 0.54755397), (0.3503202292, 0.5527198112), (0.3550769419, 0.547771008)),
    (137, 164): ((0.7710631896, 0.884317196), (0.7695795843, 0.8886134049), (0.7729861187, 0.8860352738)),
    (0, 30): ((0.0, 0.1135133932), (0.0, 0.1157033082), (1.62319e-05, 0.0796781738)),
}


@pytest.mark.parametrize("counts", PRINTED, ids=str)
def test_intervals_of_proportions_are_those_that_were_printed(counts: tuple[int, int]) -> None:
    for procedure, (low, high) in zip((wilson, clopper_pearson, jeffreys), PRINTED[counts], strict=True):
        found = procedure(*counts)
        assert found.estimate == counts[0] / counts[1]
        assert (found.low, found.high) == (pytest.approx(low, abs=1e-10), pytest.approx(high, abs=1e-10))
