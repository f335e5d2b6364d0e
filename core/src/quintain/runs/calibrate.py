"""Tries the instrument before it is used: a right solution must pass a case's grader each time, an empty one never.

Both are agents like any other, so what grades them is what grades an agent, and their evidence is a run that can be
looked at.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Literal

import anyio.to_thread
from attrs import evolve, frozen

from quintain.contracts.driver import Launch
from quintain.functions import driver_of
from quintain.model.case import Case
from quintain.model.events import Done, Event, Message, Ready
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.trial import TrialReport
from quintain.plugins import Plugins
from quintain.runs.control import Control
from quintain.runs.plan import make_plan
from quintain.runs.run import RunResult, Settings, run_plan
from quintain.workspace.blobs import BlobStore

Solution = Literal["reference", "empty"]

REFERENCE: Solution = "reference"
EMPTY: Solution = "empty"


@frozen
class Calibration:
    """What the solutions of one case came to.

    Attributes:
        case: its id.
        times: how often each solution was graded.
        reference: how often the reference solution passed, or None if the case has none.
        empty: how often the empty solution passed.
        missing: trials without a verdict.
        reasons: why the case can't be trusted, one sentence each that names the evidence; empty if it can.
    """

    case: str
    times: int
    reference: int | None
    empty: int
    missing: int
    reasons: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Its grader tells right from nothing, as far as that was tried."""
        return not self.reasons


async def _reference(launch: Launch) -> AsyncIterator[Event]:
    """The right solution, as the case states it."""
    yield Ready(agent="reference")
    if launch.case.reference is not None:
        await anyio.to_thread.run_sync(_lay, launch.case.reference, launch.workspace)
    if launch.case.reference_answer is not None:
        yield Message(launch.case.reference_answer)
    yield Done(launch.case.reference_answer)


async def _empty(launch: Launch) -> AsyncIterator[Event]:
    """No solution at all."""
    yield Ready(agent="empty")
    yield Done(None)


def _lay(reference: Path, workspace: Path) -> None:
    shutil.copytree(reference, workspace, symlinks=True, dirs_exist_ok=True)


_DRIVERS = (driver_of(_reference, name="quintain-reference"), driver_of(_empty, name="quintain-empty"))


async def calibrate(
    cases: Sequence[Case],
    plugins: Plugins,
    settings: Settings,
    *,
    times: int = 3,
    control: Control | None = None,
) -> tuple[tuple[Calibration, ...], RunResult]:
    """Grade the reference solution and the empty solution of each case so often.

    Args:
        cases: which; one without a reference is tried with the empty solution alone.
        plugins: where assertions come from.
        settings: how to run it.
        times: how often each solution is graded.
        control: stops it from outside.

    Returns:
        What was found, case by case, and the run that has the evidence.

    Raises:
        QuintainError: a case can't be run.
    """
    known = plugins.with_(*_DRIVERS)
    blobs = BlobStore(settings.store / "blobs")
    # The case's own agent and answerer don't take part.
    bare = [evolve(case, driver=None, answerer=None) for case in cases]
    solved = [case for case in bare if case.reference is not None or case.reference_answer is not None]
    plan = make_plan(bare, [Profile(EMPTY, Plug("quintain-empty"))], known, blobs, repeat=times)
    if solved:
        right = make_plan(solved, [Profile(REFERENCE, Plug("quintain-reference"))], known, blobs, repeat=times)
        plan = evolve(plan, templates=(*right.templates, *plan.templates))
    found: dict[tuple[str, str], list[TrialReport]] = {}

    def heard(report: TrialReport) -> None:
        found.setdefault((report.case, report.profile), []).append(report)

    result = await run_plan(plan, known, settings, control=control, on_report=heard)
    has = {case.id for case in solved}
    return tuple(
        _calibration(case.id, times, found.get((case.id, REFERENCE)) if case.id in has else None, found)
        for case in bare
    ), result


def _calibration(
    case: str,
    times: int,
    reference: list[TrialReport] | None,
    found: dict[tuple[str, str], list[TrialReport]],
) -> Calibration:
    empty = found.get((case, EMPTY), [])
    every = [*(reference or ()), *empty]
    right = None if reference is None else sum(report.passed is True for report in reference)
    wrong = sum(report.passed is True for report in empty)
    planned = times * (1 if reference is None else 2)
    missing = planned - sum(report.passed is not None for report in every)
    reasons = []
    if right is not None and right < sum(report.passed is not None for report in reference or ()):
        reasons.append(f"its reference solution passed {right} of {times}{_first(reference or (), passed=False)}")
    if wrong:
        reasons.append(f"the empty solution passed {wrong} of {times}{_first(empty, passed=True)}")
    if missing:
        reasons.append(f"{missing} of {planned} gradings came to no verdict{_first(every, passed=None)}")
    return Calibration(case, times, right, wrong, missing, tuple(reasons))


def _first(reports: Iterable[TrialReport], *, passed: bool | None) -> str:
    """Where to look, and what is said there."""
    for report in reports:
        if report.passed is not passed:
            continue
        failed = [one for one in (report.grade.results if report.grade else ()) if one.required and one.score != 1.0]
        why = (
            f": {failed[0].id}: {failed[0].reason}"
            if failed
            else f": {report.outcome.reason}"
            if passed is None
            else ""
        )
        return f" ({report.trial}{why})"
    return ""
