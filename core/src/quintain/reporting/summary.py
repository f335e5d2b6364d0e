"""A run in a few lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from quintain.model.run import RunInfo, RunSummary, Tally
from quintain.model.trial import SpendBreakdown
from quintain.model.usage import Spend
from quintain.reporting.text import clean
from quintain.runs.tables import TrialRow


def tally_text(tally: Tally) -> str:
    """`7 of 8 passed, 1 failed`; what is missing is named and bounded."""
    parts = [f"{tally.passed} of {tally.planned} passed", f"{tally.failed} failed"]
    if tally.ungraded:
        parts.append(f"{tally.ungraded} not graded (no assertion decides)")
    parts += [f"{count} {kind}" for kind, count in sorted(tally.unscored.items())]
    if tally.not_started:
        parts.append(f"{tally.not_started} not started")
    text = ", ".join(parts)
    if tally.missing and tally.bounds is not None:
        low, high = tally.bounds
        rate = f"{tally.rate:.1%}" if tally.rate is not None else "unknown"
        text += f"\npass rate {rate} of {tally.graded} graded; between {low:.1%} and {high:.1%} whatever is missing"
    return text


def spend_text(spend: SpendBreakdown) -> str:
    """`120 tokens, $0.0300` for each who spent; what is unknown is said to be."""
    parts = [("agent", spend.agent), ("answerer", spend.answerer), ("judge", spend.judge)]
    said = [f"{who}: {_spend(one)}" for who, one in parts if who == "agent" or one.calls]
    return "; ".join(said)


def _spend(spend: Spend) -> str:
    tokens = f"{spend.tokens.total} tokens" if spend.tokens is not None else "tokens unknown"
    if spend.tokens is not None and not spend.complete:
        tokens = f"at least {tokens}"
    return f"{tokens}, cost {spend.cost.describe()}"


def summary_lines(summary: RunSummary, directory: Path, *, project: Path | None = None) -> Iterator[str]:
    """What stands at the end of `quintain run`.

    Args:
        summary: of the run.
        directory: the run's.
        project: where commands find the run, if that is not where we are.
    """
    yield ""
    several = any(case.tally.planned > 1 for case in summary.cases)
    if several:
        for case in summary.cases:
            score = f"  score {case.score:.2f}" if case.score is not None else ""
            yield f"{clean(case.case)} ({case.profile}): {case.tally.passed}/{case.tally.planned}{score}"
        yield ""
    yield from tally_text(summary.tally).split("\n")
    yield f"spent   {spend_text(summary.spend)}"
    yield f"time    {summary.duration_s:.1f} s"
    if summary.reason:
        yield f"{summary.status}: {clean(summary.reason)}"
    for warning in summary.warnings:
        yield f"warning: {clean(warning)}"
    yield f"stored  {directory}"
    yield f"look    {f'cd {shlex.quote(str(project))} && ' if project else ''}quintain show last"


def run_lines(info: RunInfo, summary: RunSummary | None, rows: Iterable[TrialRow]) -> Iterator[str]:
    """A run with its trials, one line each."""
    yield f"run {info.id}, {info.started_at}, quintain {info.version}"
    yield f"    {info.platform}"
    for use in info.plugins:
        yield f"    {use.kind} {use.name}: {use.distribution or 'passed in code'} {use.version or ''}".rstrip()
    yield ""
    for row in rows:
        yield f"{mark(row.passed, row.scored)} {clean(row.trial)}  {row.outcome}{_score(row.score)}  {row.duration_s:.1f} s"
    yield ""
    if summary is None:
        yield "the run did not come to its end"
        return
    yield from tally_text(summary.tally).split("\n")
    yield f"spent   {spend_text(summary.spend)}"


def mark(passed: bool | None, scored: bool) -> str:
    """A word of six letters for how a trial went."""
    if passed is None:
        return "ungrad" if scored else "missng"
    return "passed" if passed else "FAILED"


def _score(score: float | None) -> str:
    return "" if score is None or score in (0.0, 1.0) else f"  score {score:.2f}"
