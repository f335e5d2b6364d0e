"""A new project that runs as it is made: an agent without a model, two cases, hidden tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import frozen

from quintain.errors import UsageError

_PROJECT = """\
# A project: how cases are run. Run all of them with: quintain run

[project]
name = NAME

# The agent under test is a program; {python} and {project} stand for this Python and this folder.
[profiles.default]
driver = { name = "subprocess", config = { command = ["{python}", "{project}/agent.py"] } }

# [profiles.default.limits]
# timeout_s = 300
"""

_AGENT = '''\
"""The agent under test. This one has no model and knows two tasks; put yours in its place."""

from pathlib import Path

import quintain_agent

FIXES = {
    "`count`": ("len(text)", "len(text.split())"),
    "`longest`": ("min(", "max("),
}

agent = quintain_agent.start(name="stand-in", version="1")
file = Path("words.py")
for name, (old, new) in FIXES.items():
    if name in agent.prompt:
        with agent.tool("edit", {"path": str(file), "old": old, "new": new}) as tool:
            file.write_text(file.read_text().replace(old, new))
            tool.result("written")
agent.use(input=120, output=30, cost_usd=0.0002)
agent.done("I changed words.py.")
'''

_COUNT = """\
# One case: what the agent is told, what it finds, and how its work is checked.

prompt = "`count` in words.py counts characters. Make it count words."
tags = ["smoke"]
fixtures = "../fixtures/words" # what the agent finds
hidden = "../hidden/count"     # laid over a copy of its work when it is gone

[[assertions]]
type = "command"
argv = ["python3", "check_count.py"]
"""

_LONGEST = """\
prompt = "`longest` in words.py finds the shortest word. Make it find the longest one."
fixtures = "../fixtures/words"
hidden = "../hidden/longest"

[[assertions]]
type = "command"
argv = ["python3", "check_longest.py"]

# Not required: it counts for the score only.
[[assertions]]
type = "changed_only"
paths = ["words.py"]
required = false
"""

_WORDS = '''\
"""Things to know about words. Two of them are wrong."""


def count(text):
    """How many words a text has."""
    return len(text)


def longest(text):
    """The longest word of a text."""
    return min(text.split(), key=len)
'''

_CHECK_COUNT = """\
from words import count

assert count("to be or not") == 4, count("to be or not")
assert count("") == 0, count("")
"""

_CHECK_LONGEST = """\
from words import longest

assert longest("a bee sees") == "sees", longest("a bee sees")
"""

FILES: Mapping[str, str] = {
    "quintain.toml": _PROJECT,
    "agent.py": _AGENT,
    "cases/count.case.toml": _COUNT,
    "cases/longest.case.toml": _LONGEST,
    "fixtures/words/words.py": _WORDS,
    "hidden/count/check_count.py": _CHECK_COUNT,
    "hidden/longest/check_longest.py": _CHECK_LONGEST,
}
"""What is written, by path in the project."""

IGNORED = ".quintain/"
"""The line for `.gitignore`: what runs leave behind."""


@frozen
class Written:
    """What was done about one file.

    Attributes:
        path: of the file.
        what: "created"; "kept", because it was there already; "extended" by a line.
    """

    path: Path
    what: Literal["created", "kept", "extended"]


def make_project(directory: Path | str) -> tuple[Written, ...]:
    """Write a new project; what is there already is left as it is.

    Args:
        directory: where; made if it isn't there.

    Raises:
        UsageError: it can't be written there.
    """
    root = Path(directory).resolve()
    name = json.dumps("".join(sign for sign in root.name if sign.isprintable()), ensure_ascii=False)
    try:
        written = [_write(root / path, text.replace("NAME", name, 1)) for path, text in FILES.items()]
        return (*written, _ignore(root / ".gitignore"))
    except OSError as error:
        raise UsageError(f"the project can't be written: {error}") from error


def _write(path: Path, text: str) -> Written:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return Written(path, "kept")
    return Written(path, "created")


def _ignore(path: Path) -> Written:
    new = _write(path, f"{IGNORED}\n")
    if new.what == "created":
        return new
    with path.open("r+b") as file:
        text = file.read()
        if IGNORED.encode() in text.split():
            return new
        file.write(b"" if not text or text.endswith(b"\n") else b"\n")
        file.write(f"{IGNORED}\n".encode())
    return Written(path, "extended")
