"""The assertion contract: one check of a trial's evidence.

The core structures an assertion's configuration before anything runs (so `config`'s validators refuse what can't be
checked), and calls `evaluate(config, evidence)` after the agent is dead. Evidence is frozen: the same call on stored
evidence a year later gives the same verdict. What `evaluate` raises, and running over its time, is an abstention with
an error; other assertions still run.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from attrs import field, frozen

from quintain.contracts.configs import NoConfig
from quintain.model.case import Assertion, Case
from quintain.model.events import Traced
from quintain.model.grade import Verdict
from quintain.model.outcome import Outcome
from quintain.model.tree import ChangeSet, Entry
from quintain.model.trial import Attempt

C = TypeVar("C")


@frozen
class Content:
    """What reading a file of the evidence gave.

    Attributes:
        data: its bytes, or None if they can't be had.
        problem: why not: there is no such file, it is no regular file, it is too large, it was not kept.
        missing: there is no such file.
    """

    data: bytes | None
    problem: str | None = None
    missing: bool = False


class Files(Protocol):
    """Files as the agent left them, or as it found them. Paths are relative with `/`; all else is unreachable."""

    def entry(self, path: str) -> Entry | None:
        """What is at a path, or None. Raises WorkspaceError for a path that leaves the tree."""

    def read(self, path: str, *, limit: int | None = None) -> Content:
        """The bytes of a regular file, links inside the tree followed; `limit` in bytes refuses larger files."""

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Paths of files and links that match, in order; `**` spans directories."""


@frozen
class CommandResult:
    """How a command of a grader ended.

    Attributes:
        code: exit status, or None if a signal ended it or it ran out of time.
        signal: number of that signal.
        stdout: its output, bounded: head and tail with a marker that counts what was left out.
        stderr: likewise.
        timed_out: it was killed at its time limit.
        duration_s: how long it ran.
    """

    code: int | None
    signal: int | None
    stdout: str
    stderr: str
    timed_out: bool
    duration_s: float


class Evidence(Protocol):
    """All that an assertion may see."""

    @property
    def case(self) -> Case:
        """The task."""

    @property
    def outcome(self) -> Outcome:
        """How the attempt ended."""

    @property
    def attempt(self) -> Attempt:
        """The attempt: durations, spend, counts, exit, findings."""

    @property
    def answer(self) -> str | None:
        """The agent's final answer."""

    @property
    def trace(self) -> Sequence[Traced]:
        """Everything that happened, in order."""

    @property
    def files(self) -> Files:
        """The workspace as the agent left it."""

    @property
    def baseline(self) -> Files:
        """The workspace as the agent found it."""

    @property
    def changes(self) -> ChangeSet:
        """The difference between the two."""

    def workspace(self) -> AbstractAsyncContextManager[Path]:
        """A fresh copy of the workspace with hidden fixtures laid over it; it is thrown away afterwards."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        input: bytes | None = None,
    ) -> CommandResult:
        """Run a command in a fresh copy of the workspace, in a bounded and private environment.

        Args:
            argv: the program and its arguments.
            timeout_s: seconds after which it is killed with its whole tree.
            cwd: directory inside the workspace.
            env: more variables.
            pass_env: names of host variables to pass.
            input: its standard input.

        Raises:
            QuintainError: it can't be started.
        """

    async def evaluate(self, assertion: Assertion) -> Verdict:
        """Evaluate another assertion on the same evidence, for those that are made of others.

        An assertion that goes wrong abstains with its error as the reason.
        """


@frozen
class AssertionSpec(Generic[C]):
    """A type of assertion, declared.

    Attributes:
        name: the `type` in case files; equal to the name of its entry point, or one of several that the entry
            point's object provides.
        evaluate: the check; a plain function runs in a worker thread unless `quick`.
        config: attrs class; what files say is structured into it strictly.
        quick: a plain function that never blocks for long: no waiting, no unbounded search. Saves the thread.
        judged: it asks a model, so it runs after the others, and only if they leave it something to decide.
        nested: the assertions inside a configuration, for those that are made of others; they are checked before
            anything runs.
        summary: one line for people.
        version: raised when the meaning of a configuration changes; part of a grade's identity.
    """

    name: str
    evaluate: Callable[[C, Evidence], Verdict | Awaitable[Verdict]]
    config: type[C] = field(default=NoConfig)  # type: ignore[assignment]  # the default stands for "no configuration"
    quick: bool = False
    judged: bool = False
    nested: Callable[[C], Sequence[Assertion]] = lambda config: ()
    summary: str = ""
    version: str = "1"


@frozen
class Checked(Assertion):
    """An assertion that is a function of a program: it brings its declaration along instead of naming a plugin."""

    spec: AssertionSpec[NoConfig] | None = field(default=None, eq=False)


def check(
    function: Callable[[Evidence], bool | Verdict | Awaitable[bool | Verdict]],
    *,
    id: str | None = None,
    required: bool = True,
    weight: float = 1.0,
) -> Assertion:
    """Make an assertion of a function, for cases written in code.

    Args:
        function: takes the evidence; returns True, False or a Verdict. A plain function is called in the event loop,
            so it should be quick; an `async def` may take its time.
        id: unique within the case; the function's name if not given.
        required: the trial can pass only if this passes.
        weight: share in the score.
    """
    name = getattr(function, "__name__", type(function).__name__)

    def verdict_of(found: bool | Verdict) -> Verdict:
        return Verdict.of(found, f"{name} returned {found}") if isinstance(found, bool) else found

    async def waiting(config: NoConfig, evidence: Evidence) -> Verdict:
        found = function(evidence)
        return verdict_of(await found if inspect.isawaitable(found) else found)

    def at_once(config: NoConfig, evidence: Evidence) -> Verdict:
        found = function(evidence)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            raise TypeError(f"{name} returned an awaitable; declare it with `async def`")
        return verdict_of(found)

    quick = not inspect.iscoroutinefunction(function)
    evaluate = at_once if quick else waiting
    spec = AssertionSpec(name, evaluate, quick=quick, summary=(function.__doc__ or "").strip().partition("\n")[0])
    return Checked(type=name, id=id or name, required=required, weight=weight, spec=spec)


def of_type(trace: Sequence[Traced], *kinds: type) -> Iterator[Traced]:
    """Those lines of a trace whose event is of one of the kinds."""
    return (line for line in trace if isinstance(line.event, kinds))
