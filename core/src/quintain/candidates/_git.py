"""Components as a git revision has them.

Git is asked for objects only: nothing is checked out, so no hook, filter or file system watcher of the repository runs,
and it sees nothing of the environment but where programs are and who its user is.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from quintain.candidates._capture import Captured
from quintain.candidates._paths import LARGEST_COMPONENT, Scope
from quintain.errors import AuthoringError, WorkspaceError
from quintain.model.campaign import Subject
from quintain.workspace.paths import shown

TIMEOUT_S = 60.0
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")
_REGULAR = ("100644", "100755", "100664")


def components_at(
    revision: str, subject: Subject, scope: Scope, captured: Captured, where: str
) -> dict[str, bytes | None]:
    """The components in a revision; None for one that git knows now and the revision doesn't have.

    Args:
        revision: anything that names a commit.
        subject: its root lies in the repository.
        scope: of the subject.
        captured: the subject as it stands.
        where: for errors.

    Raises:
        AuthoringError: there is no such revision, or it has something else than a file in the place of a component.
        WorkspaceError: the subject is in no repository, or git can't be run.
    """
    root = subject.root.resolve()
    _git(root, where, "rev-parse", "--is-inside-work-tree", problem="the subject lies in no git repository")
    commit = _git(
        root,
        where,
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{revision}^{{commit}}",
        problem=f"there is no revision `{shown(revision)}` in the subject's repository",
    )
    listed = _git(root, where, "ls-tree", "-r", "-l", "-z", commit.strip().decode())
    objects: dict[str, str] = {}
    for mode, name, size, path in _rows(listed):
        if not scope.may_change(path):
            continue
        if mode not in _REGULAR:
            if path in captured.components:
                raise AuthoringError(f"in {shown(revision)}, {shown(path)} is no regular file", where=where)
            continue
        if size > LARGEST_COMPONENT:
            raise AuthoringError(
                f"in {shown(revision)}, {shown(path)} has {size} bytes; a component has at most {LARGEST_COMPONENT}",
                where=where,
            )
        objects[path] = name
    if not objects:
        raise AuthoringError(f"the revision {shown(revision)} has no component of the subject", where=where)
    found: dict[str, bytes | None] = dict(_contents(root, where, objects))
    tracked = _git(root, where, "ls-files", "-z", "--cached").split(b"\0")
    for path in map(os.fsdecode, tracked):
        # What git doesn't know is nothing that the revision could have taken away.
        if path in captured.components and path not in found:
            found[path] = None
    return found


def _rows(listed: bytes) -> Iterator[tuple[str, str, int, str]]:
    for row in listed.split(b"\0"):
        if row:
            about, _, path = row.partition(b"\t")
            mode, _, name, size = about.decode().split()
            yield mode, name, int(size) if size.isdigit() else 0, os.fsdecode(path)


def _contents(root: Path, where: str, objects: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    asked = "".join(f"{name}\n" for name in objects.values()).encode()
    answer = _git(root, where, "cat-file", "--batch", input=asked)
    at = 0
    for path in objects:
        end = answer.find(b"\n", at)
        words = answer[at:end].split()
        if end < 0 or len(words) != 3 or words[1] != b"blob":
            raise WorkspaceError(f"git has not got the content of {shown(path)}", where=where)
        at = end + 1 + int(words[2])
        yield path, answer[end + 1 : at]
        at += 1


def _git(root: Path, where: str, *arguments: str, input: bytes = b"", problem: str | None = None) -> bytes:
    names = ("PATH", "HOME", "XDG_CONFIG_HOME")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", *_QUIET, "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, input=input, capture_output=True, env=env, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError as error:
        raise WorkspaceError("a revision is wanted, and git is not installed", where=where) from error
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise WorkspaceError(f"git {arguments[0]} failed: {error}", where=where) from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = f"{problem or f'git {arguments[0]} failed'}{f': {shown(said[0])}' if said else ''}"
        raise (AuthoringError if problem else WorkspaceError)(reason, where=where)
    return done.stdout
