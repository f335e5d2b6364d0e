"""What can be measured of a trial or a candidate, and the figures of one trial.

A metric that is not known of a trial is absent from its figures: it is never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from attrs import frozen

from quintain.model.decision import TrialFigures
from quintain.model.outcome import OutcomeKind
from quintain.model.trial import TrialReport
from quintain.model.usage import CostState, Spend, sum_spend


@frozen
class Metric:
    """Something that can be asked for in constraints and objectives.

    Attributes:
        name: as it is written in a campaign.
        describe: what it is, for people.
        direction: in which direction it gets better.
        unit: of its values, "" for shares and counts.
        unit_interval: every value is in [0, 1], so that bounded procedures hold.
        binary: every value of one trial is 0 or 1.
        of: "trial" if each trial has a value; "candidate" if it is one number that needs no trial of its own.
        missing: what becomes of trials of which it is not known.
    """

    name: str
    describe: str
    direction: Literal["minimize", "maximize"]
    missing: str
    unit: str = ""
    unit_interval: bool = False
    binary: bool = False
    of: Literal["trial", "candidate"] = "trial"


_NO_VERDICT = "trials without a verdict are missing: counted, shown, and bounded by all failing and all passing"
_NO_REPORT = "trials that report none are unknown: a constraint can't be met by the known ones alone"
_NO_END = "trials that infrastructure ended say nothing of it; what they cost is in the spend"


def _trial(name: str, describe: str, missing: str = _NO_END, unit: str = "") -> Metric:
    return Metric(name, describe, "minimize", missing, unit)


_ALL = (
    Metric("pass_rate", "share of trials that pass", "maximize", _NO_VERDICT, unit_interval=True, binary=True),
    Metric("score", "mean score of the assertions, 0 to 1", "maximize", _NO_VERDICT, unit_interval=True),
    Metric(
        "case_regressions",
        "cases whose pass rate is below that of the baseline",
        "minimize",
        _NO_VERDICT,
        unit="cases",
        of="candidate",
    ),
    _trial("cost_usd", "cost of the agent and the answerer, all attempts", _NO_REPORT, "USD"),
    _trial("tokens", "tokens of the agent and the answerer of all kinds, all attempts", _NO_REPORT, "tokens"),
    _trial("tokens_input", "uncached input tokens", _NO_REPORT, "tokens"),
    _trial("tokens_output", "output tokens, reasoning included", _NO_REPORT, "tokens"),
    _trial("tokens_cache_read", "input tokens read from a cache", _NO_REPORT, "tokens"),
    _trial("tokens_cache_write", "input tokens written to a cache", _NO_REPORT, "tokens"),
    _trial("duration_s", "seconds of the attempt that counts, grading left out", unit="s"),
    _trial("questions", "questions that the agent asked"),
    _trial("tool_calls", "tool calls"),
    _trial("tool_errors", "tool calls that failed"),
    _trial("attempts", "attempts that it took; more than 1 only if infrastructure failed"),
    Metric(
        "subject_bytes", "size of the candidate's components", "minimize", "always known", unit="bytes", of="candidate"
    ),
)

METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ALL})
"""Every metric by its name."""


def figures_of(report: TrialReport, split: str, cluster: str | None) -> TrialFigures:
    """What is counted of one trial.

    Args:
        report: of the trial.
        split: which split its case is in.
        cluster: of its case; None is a cluster of its own.
    """
    score = report.grade.score if report.outcome.scored and report.grade is not None else None
    metrics: dict[str, float] = {}
    if report.passed is not None:
        metrics["pass_rate"] = float(report.passed)
    if score is not None:
        metrics["score"] = score
    # A grader that failed says nothing of the agent, which ran to its end; infrastructure that failed cut it short.
    if report.outcome.scored or report.outcome.kind is OutcomeKind.GRADER_FAILED:
        metrics.update(_behaviour(report))
        metrics.update(_spent(sum_spend((report.spend.agent, report.spend.answerer))))
    return TrialFigures(
        candidate=report.candidate,
        profile=report.profile,
        split=split,
        case=report.case,
        repetition=report.repetition,
        scored=report.passed is not None or score is not None,
        metrics=metrics,
        cluster=cluster,
        spend=report.spend.total,
        outcome=report.outcome.describe(),
        trial=report.trial,
    )


def _behaviour(report: TrialReport) -> dict[str, float]:
    last = report.last
    return {
        "duration_s": float(last.duration_s),
        "questions": float(last.counts.questions),
        "tool_calls": float(last.counts.tool_calls),
        "tool_errors": float(last.counts.tool_errors),
        "attempts": float(len(report.attempts)),
    }


def _spent(spend: Spend) -> dict[str, float]:
    known: dict[str, float] = {}
    if spend.cost.state is not CostState.UNKNOWN and spend.cost.usd is not None:
        known["cost_usd"] = float(spend.cost.usd)
    if spend.tokens is not None and spend.complete:
        known["tokens"] = float(spend.tokens.total)
        known["tokens_input"] = float(spend.tokens.input)
        known["tokens_output"] = float(spend.tokens.output)
        known["tokens_cache_read"] = float(spend.tokens.cache_read)
        known["tokens_cache_write"] = float(spend.tokens.cache_write)
    return known
