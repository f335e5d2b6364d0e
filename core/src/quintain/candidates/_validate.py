"""Commands that say whether a candidate is well-formed, run before it costs anything."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread
from attrs import frozen

from quintain import process
from quintain.candidates._capture import Captured
from quintain.candidates._merge import materialise
from quintain.candidates._paths import Scope
from quintain.errors import LaunchError
from quintain.identity.seal import TreeSeal
from quintain.model.campaign import Candidate, Subject, Validation
from quintain.workspace.area import Areas, TrialArea
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import shown
from quintain.workspace.staging import stage

OUTPUT_BYTES = 64 * 1024
"""Kept of what a command writes to each of its outputs."""
_SAID_LINES = 20
_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


@frozen
class Problem:
    """Why a candidate is refused.

    Attributes:
        message: one sentence.
        command: the one that found it.
        output: the last lines that it wrote.
        paths: files that it is about.
    """

    message: str
    command: tuple[str, ...] = ()
    output: str = ""
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.message}: {self.output.splitlines()[-1]}" if self.output else self.message


async def validate(
    candidate: Candidate,
    captured: Captured,
    subject: Subject,
    blobs: BlobStore,
    *,
    host: Mapping[str, str] | None = None,
    scratch: Path | None = None,
    keepers: process.Keepers | None = None,
) -> tuple[Problem, ...]:
    """Run the subject's validation commands in a private copy of a candidate; nothing if all of them are content.

    They run one after another, with a home of their own and without the variables of the host. A command that changes
    the copy is a problem, and those after it don't run, because they would judge something else.

    Args:
        candidate: the version.
        captured: the subject.
        subject: says what to run.
        blobs: where contents are.
        host: variables of the host, of which a few are passed on; those of this process if None.
        scratch: directory for the copy; None for the system's place for temporary files.
        keepers: makes processes fast.

    Raises:
        StoreError: a content isn't in the store.
        OSError: the copy can't be made.
    """
    if not subject.validate:
        return ()
    found: list[Problem] = []
    areas = Areas(scratch)
    tree = materialise(candidate, captured, blobs)
    scope = Scope.of(subject)
    async with TrialArea(areas) as area:
        copy = area.work
        await anyio.to_thread.run_sync(stage, tree, blobs, copy)
        seal = await anyio.to_thread.run_sync(lambda: TreeSeal(copy, ignore=scope.ignores))
        env = _environment(os.environ if host is None else host, area)
        for validation in subject.validate:
            problem = await _run(validation, copy, env, keepers)
            if problem is not None:
                found.append(problem)
            changed = await anyio.to_thread.run_sync(seal.changed)
            if changed:
                found.append(_wrote(validation, changed))
                break
    areas.close()
    return tuple(found)


def _environment(host: Mapping[str, str], area: TrialArea) -> dict[str, str]:
    passed = {name: host[name] for name in _PASSED if name in host}
    own = {"HOME": str(area.home), "TMPDIR": str(area.temp), "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**passed, **own}


async def _run(
    validation: Validation, cwd: Path, env: Mapping[str, str], keepers: process.Keepers | None
) -> Problem | None:
    shown_as = shown(" ".join(validation.command))
    if not validation.command:
        return Problem("a validation has an empty command")
    marker = ("QUINTAIN_VALIDATION", secrets.token_hex(8))
    command = process.Command(validation.command, cwd, {**env, "PWD": str(cwd)}, marker=marker)
    try:
        done = await process.run(command, timeout_s=validation.timeout_s, output_bytes=OUTPUT_BYTES, keepers=keepers)
    except LaunchError as error:
        return Problem(f"`{shown_as}` can't be run", validation.command, error.message)
    output = _last_lines(done.stderr.text()) or _last_lines(done.stdout.text())
    if done.timed_out:
        return Problem(f"`{shown_as}` was stopped after {validation.timeout_s:g} s", validation.command, output)
    if done.exit.code != 0:
        return Problem(f"`{shown_as}` refused it ({done.exit.describe()})", validation.command, output)
    return None


def _wrote(validation: Validation, changed: tuple[str, ...]) -> Problem:
    named = ", ".join(map(shown, changed[:5])) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
    return Problem(
        f"`{shown(' '.join(validation.command))}` changed what it was to look at: {named}",
        validation.command,
        paths=changed,
    )


def _last_lines(text: str) -> str:
    lines = [shown_line for line in text.split("\n") if (shown_line := _printable(line)).strip()]
    return "\n".join(lines[-_SAID_LINES:])


def _printable(line: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line.replace("\t", "    ").rstrip("\r"))
