"""One task for an agent, and how it is graded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from quintain.model.bounds import above_zero
from quintain.model.limits import NO_OVERRIDES, LimitOverrides
from quintain.model.plain import Json, Plug


@frozen
class Assertion:
    """One check of a trial's evidence, as a file or a program states it.

    Attributes:
        type: name of the assertion plugin.
        config: structured strictly into the plugin's configuration class.
        id: unique within the case; the type and a number if not given.
        required: the trial can pass only if this passes; otherwise it counts for the score alone.
        weight: share in the score, above 0.
    """

    type: str
    config: Mapping[str, Json] = field(factory=dict)
    id: str | None = None
    required: bool = True
    weight: float = field(default=1.0, validator=above_zero)


@frozen
class Case:
    """One task.

    Attributes:
        id: unique name, such as `calculator/add`.
        prompt: what the agent is told, byte for byte.
        persona: who the answerer is when the agent asks.
        tags: words to select by.
        cluster: cases of one cluster share their origin and are not independent of each other.
        fixtures: directory that is laid out as the agent's workspace.
        hidden: directory that is laid over the grading copy after the agent is dead: tests, reference answers.
        reference: directory that is laid over the fixtures as a right solution, to try the grader with.
        reference_answer: what an agent with a right solution would say at last.
        protected: glob patterns of workspace files that an agent must not change; a change is reported.
        assertions: the case's grader.
        driver: overrides the profile's driver for this case.
        answerer: overrides the profile's answerer for this case.
        limits: overrides of the profile's limits.
        parameters: values of the matrix or dataset row that this case was made from.
        source: file and line that it was read from; no part of what the case is.
    """

    id: str
    prompt: str
    persona: str | None = None
    tags: tuple[str, ...] = ()
    cluster: str | None = None
    fixtures: Path | None = None
    hidden: Path | None = None
    reference: Path | None = None
    reference_answer: str | None = None
    protected: tuple[str, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    driver: Plug | None = None
    answerer: Plug | None = None
    limits: LimitOverrides = NO_OVERRIDES
    parameters: Mapping[str, Json] = field(factory=dict)
    source: str | None = field(default=None, eq=False)
