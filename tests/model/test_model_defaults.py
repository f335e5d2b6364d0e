"""What equals its default is not stored, so a default is part of the format: who changes one here raises the version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from model.records import RECORDS
from quintain.model.codec import WHOLE
from quintain.model.limits import NO_OVERRIDES
from quintain.model.project import Profile, Project
from quintain.model.trial import Counts, SpendBreakdown
from quintain.model.usage import NO_SPEND, Cost, CostState
from quintain.runs.tables import SCHEMA

NEVER_STORED = (Profile, Project)

FORMAT = 1
DEFAULTS: Mapping[str, Any] = {
    "Answered.delivered": True,
    "AssertionResult.required": True,
    "AssertionResult.spend": NO_SPEND,
    "AssertionResult.weight": 1.0,
    "Attempt.counts": Counts(),
    "Attempt.isolation": "none",
    "Attempt.spend": SpendBreakdown(),
    "Candidate.proposer": "author",
    "Case.limits": NO_OVERRIDES,
    "Cost.state": CostState.UNKNOWN,
    "Decision.alpha": 0.05,
    "Exit.stop": "none",
    "Grade.spend": NO_SPEND,
    "Interval.comparisons": 1,
    "Interval.side": "two-sided",
    "Log.stream": "stdout",
    "RunInfo.concurrency": 1,
    "RunInfo.repeat": 1,
    "Spend.complete": True,
    "Spend.cost": Cost.free(),
    "SpendBreakdown.agent": NO_SPEND,
    "SpendBreakdown.answerer": NO_SPEND,
    "SpendBreakdown.judge": NO_SPEND,
    "Standing.spend": NO_SPEND,
    "TestResult.side": "two-sided",
    "TrialFigures.outcome": "completed",
    "TrialFigures.spend": NO_SPEND,
    "Usage.cost": Cost(),
    "Usage.scope": "call",
    "Verdict.spend": NO_SPEND,
}
"""Of stored records, every default that is more than nothing."""


def default_of(attribute: attrs.Attribute[Any]) -> Any:
    default: Any = attribute.default
    return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]  # a class


def is_nothing(value: Any) -> bool:
    return (
        value is attrs.NOTHING or value is False or value in (None, "", (), {}) or (value == 0 and value is not False)
    )


def test_no_default_of_a_stored_record_changes_within_one_version_of_the_format() -> None:
    assert SCHEMA == FORMAT, "state here the defaults of the new version"
    stored = [cls for cls in RECORDS if cls not in (*WHOLE, *NEVER_STORED)]
    found = {f"{cls.__name__}.{one.name}": default_of(one) for cls in stored for one in attrs.fields(cls)}
    assert {name: value for name, value in found.items() if not is_nothing(value)} == DEFAULTS
