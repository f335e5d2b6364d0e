"""The evidence of one trial, as assertions see it: the same live and years later, because it is all in the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from attrs import field, frozen

from quintain import process
from quintain.contracts.assertion import CommandResult
from quintain.errors import UsageError, WorkspaceError
from quintain.model.case import Assertion, Case
from quintain.model.events import Traced
from quintain.model.grade import Verdict
from quintain.model.outcome import Outcome
from quintain.model.tree import ChangeSet, Tree
from quintain.model.trial import Attempt
from quintain.trial.grade import Check, evaluate
from quintain.workspace.area import Areas, TrialArea
from quintain.workspace.blobs import BlobStore
from quintain.workspace.evidence import Files
from quintain.workspace.grading import grading_copy

GRADER_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "CI": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Fixed for every command of a grader, so that it says the same today and tomorrow."""


@frozen
class StoredEvidence:
    """Implements `contracts.assertion.Evidence` over the store.

    Attributes:
        case: the task.
        attempt: the attempt that counts.
        trace: everything that happened.
        files: the workspace as the agent left it.
        baseline: the workspace as the agent found it.
        changes: the difference.
        hidden: what is laid over a copy, or None.
        blobs: the store of file contents.
        checks: the case's grader, in which nested assertions are found.
        host: the host's environment variables.
        limit_s: seconds for a nested assertion.
        areas: where copies are made.
        keepers: make many processes fast.
    """

    case: Case
    attempt: Attempt
    trace: Sequence[Traced]
    files: Files
    baseline: Files
    changes: ChangeSet
    hidden: Tree | None
    blobs: BlobStore
    checks: Sequence[Check]
    host: Mapping[str, str] = field(repr=False)
    limit_s: float = 120.0
    areas: Areas = field(factory=Areas, repr=False)
    keepers: process.Keepers | None = None

    @property
    def outcome(self) -> Outcome:
        """How the attempt ended."""
        return self.attempt.outcome

    @property
    def answer(self) -> str | None:
        """The agent's final answer."""
        return self.attempt.answer

    @asynccontextmanager
    async def workspace(self) -> AsyncIterator[Path]:
        """A fresh copy of the workspace with hidden fixtures laid over it."""
        async with TrialArea(self.areas) as area:
            yield await self._copy(area)

    async def _copy(self, area: TrialArea) -> Path:
        return await anyio.to_thread.run_sync(grading_copy, self.files, self.blobs, self.hidden, area.work)

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
        """Run a command in a fresh copy of the workspace."""
        async with TrialArea(self.areas) as area:
            work = await self._copy(area)
            where = (work / cwd).resolve()
            if not where.is_relative_to(work.resolve()):
                raise WorkspaceError(f"the directory {cwd} lies outside the workspace")
            if not where.is_dir():
                raise WorkspaceError(f"there is no directory {cwd} in the workspace")
            command = process.Command(tuple(argv), where, self._environment(area, where, env or {}, pass_env))
            done = await process.run(command, input=input, timeout_s=timeout_s, keepers=self.keepers)
        return CommandResult(
            code=None if done.timed_out else done.exit.code,
            signal=done.exit.signal,
            stdout=done.stdout.text(),
            stderr=done.stderr.text(),
            timed_out=done.timed_out,
            duration_s=done.duration_s,
        )

    def _environment(
        self, area: TrialArea, where: Path, env: Mapping[str, str], pass_env: Sequence[str]
    ) -> dict[str, str]:
        missing = [name for name in pass_env if name not in self.host]
        if missing:
            raise UsageError(f"the host has no variable {', '.join(missing)}, which a command is to be given")
        return {
            **({"PATH": self.host["PATH"]} if "PATH" in self.host else {}),
            **GRADER_ENVIRONMENT,
            "HOME": str(area.home),
            "TMPDIR": str(area.temp),
            "PWD": str(where),
            **{name: self.host[name] for name in pass_env},
            **env,
        }

    async def evaluate(self, assertion: Assertion) -> Verdict:
        """Evaluate a nested assertion."""
        check = self._find(assertion, self.checks)
        if check is None:
            raise UsageError(
                f"an assertion of type {assertion.type} was evaluated that its outer assertion does not name",
                hint="return it from the `nested` of the outer AssertionSpec",
            )
        verdict, _ = await evaluate(check, self, self.limit_s)
        return verdict

    def _find(self, assertion: Assertion, checks: Sequence[Check]) -> Check | None:
        for check in checks:
            found = check.nested.get(id(assertion)) or self._find(assertion, tuple(check.nested.values()))
            if found is not None:
                return found
        return None
