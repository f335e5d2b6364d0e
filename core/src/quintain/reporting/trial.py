"""A trial for people: in a few lines when it ends, on a page when it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quintain.model.events import (
    Answered,
    Asked,
    Done,
    Failed,
    Log,
    Message,
    Note,
    ProtocolError,
    Reasoning,
    ToolCall,
    ToolResult,
    Traced,
    Unknown,
)
from quintain.model.grade import AssertionResult, Grade, Status
from quintain.model.tree import ChangeSet
from quintain.model.trial import TrialOrder, TrialReport
from quintain.reporting.diff import diff_lines
from quintain.reporting.summary import mark, spend_text
from quintain.reporting.text import clean, clean_lines, short
from quintain.trial.fixtures import Fixtures
from quintain.workspace.blobs import BlobStore


def report_lines(report: TrialReport) -> Iterator[str]:
    """A trial that just ended; what went wrong explains itself."""
    score = report.grade.score if report.grade else None
    shown = f"  score {score:.2f}" if score is not None and score != 1 else ""
    yield f"{mark(report.passed, report.outcome.scored)}   {clean(report.trial)}  {report.duration_s:.1f} s{shown}"
    if report.outcome.kind != "completed":
        yield f"         {report.outcome.describe()}: {clean(short(report.outcome.reason, 500))}"
    for result in report.grade.results if report.grade else ():
        if result.status is not Status.PASS:
            yield f"         {_result(result)}"
    for finding in (*report.last.findings, *(report.grade.findings if report.grade else ())):
        yield f"         {finding.kind}: {clean(short(finding.message))}"


def _result(result: AssertionResult) -> str:
    kind = "" if result.required else ", not required"
    return f"{result.status.value} {clean(result.id)} ({result.type}{kind}): {clean(short(result.reason, 500))}"


def trial_lines(
    report: TrialReport,
    order: TrialOrder,
    trace: Sequence[Traced],
    fixtures: Fixtures,
    changes: ChangeSet,
    blobs: BlobStore,
    gradings: Sequence[tuple[str, Grade]] = (),
) -> Iterator[str]:
    """The page of a trial, with the last of its later gradings beside the first."""
    attempt = report.last
    yield f"trial {clean(report.trial)}: {mark(report.passed, report.outcome.scored).lower()}, {report.outcome.describe()}"
    if report.outcome.reason:
        yield f"    {clean(report.outcome.reason)}"
    if len(report.attempts) > 1:
        for one in report.attempts[:-1]:
            yield f"    attempt {one.number}: {one.outcome.describe()}: {clean(short(one.outcome.reason))}"
    agent = attempt.agent
    if agent is not None:
        parts = (agent.agent, agent.version, agent.model)
        yield f"agent      {clean(' '.join(part for part in parts if part) or 'says nothing of itself')}"
    yield f"driver     {order.driver.name}, sandbox {attempt.isolation}"
    yield f"spent      {spend_text(report.spend)}"
    yield f"time       {', '.join(f'{one.stage} {one.seconds:.2f} s' for one in attempt.stages)}"
    if attempt.exit is not None:
        yield f"exit       {attempt.exit.describe()}"
    for finding in (*attempt.findings, *(report.grade.findings if report.grade else ())):
        yield f"finding    {finding.kind}: {clean(finding.message)}"
    yield from _section("assertions", _assertions(report))
    if gradings:
        graded_at, grade = gradings[-1]
        yield from _section(f"graded again at {graded_at}", [_result(result) for result in grade.results])
    yield from _section("conversation", _conversation(trace))
    yield from _section("changes", diff_lines(fixtures.visible, changes, blobs))
    yield from _section("stderr", clean_lines(attempt.stderr.rstrip()) if attempt.stderr.strip() else ())


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    shown = False
    for line in lines:
        if not shown:
            yield ""
            yield title
            shown = True
        yield f"    {line}"


def _assertions(report: TrialReport) -> Iterator[str]:
    for result in report.grade.results if report.grade else ():
        yield _result(result)
        if result.error:
            yield f"    error: {clean(result.error)}"


def _conversation(trace: Sequence[Traced]) -> Iterator[str]:
    for line in trace:
        text = _said(line)
        if text is not None:
            late = " (late)" if line.late else ""
            yield f"{line.at_s:8.2f} s{late} {clean(short(text, 400))}"


def _said(line: Traced) -> str | None:
    event = line.event
    match event:
        case Message(text=text):
            return f"says: {text}"
        case Reasoning(text=text):
            return f"thinks: {text}"
        case ToolCall(name=name, input=given, id=id):
            return f"uses {name} [{id}]: {given}"
        case ToolResult(id=id, text=text, error=error):
            return f"gets [{id}]{' an error' if error else ''}: {text}"
        case Asked(question=question):
            return f"asks ({question.kind}): {question.text}"
        case Answered(answer=answer, by=by):
            said = (
                answer.text if answer.kind == "ask" else answer.approved if answer.kind == "approve" else answer.payload
            )
            return f"is told by {by}: {answer.reason if answer.refused else said}"
        case Done(text=text):
            return f"is done: {text or ''}"
        case Failed(reason=reason):
            return f"gives up: {reason}"
        case Log(text=text):
            return f"prints: {text}"
        case ProtocolError(message=message):
            return f"breaks the protocol: {message}"
        case Unknown(kind=kind):
            return f"sends an unknown {kind}"
        case Note(text=text):
            return f"note: {text}"
    return None
