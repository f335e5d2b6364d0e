"""What the tests of commands share: running them as a page shows them, and comparing what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from attrs import frozen

_VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f]{4}"), "RUN"),
    (re.compile(r"\d+\.\d+ s\b"), "N s"),
    (re.compile(r" +(N s)"), r" \1"),
]


@frozen
class Step:
    """A command of the page: what it returned and printed, and what the page says that it prints."""

    command: str
    code: int
    printed: str
    shown: str
    folder: Path


def environment(home: Path) -> dict[str, str]:
    """This process's environment with the workspace's programs first and a home of its own."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "HOME": str(home), "COLUMNS": "120", "NO_COLOR": "1"}


def run(command: str, *, cwd: Path, home: Path) -> tuple[int, str]:
    """The exit code of a shell command, and all that it printed as a terminal would show it."""
    ended = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=cwd,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=240,
    )
    return ended.returncode, ended.stdout


def normal(text: str, root: Path) -> list[str]:
    """The lines of a text without what differs from run to run: times, names of runs, the place."""
    text = text.replace(f"{root.resolve()}/", "").replace(f"{root}/", "")
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.splitlines()]


def trials(lines: list[str]) -> list[list[str]]:
    """Lines in groups: each with those below it that are indented. Trials end in any order, so they are sorted."""
    groups: list[list[str]] = []
    for line in lines:
        if line.startswith(" ") and groups:
            groups[-1].append(line)
        else:
            groups.append([line])
    return sorted(groups)
