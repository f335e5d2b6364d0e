"""Quintain: is this change to my coding agent better, by how much, at what cost?

The public names of the package. They are loaded when they are first used, so that importing `quintain` costs nothing;
every other module is private and may move.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from quintain.version import VERSION as __version__

if TYPE_CHECKING:
    from quintain.api import run, run_campaign, run_sync
    from quintain.campaign.runner import Settlement
    from quintain.campaign.session import CampaignResult
    from quintain.contracts.answerer import Answerer, AnswererContext, AnswererSpec, Exchange
    from quintain.contracts.assertion import AssertionSpec, CommandResult, Content, Evidence, Files, check, of_type
    from quintain.contracts.command import Commands
    from quintain.contracts.configs import NoConfig
    from quintain.contracts.driver import (
        AgentProcess,
        Bound,
        Capability,
        DriverSpec,
        Executable,
        ExperimentPolicy,
        IdentityContext,
        Launch,
        Line,
        ModelEndpoint,
        Runtime,
        Session,
    )
    from quintain.contracts.preflight import answers_with, leaves_file, small_task, uses_tool
    from quintain.contracts.sink import Sink, SinkContext, SinkSpec
    from quintain.contracts.tables import assertion_from_table
    from quintain.errors import (
        AuthoringError,
        LaunchError,
        PluginError,
        PolicyViolation,
        ProcessGone,
        QuintainError,
        UsageError,
        WorkspaceError,
    )
    from quintain.functions import answerer_of, driver_of
    from quintain.hooks import hookimpl
    from quintain.model.campaign import (
        BASELINE,
        Budget,
        Campaign,
        Candidate,
        Constraint,
        Objective,
        Repetitions,
        Split,
        Stopping,
        Subject,
        Validation,
        Variant,
    )
    from quintain.model.case import Assertion, Case
    from quintain.model.decision import Decision, Effect, GateResult, Standing
    from quintain.model.events import (
        Answered,
        Artifact,
        Asked,
        Done,
        Event,
        Failed,
        Log,
        Message,
        Progress,
        ProtocolError,
        Ready,
        Reasoning,
        ToolCall,
        ToolResult,
        Traced,
        Unknown,
        Used,
    )
    from quintain.model.exit import Exit
    from quintain.model.grade import AssertionResult, Grade, Status, Verdict
    from quintain.model.interval import Interval, TestResult
    from quintain.model.limits import LimitOverrides, Limits, Retry
    from quintain.model.outcome import Failure, Outcome, OutcomeKind, Stage
    from quintain.model.plain import Finding, Plug
    from quintain.model.project import Profile
    from quintain.model.question import Answer, Option, Question
    from quintain.model.run import RunInfo, RunSummary, Tally
    from quintain.model.trial import Allowance, Attempt, Isolation, TrialOrder, TrialReport
    from quintain.model.usage import Cost, CostState, Spend, Tokens, Usage, disjoint, inclusive, reported_cost
    from quintain.plugins import Plugins
    from quintain.runs.control import Control
    from quintain.runs.run import RunResult

_HOMES = {
    "api": "run run_campaign run_sync",
    "campaign.runner": "Settlement",
    "campaign.session": "CampaignResult",
    "contracts.answerer": "Answerer AnswererContext AnswererSpec Exchange",
    "contracts.assertion": "AssertionSpec CommandResult Content Evidence Files check of_type",
    "contracts.command": "Commands",
    "contracts.configs": "NoConfig",
    "contracts.driver": "AgentProcess Bound Capability DriverSpec Executable ExperimentPolicy IdentityContext Launch "
    "Line ModelEndpoint Runtime Session",
    "contracts.preflight": "answers_with leaves_file small_task uses_tool",
    "contracts.sink": "Sink SinkContext SinkSpec",
    "contracts.tables": "assertion_from_table",
    "errors": "AuthoringError LaunchError PluginError PolicyViolation ProcessGone QuintainError UsageError WorkspaceError",
    "functions": "answerer_of driver_of",
    "hooks": "hookimpl",
    "model.campaign": "BASELINE Budget Campaign Candidate Constraint Objective Repetitions Split Stopping Subject Validation "
    "Variant",
    "model.case": "Assertion Case",
    "model.decision": "Decision Effect GateResult Standing",
    "model.events": "Answered Artifact Asked Done Event Failed Log Message Progress ProtocolError Ready Reasoning ToolCall "
    "ToolResult Traced Unknown Used",
    "model.exit": "Exit",
    "model.grade": "AssertionResult Grade Status Verdict",
    "model.interval": "Interval TestResult",
    "model.limits": "LimitOverrides Limits Retry",
    "model.outcome": "Failure Outcome OutcomeKind Stage",
    "model.plain": "Finding Plug",
    "model.project": "Profile",
    "model.question": "Answer Option Question",
    "model.run": "RunInfo RunSummary Tally",
    "model.trial": "Allowance Attempt Isolation TrialOrder TrialReport",
    "model.usage": "Cost CostState Spend Tokens Usage disjoint inclusive reported_cost",
    "plugins": "Plugins",
    "runs.control": "Control",
    "runs.run": "RunResult",
}
_HOME_BY_NAME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "BASELINE",
    "AgentProcess",
    "Allowance",
    "Answer",
    "Answered",
    "Answerer",
    "AnswererContext",
    "AnswererSpec",
    "Artifact",
    "Asked",
    "Assertion",
    "AssertionResult",
    "AssertionSpec",
    "Attempt",
    "AuthoringError",
    "Bound",
    "Budget",
    "Campaign",
    "CampaignResult",
    "Candidate",
    "Capability",
    "Case",
    "CommandResult",
    "Commands",
    "Constraint",
    "Content",
    "Control",
    "Cost",
    "CostState",
    "Decision",
    "Done",
    "DriverSpec",
    "Effect",
    "Event",
    "Evidence",
    "Exchange",
    "Executable",
    "Exit",
    "ExperimentPolicy",
    "Failed",
    "Failure",
    "Files",
    "Finding",
    "GateResult",
    "Grade",
    "IdentityContext",
    "Interval",
    "Isolation",
    "Launch",
    "LaunchError",
    "LimitOverrides",
    "Limits",
    "Line",
    "Log",
    "Message",
    "ModelEndpoint",
    "NoConfig",
    "Objective",
    "Option",
    "Outcome",
    "OutcomeKind",
    "Plug",
    "PluginError",
    "Plugins",
    "PolicyViolation",
    "ProcessGone",
    "Profile",
    "Progress",
    "ProtocolError",
    "Question",
    "QuintainError",
    "Ready",
    "Reasoning",
    "Repetitions",
    "Retry",
    "RunInfo",
    "RunResult",
    "RunSummary",
    "Runtime",
    "Session",
    "Settlement",
    "Sink",
    "SinkContext",
    "SinkSpec",
    "Spend",
    "Split",
    "Stage",
    "Standing",
    "Status",
    "Stopping",
    "Subject",
    "Tally",
    "TestResult",
    "Tokens",
    "ToolCall",
    "ToolResult",
    "Traced",
    "TrialOrder",
    "TrialReport",
    "Unknown",
    "Usage",
    "UsageError",
    "Used",
    "Validation",
    "Variant",
    "Verdict",
    "WorkspaceError",
    "__version__",
    "answerer_of",
    "answers_with",
    "assertion_from_table",
    "check",
    "disjoint",
    "driver_of",
    "hookimpl",
    "inclusive",
    "leaves_file",
    "of_type",
    "reported_cost",
    "run",
    "run_campaign",
    "run_sync",
    "small_task",
    "uses_tool",
]


def __getattr__(name: str) -> object:
    home = _HOME_BY_NAME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"quintain.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
