"""A step summary for GitHub: a table of the cases, and why trials did not pass."""

from __future__ import annotations

import html
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import frozen
from quintain import QuintainError, RunSummary, Sink, SinkContext, SinkSpec, TrialReport, hookimpl

from quintain_sinks._text import reasons, state

VARIABLE = "GITHUB_STEP_SUMMARY"
LIMIT = 900_000
"""GitHub takes a summary of up to 1 MiB."""
SHOWN = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@frozen
class GithubConfig:
    """`path` of the file, that of the step if not given; with `annotations` each failure is also an error of the step."""

    path: Path | None = None
    annotations: bool = False


def cell(text: str, limit: int = 300) -> str:
    """Text that stays in its cell of a Markdown table and does nothing there."""
    text = _CONTROL.sub(" ", text[:limit])
    text = html.escape(text, quote=False)
    return re.sub(r"([\\`*_{}\[\]()#+!|~:@-])", r"\\\1", text)


def command_text(text: str) -> str:
    """Text inside a workflow command."""
    return _CONTROL.sub(" ", text).replace("%", "%25").replace("::", ": :")


class _Github(Sink):
    def __init__(self, path: Path, context: SinkContext, annotations: bool) -> None:
        self._path = path
        self._output = context.output
        self._annotations = annotations
        self._problems: list[str] = []
        self._more = 0

    async def trial_ended(self, report: TrialReport) -> None:
        if state(report) == "passed":
            return
        why = reasons(report)
        first = why[0] if why else "no assertion decides"
        if self._annotations and state(report) == "failed":
            print(f"::error title=quintain::{command_text(report.trial)}: {command_text(first)}", file=self._output)
        if len(self._problems) < SHOWN:
            self._problems.append(f"| {cell(report.trial)} | {state(report)} | {cell(first)} |")
        else:
            self._more += 1

    async def run_ended(self, summary: RunSummary) -> None:
        lines = list(self._lines(summary))
        text = "\n".join(lines) + "\n"
        if len(text.encode()) > LIMIT:
            text = text.encode()[:LIMIT].decode("utf-8", "ignore") + "\n\nThe rest was left out: it is too long.\n"
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)

    def _lines(self, summary: RunSummary) -> list[str]:
        tally = summary.tally
        lines = [f"## Quintain: {tally.passed} of {tally.planned} passed", ""]
        if tally.missing and tally.bounds is not None:
            low, high = tally.bounds
            lines += [f"{tally.missing} trials are missing; the pass rate lies between {low:.1%} and {high:.1%}.", ""]
        lines += ["| case | profile | passed | score |", "|---|---|---|---|"]
        for one in summary.cases:
            score = f"{one.score:.2f}" if one.score is not None else ""
            lines.append(
                f"| {cell(one.case)} | {cell(one.profile)} | {one.tally.passed}/{one.tally.planned} | {score} |"
            )
        if self._problems:
            lines += ["", "| trial | | why |", "|---|---|---|", *self._problems]
        if self._more:
            lines += ["", f"{self._more} more are not shown."]
        if summary.reason:
            lines += ["", cell(f"{summary.status}: {summary.reason}")]
        return lines


@asynccontextmanager
async def _open(config: GithubConfig, context: SinkContext) -> AsyncIterator[Sink]:
    name = os.environ.get(VARIABLE)
    if config.path is None and not name:
        raise QuintainError(
            f"there is no {VARIABLE}, so this is no step of GitHub's", hint="give `path`, or leave the sink out"
        )
    yield _Github(context.project / config.path if config.path else Path(name or ""), context, config.annotations)


github = SinkSpec("github", _open, GithubConfig, summary="Writes a step summary for GitHub.")


@hookimpl
def quintain_sink() -> SinkSpec[GithubConfig]:
    """Declare `github`."""
    return github
