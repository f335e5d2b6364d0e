"""The results of a case's assertions on one trial."""

from __future__ import annotations

from enum import StrEnum

from attrs import field, frozen

from quintain.model.plain import Finding, Json
from quintain.model.usage import NO_SPEND, Spend


class Status(StrEnum):
    """What an assertion found."""

    PASS = "pass"
    FAIL = "fail"
    ABSTAIN = "abstain"
    """It could not be judged, or it has nothing to say; never counted as a pass or a fail."""


@frozen
class Verdict:
    """What an assertion plugin returns.

    Attributes:
        status: pass, fail or abstain.
        reason: one sentence for people that quotes what was found.
        score: 0 to 1 where it grades by degree; 1 or 0 by its status if not given.
        detail: evidence as plain data.
        spend: what judging it cost.
    """

    status: Status
    reason: str = ""
    score: float | None = None
    detail: Json = None
    spend: Spend = NO_SPEND

    @classmethod
    def passed(cls, reason: str = "", *, score: float | None = None, detail: Json = None) -> Verdict:
        """The evidence is as it should be."""
        return cls(Status.PASS, reason, score, detail)

    @classmethod
    def failed(cls, reason: str, *, score: float | None = None, detail: Json = None) -> Verdict:
        """The evidence is not as it should be."""
        return cls(Status.FAIL, reason, score, detail)

    @classmethod
    def abstain(cls, reason: str, *, detail: Json = None) -> Verdict:
        """It can't be judged, and this is why."""
        return cls(Status.ABSTAIN, reason, None, detail)

    @classmethod
    def of(cls, ok: bool, reason: str, *, detail: Json = None) -> Verdict:
        """Pass or fail by a condition."""
        return cls(Status.PASS if ok else Status.FAIL, reason, None, detail)


@frozen
class AssertionResult:
    """One assertion's verdict in its place.

    Attributes:
        id: unique within the case.
        type: name of the assertion plugin.
        status: pass, fail or abstain.
        score: 0 to 1, or None if it abstained.
        reason: one sentence for people.
        error: the assertion itself went wrong (it then abstains): it raised, hung, or returned nonsense.
        duration_s: how long it took.
    """

    id: str
    type: str
    status: Status
    score: float | None
    reason: str
    required: bool = True
    weight: float = 1.0
    error: str | None = None
    detail: Json = None
    duration_s: float = 0.0
    spend: Spend = NO_SPEND


@frozen
class Grade:
    """All assertions of one trial.

    Attributes:
        passed: False if a required assertion failed, None if one abstained (or there is none), else True.
        score: weighted mean over the assertions that did not abstain, or None.
        results: in the case's order.
        findings: tampering, leaks and the like.
        identity: digest of what graded: assertions, their plugins' versions, hidden fixtures.
        spend: of the judges.
    """

    passed: bool | None
    score: float | None
    results: tuple[AssertionResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    identity: str = ""
    spend: Spend = field(default=NO_SPEND)

    @property
    def judged(self) -> bool:
        """No assertion went wrong."""
        return not any(result.error for result in self.results)
