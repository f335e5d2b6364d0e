"""Says why an agent that was tried does not work, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quintain.contracts.driver import Capability
from quintain.contracts.preflight import ANSWER
from quintain.model.events import ToolResult
from quintain.model.grade import Status
from quintain.model.outcome import Failure, Outcome, OutcomeKind
from quintain.model.trial import TrialReport
from quintain.trial.prepare import Prepared

QUOTED = 300
"""Characters of a tool's words that are told."""

_SANDBOX = re.compile(
    r"sandbox|bwrap|bubblewrap|landlock|seccomp|unshare|user namespace|uid.map|read-only file system"
    r"|operation not permitted",
    re.IGNORECASE,
)
"""What a command says that a sandbox kept from running."""


def problems_of(prepared: Prepared, report: TrialReport, results: Sequence[ToolResult]) -> Iterator[str]:
    """Why it does not work; nothing if it does."""
    outcome, counts = report.outcome, report.last.counts
    all_failed = 0 < counts.tool_calls <= counts.tool_errors
    if outcome.kind is not OutcomeKind.COMPLETED:
        yield f"it ended as {outcome.describe()}: {outcome.reason}"
    if Capability.TOOL_EVENTS in prepared.runtime.capabilities:
        if all_failed:
            yield _all_failed(counts.tool_calls, results)
        elif not counts.tool_calls and outcome.kind is OutcomeKind.COMPLETED and _needs_tools(prepared):
            yield "it used no tool"
    if report.grade is None:
        return
    missed = [result for result in report.grade.results if result.required and result.status is not Status.PASS]
    if missed and not all_failed and (words := _last_words(results)):
        yield f"a tool call failed: {words}"
    for result in missed:
        yield result.reason
    if not any(result.required for result in report.grade.results):
        yield "its driver's preflight requires nothing, so it can't show anything"


def _needs_tools(prepared: Prepared) -> bool:
    """The case asks for more than an answer."""
    return any(check.id != ANSWER for check in prepared.checks)


def _all_failed(calls: int, results: Sequence[ToolResult]) -> str:
    how = "failed"
    # First: an agent whose sandbox does not work may ask to do without it, and be refused.
    if _sandboxed(results):
        how = "was stopped, as it seems by the agent's own sandbox"
    elif _denied(results):
        how = "was refused by a permission"
    first = "its only tool call" if calls == 1 else f"each of its {calls} tool calls"
    words = _last_words(results)
    return f"{first} {how}" + (f": {words}" if words else "")


def _last_words(results: Sequence[ToolResult]) -> str:
    """What the last tool that failed with words said, quoted; empty if none did."""
    said = next((result.text.strip() for result in reversed(results) if result.error and result.text.strip()), "")
    return repr(said if len(said) <= QUOTED else f"{said[:QUOTED]}...") if said else ""


def _denied(results: Sequence[ToolResult]) -> bool:
    return any(result.denied for result in results)


def _sandboxed(results: Sequence[ToolResult]) -> bool:
    return any(result.error and _SANDBOX.search(result.text) for result in results)


def advice_for(outcome: Outcome, results: Sequence[ToolResult]) -> str:
    """What to do."""
    if outcome.failure is Failure.AUTH:
        return "Log the agent in, or set the variable that holds its key; quintain doctor says which."
    if outcome.failure is Failure.MISSING:
        return "Install what is missing; quintain doctor says what is there."
    if outcome.failure in (Failure.RATE_LIMIT, Failure.OVERLOAD, Failure.NETWORK):
        return "Wait until its model's server takes requests from here, or name another in the profile's driver.config."
    if outcome.kind is OutcomeKind.INVALID:
        return "Ask in the profile for the model that is served."
    if _sandboxed(results):
        return (
            "Change the agent's own sandbox in the profile's driver.config; isolation.sandbox puts another around it."
        )
    if _denied(results):
        return "Allow its tools in the profile's driver.config, or choose an answerer that approves."
    return "See what the profile's driver.config lets it do, and try the agent by hand on this machine."
