"""Assertions that are functions of a program, as plain data with plugins beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from quintain.contracts.assertion import AssertionSpec, Checked
from quintain.model.case import Assertion, Case
from quintain.plugins import Plugins


def with_checks(cases: Iterable[Case], plugins: Plugins) -> tuple[tuple[Case, ...], Plugins]:
    """Make plain assertions of functions; each function becomes a type of assertion of its own."""
    ready, specs = [], dict[int, AssertionSpec[Any]]()
    for case in cases:
        assertions = []
        for assertion in case.assertions:
            if isinstance(assertion, Checked) and assertion.spec is not None:
                spec = specs.setdefault(
                    id(assertion.spec), evolve(assertion.spec, name=f"{assertion.type}-{len(specs) + 1}")
                )
                assertion = Assertion(spec.name, id=assertion.id, required=assertion.required, weight=assertion.weight)
            assertions.append(assertion)
        ready.append(evolve(case, assertions=tuple(assertions)))
    return tuple(ready), plugins.with_(*specs.values())
