"""What the record of a run looks like: its tables, and the columns of a trial."""

from __future__ import annotations

import hashlib
import re
from typing import Any, TypeAlias

from attrs import converters, field, frozen

from quintain.model.codec import dumps, to_plain
from quintain.model.trial import TrialOrder, TrialReport

SCHEMA = 1
"""Version of the tables and of the records in them."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE orders (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE trials (
    seq INTEGER PRIMARY KEY,
    trial TEXT NOT NULL UNIQUE,
    case_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    candidate TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    template INTEGER NOT NULL REFERENCES orders (id),
    seed INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    scored INTEGER NOT NULL,
    passed INTEGER,
    score REAL,
    attempts INTEGER NOT NULL,
    duration_s REAL NOT NULL,
    tokens INTEGER,
    usd REAL,
    cost_state TEXT NOT NULL,
    report TEXT NOT NULL
);
CREATE TABLE traces (
    trial TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    events TEXT,
    raw TEXT,
    PRIMARY KEY (trial, attempt)
) WITHOUT ROWID;
CREATE TABLE gradings (
    id INTEGER PRIMARY KEY,
    trial TEXT NOT NULL,
    graded_at TEXT NOT NULL,
    identity TEXT NOT NULL,
    passed INTEGER,
    score REAL,
    grade TEXT NOT NULL
);
"""


Row: TypeAlias = tuple[Any, ...]
"""Values of the columns of a table, in their order."""


@frozen
class TrialRow:
    """What is counted of one trial, without its evidence."""

    trial: str
    case: str
    profile: str
    candidate: str
    repetition: int
    outcome: str
    scored: bool = field(converter=bool)
    passed: bool | None = field(converter=converters.optional(bool))
    score: float | None
    attempts: int
    duration_s: float
    tokens: int | None
    usd: float | None
    cost_state: str


def trial_file_name(trial: str) -> str:
    """A name for a trial's files that is safe on every file system, and distinct for distinct trials."""
    safe = re.sub(r"[^A-Za-z0-9._@#=,+-]", "_", trial.replace("/", "~"))
    if safe == trial.replace("/", "~") and "~" not in trial and len(safe) <= 150 and not safe.startswith("."):
        return safe
    return f"{safe[:150].lstrip('.')}-{hashlib.sha256(trial.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def row_of(order: TrialOrder, template: int, report: TrialReport) -> Row:
    """What is stored of a trial: the columns after `seq`."""
    spend = report.spend.total
    return (
        report.trial,
        report.case,
        report.profile,
        report.candidate,
        report.repetition,
        template,
        order.seed,
        report.outcome.kind.value,
        report.outcome.scored,
        report.passed,
        report.grade.score if report.grade else None,
        len(report.attempts),
        report.duration_s,
        spend.tokens.total if spend.tokens is not None else None,
        spend.cost.usd,
        spend.cost.state.value,
        dumps(to_plain(report)),
    )
