"""A campaign: what is under test, on which cases, under which budget, and what counts as better."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen

from quintain.errors import RecordError
from quintain.model.bounds import above_zero, at_least
from quintain.model.case import Case
from quintain.model.plain import quoted
from quintain.model.project import Profile
from quintain.model.trial import Allowance

BASELINE = "baseline"
"""Name of the candidate that is the source as it stands."""

SPLITS = ("train", "validation", "test")

EXCLUDED = (
    "**/.git/**",
    "**/.hg/**",
    "**/.svn/**",
    "**/.quintain/**",
    "**/.env",
    "**/.env.*",
    "**/.npmrc",
    "**/.pypirc",
    "**/node_modules/**",
    "**/__pycache__/**",
    "**/.venv/**",
)
"""What is never part of a subject: histories, stores, secrets, what installers make."""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,119}")


def candidate_id(record: Any, attribute: Any, value: str) -> None:
    """Small letters, digits, `_` and `-`, at most 120, beginning with a letter or digit."""
    if _ID.fullmatch(value) is None:
        raise RecordError(
            f"{quoted(value)} is no id",
            path=(attribute.name,),
            hint="small letters, digits, `_` and `-`, at most 120, beginning with a letter or digit",
        )


def share(record: Any, attribute: Any, value: float | None) -> None:
    """For numbers above 0 and below 1; None stands for none."""
    if value is not None and not 0 < value < 1:
        raise RecordError(f"a number between 0 and 1 is wanted here, not {quoted(value)}", path=(attribute.name,))


@frozen
class Validation:
    """A command that says whether a candidate is well-formed; it may not change the candidate.

    Attributes:
        command: program and arguments, run on the host in a copy of the candidate.
        timeout_s: it is killed after so many seconds, and the candidate is refused.
    """

    command: tuple[str, ...]
    timeout_s: float = field(default=120.0, validator=above_zero)


@frozen
class Subject:
    """The file set under test.

    Attributes:
        root: absolute path of its directory.
        mutable: patterns of the text files that candidates may change, relative to the root.
        exclude: patterns of what is no part of it, beside `EXCLUDED`.
        may_add: candidates may add files that match `mutable`.
        may_delete: candidates may delete files that match `mutable`.
        place: "workspace" lays it into the agent's working directory, at `into`; "beside" into a private directory of
            its own, which drivers find as `launch.subject`.
        into: path within the workspace.
        validate: commands that refuse a malformed candidate before it costs anything.
    """

    root: Path
    mutable: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    may_add: bool = False
    may_delete: bool = False
    place: Literal["workspace", "beside"] = "workspace"
    into: str = "."
    validate: tuple[Validation, ...] = ()


@frozen
class Variant:
    """A candidate as a person writes it; what it doesn't mention is as in the baseline. Later sources win.

    Attributes:
        id: name of the candidate.
        revision: a git revision of the subject's repository to take the components from.
        directory: absolute path of a directory whose files replace the components of the same path.
        files: absolute paths of the new content, by component.
        text: new content, by component.
        delete: components that it doesn't have.
        rationale: why it should be better.
        parents: candidates that it was made from.
    """

    id: str = field(validator=candidate_id)
    revision: str | None = None
    directory: Path | None = None
    files: Mapping[str, Path] = field(factory=dict)
    text: Mapping[str, str] = field(factory=dict)
    delete: tuple[str, ...] = ()
    rationale: str = ""
    parents: tuple[str, ...] = (BASELINE,)


@frozen
class Candidate:
    """An immutable version of the components.

    Attributes:
        id: its name, `baseline` for the source as it stands.
        digest: of its components, path by path; two candidates with one digest are one.
        components: digest of the stored content, by path.
        parents: candidates that it was made from.
        proposer: "author", or the name of an optimizer.
        rationale: why it should be better.
        bytes: size of all components.
    """

    id: str = field(validator=candidate_id)
    digest: str
    components: Mapping[str, str]
    parents: tuple[str, ...] = ()
    proposer: str = "author"
    rationale: str = ""
    bytes: int = field(default=0, validator=at_least(0))


@frozen
class Split:
    """Cases that serve one purpose; no case and no cluster is in two splits."""

    cases: tuple[Case, ...]


@frozen
class Repetitions:
    """How often a case runs for each candidate.

    Attributes:
        search: to find out which candidates are worth more.
        promotion: to decide; the repetitions of the search count.
    """

    search: int = field(default=1, validator=at_least(1))
    promotion: int = field(default=3, validator=at_least(1))

    def __attrs_post_init__(self) -> None:
        if self.search > self.promotion:
            raise RecordError(
                f"promotion ({self.promotion}) repeats at least as often as search ({self.search})", path=("promotion",)
            )


@frozen
class Constraint:
    """A gate that a candidate must pass.

    Attributes:
        metric: what is measured; `quintain.campaign.metrics` lists them.
        min: the mean must not be below; with `confidence`, its lower bound must not.
        max: the mean must not be above; with `confidence`, its upper bound must not.
        min_difference: candidate minus baseline, paired by case, must not be below.
        max_difference: likewise, must not be above.
        confidence: one-sided level at which it must hold; None compares the estimates themselves.
        split: where it is measured.
        profile: under which profile; None means under each.
    """

    metric: str
    min: float | None = None
    max: float | None = None
    min_difference: float | None = None
    max_difference: float | None = None
    confidence: float | None = field(default=None, validator=share)
    split: str = "validation"
    profile: str | None = None

    def __attrs_post_init__(self) -> None:
        bounds = (self.min, self.max, self.min_difference, self.max_difference)
        if all(bound is None for bound in bounds):
            raise RecordError("a constraint has a bound", hint="one of min, max, min_difference, max_difference")
        if any(bound is not None and not math.isfinite(bound) for bound in bounds):
            raise RecordError("a bound is a finite number")


@frozen
class Objective:
    """What ought to be better, the most important first.

    Attributes:
        metric: what is measured.
        direction: "minimize" or "maximize"; None takes the metric's own.
        tolerance: a difference of no more than this is no difference.
        split: where it is measured before the test split confirms it.
        profile: under which profile; None pools all.
    """

    metric: str
    direction: Literal["minimize", "maximize"] | None = None
    tolerance: float = field(default=0.0, validator=at_least(0))
    split: str = "validation"
    profile: str | None = None


@frozen
class Budget:
    """What a campaign may spend; None means no bound. It may be raised when a campaign is resumed.

    Attributes:
        trials: attempts of trials that are begun.
        usd: money.
        tokens: of all kinds.
        wall_s: seconds during which the campaign runs.
        judge_calls: model calls of graders.
        proposal_calls: model calls of optimizers.
        candidates: versions evaluated, the baseline not counted.
        unpriced_calls: trials whose cost stays unknown that are tolerated when `usd` is bounded.
        bounds: the most that one trial may spend, by profile; enforced, and reserved before it begins.
    """

    trials: int | None = field(default=None, validator=at_least(0))
    usd: float | None = field(default=None, validator=at_least(0))
    tokens: int | None = field(default=None, validator=at_least(0))
    wall_s: float | None = field(default=None, validator=at_least(0))
    judge_calls: int | None = field(default=None, validator=at_least(0))
    proposal_calls: int | None = field(default=None, validator=at_least(0))
    candidates: int | None = field(default=None, validator=at_least(0))
    unpriced_calls: int = field(default=0, validator=at_least(0))
    bounds: Mapping[str, Allowance] = field(factory=dict)


@frozen
class Stopping:
    """Whether a campaign may end before all its trials have run.

    Attributes:
        anytime: watch the first objective with an anytime-valid test after each finished case, and run no more of a
            candidate that is decided.
    """

    anytime: bool = False


@frozen
class Campaign:
    """All that decides what a campaign measures and how it decides, and the budget under which it does.

    Attributes:
        id: its name.
        subject: what is under test.
        profiles: the ways to run it; every candidate runs under each.
        splits: cases by purpose: train, validation, test. `validation` is required.
        variants: the candidates to compare with the baseline.
        constraints: gates.
        objectives: what ought to be better, the most important first.
        repetitions: how often each case runs.
        budget: what it may spend.
        alpha: probability of promoting a candidate that is no better, over all candidates and objectives.
        finalists: how many candidates are repeated as often as promotion asks.
        coverage: share of planned trials of a candidate that must be scored for a decision.
        seed: of the schedule, of the trials and of random procedures.
        stopping: whether it may end early.
        aa: the only variant is the baseline itself, to see what noise alone finds.
        source: file that it was written in, for errors.
    """

    id: str = field(validator=candidate_id)
    subject: Subject
    profiles: tuple[Profile, ...]
    splits: Mapping[str, Split]
    variants: tuple[Variant, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    objectives: tuple[Objective, ...] = (Objective("pass_rate"),)
    repetitions: Repetitions = field(factory=Repetitions)
    budget: Budget = field(factory=Budget)
    alpha: float = field(default=0.05, validator=share)
    finalists: int = field(default=3, validator=at_least(1))
    coverage: float = field(default=0.9, validator=share)
    seed: int = 0
    stopping: Stopping = field(factory=Stopping)
    aa: bool = False
    source: str | None = None
