"""Grading: the assertions of a case on the evidence of one trial, live or frozen, by one path.

Deterministic assertions run first, in order; judged ones run afterwards, all at once, and only if the trial can still
pass. An assertion that raises, returns nonsense or runs over its time abstains with an error; the others still run.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread
from attrs import field, frozen

from quintain.contracts.assertion import AssertionSpec, Evidence
from quintain.errors import AuthoringError, PluginError, QuintainError, RecordError, collected, raise_all
from quintain.identity.canonical import digest
from quintain.model.case import Assertion
from quintain.model.codec import from_plain, to_plain
from quintain.model.grade import AssertionResult, Grade, Status, Verdict
from quintain.model.plain import Finding
from quintain.model.usage import sum_spend
from quintain.plugins import Plugins


@frozen
class Check:
    """An assertion that is ready to be evaluated: its plugin is loaded and its configuration is right."""

    id: str
    assertion: Assertion
    spec: AssertionSpec[Any]
    config: Any
    nested: Mapping[int, Check] = field(factory=dict)


Key = tuple[str | int, ...]
"""A key inside a case or a profile, as its file says it."""


def prepare(
    assertions: Sequence[Assertion], plugins: Plugins, where: Callable[[Key], str] = lambda key: _dotted(key)
) -> tuple[Check, ...]:
    """Load and check all assertions of a case, those inside others too, before anything runs.

    Args:
        assertions: as the case states them.
        plugins: where their types come from.
        where: place of a key of the case, for errors.

    Raises:
        AuthoringError: a configuration is wrong, or two assertions have one id.
        PluginError: there is no such type, or it can't be loaded.
    """
    checks: list[Check] = []
    seen: dict[str, int] = {}
    errors: list[QuintainError] = []
    for index, assertion in enumerate(assertions):
        path = ("assertions", index)
        with collected(errors):
            check = _prepare(assertion, plugins, path, where)
            count = seen[check.id] = seen.get(check.id, 0) + 1
            if count > 1:
                if assertion.id is not None:
                    raise AuthoringError(f"two assertions have the id `{assertion.id}`", where=where((*path, "id")))
                check = Check(f"{check.id}-{count}", check.assertion, check.spec, check.config, check.nested)
            checks.append(check)
    raise_all(errors)
    return tuple(checks)


def _prepare(assertion: Assertion, plugins: Plugins, path: Key, where: Callable[[Key], str]) -> Check:
    try:
        spec = plugins.assertion(assertion.type)
    except PluginError as error:
        raise PluginError(error.message, where=where((*path, "type")), hint=error.hint) from error
    try:
        config = from_plain(assertion.config, spec.config)
    except RecordError as error:
        raise AuthoringError(error.message, where=where((*path, *error.path)), hint=error.hint) from error
    nested = {
        id(inner): _prepare(inner, plugins, (*path, "assertions", index), where)
        for index, inner in enumerate(spec.nested(config))
    }
    return Check(assertion.id or assertion.type, assertion, spec, config, nested)


def _dotted(key: Key) -> str:
    return ".".join(str(part) for part in key)


async def grade(
    checks: Sequence[Check],
    evidence: Evidence,
    *,
    limit_s: float,
    grader: str = "",
    findings: Sequence[Finding] = (),
) -> Grade:
    """Evaluate all checks.

    Args:
        checks: from `prepare`.
        evidence: of the trial; its `evaluate` must find nested assertions by `evaluate_nested`.
        limit_s: seconds for one assertion.
        grader: identity of what grades, from `identity`.
        findings: about tampering and leaks, found on the way.
    """
    results: dict[str, AssertionResult] = {}
    for check in checks:
        if not check.spec.judged:
            results[check.id] = await _result(check, evidence, limit_s)
    judged = [check for check in checks if check.spec.judged]
    if judged:
        lost = any(result.required and result.status is Status.FAIL for result in results.values())
        if lost:
            for check in judged:
                results[check.id] = _as_result(check, Verdict.abstain("not asked: the trial had already failed"), 0.0)
        else:
            await _judge(judged, evidence, limit_s, results)
    ordered = tuple(results[check.id] for check in checks)
    return Grade(
        passed=_passed(ordered),
        score=_score(ordered),
        results=ordered,
        findings=tuple(findings),
        identity=grader,
        spend=sum_spend(result.spend for result in ordered),
    )


async def _judge(
    checks: Sequence[Check], evidence: Evidence, limit_s: float, results: dict[str, AssertionResult]
) -> None:
    async def one(check: Check) -> None:
        results[check.id] = await _result(check, evidence, limit_s)

    async with anyio.create_task_group() as group:
        for check in checks:
            group.start_soon(one, check)


async def _result(check: Check, evidence: Evidence, limit_s: float) -> AssertionResult:
    began = time.monotonic()
    verdict, error = await evaluate(check, evidence, limit_s)
    return _as_result(check, verdict, time.monotonic() - began, error)


async def evaluate(check: Check, evidence: Evidence, limit_s: float) -> tuple[Verdict, str | None]:
    """One verdict, and what went wrong if the assertion itself did."""
    try:
        if check.spec.quick:
            return _checked(check.spec.evaluate(check.config, evidence)), None
        with anyio.fail_after(limit_s):
            return _checked(await _call(check, evidence)), None
    except TimeoutError:
        error = f"it took longer than {limit_s:g} s"
    except QuintainError as raised:
        error = str(raised)
    except Exception as raised:  # noqa: BLE001  # a plugin may raise anything, and it must cost only its own verdict
        error = f"{type(raised).__name__}: {raised}"
    return Verdict.abstain(f"could not judge: {error}"), error


async def _call(check: Check, evidence: Evidence) -> object:
    call = check.spec.evaluate
    if inspect.iscoroutinefunction(call):
        return await call(check.config, evidence)
    found = await anyio.to_thread.run_sync(call, check.config, evidence, abandon_on_cancel=True)
    return await found if inspect.isawaitable(found) else found


def _checked(verdict: object) -> Verdict:
    if not isinstance(verdict, Verdict):
        raise TypeError(f"an assertion returns a Verdict, not {type(verdict).__name__}")
    score = verdict.score
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise TypeError(f"a score is a number, not {score!r}")
    if score is not None and not (math.isfinite(score) and 0 <= score <= 1):
        raise ValueError(f"a score lies between 0 and 1, not {score!r}")
    return verdict


def _as_result(check: Check, verdict: Verdict, duration_s: float, error: str | None = None) -> AssertionResult:
    score = verdict.score
    if verdict.status is Status.ABSTAIN:
        score = None
    elif score is None:
        score = 1.0 if verdict.status is Status.PASS else 0.0
    return AssertionResult(
        id=check.id,
        type=check.assertion.type,
        status=verdict.status,
        score=score,
        reason=verdict.reason,
        required=check.assertion.required,
        weight=check.assertion.weight,
        error=error,
        detail=verdict.detail,
        duration_s=round(duration_s, 6),
        spend=verdict.spend,
    )


def _passed(results: Sequence[AssertionResult]) -> bool | None:
    required = [result.status for result in results if result.required]
    if Status.FAIL in required:
        return False
    if not required or Status.ABSTAIN in required:
        return None
    return True


def _score(results: Sequence[AssertionResult]) -> float | None:
    scored = [(result.score, result.weight) for result in results if result.score is not None]
    weight = math.fsum(weight for _, weight in scored)
    return math.fsum(score * weight for score, weight in scored) / weight if weight else None


def identity(checks: Sequence[Check], hidden: str | None) -> str:
    """Digest of what graded: assertions with the versions of their types, and the hidden fixtures."""
    return digest(
        {
            "assertions": [[to_plain(check.assertion), check.id, check.spec.version] for check in checks],
            "hidden": hidden,
        }
    )
