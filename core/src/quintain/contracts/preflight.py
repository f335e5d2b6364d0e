"""What the preflight case of a driver is made of; it needs no package but the core."""

from __future__ import annotations

from quintain.contracts.assertion import Evidence, check
from quintain.model.case import Assertion, Case
from quintain.model.events import ToolResult
from quintain.model.grade import Verdict
from quintain.model.limits import LimitOverrides
from quintain.model.plain import quoted

FILE = "quintain-preflight.txt"
COPY = "quintain-preflight-copy.txt"
WORD = "ready"
ANSWER = "its answer"
"""Id of the assertion for which an agent needs no tool."""

LIMIT_S = 300.0


def small_task(*, writes: bool = True, runs: bool = True) -> Case:
    """The usual preflight case: write a file, run a command, answer; in words that any model follows.

    Args:
        writes: the configuration lets the agent write files without asking anybody.
        runs: it lets it run commands. One that may run and not write runs a command that leaves nothing.
    """
    steps, assertions = [], [answers_with(WORD)]
    if writes:
        steps.append(
            "With your tool for editing files, not with a shell command, write a file "
            f"{FILE} in the current directory. Its content is the word {WORD}."
        )
        assertions.insert(0, leaves_file(FILE, WORD, by="its file tool"))
    if runs and writes:
        steps.append(f"Run the shell command `cp {FILE} {COPY}`, as it stands.")
        assertions.insert(1, leaves_file(COPY, WORD, by="its shell command"))
    elif runs:
        steps.append(f"Run the shell command `echo {WORD}`, as it stands.")
        assertions.insert(0, uses_tool(by="its shell command"))
    steps.append(f"Answer with the word {WORD}.")
    return Case("preflight", _told(steps), assertions=tuple(assertions), limits=LimitOverrides(timeout_s=LIMIT_S))


def _told(steps: list[str]) -> str:
    lines = (f"{number}. {step}" for number, step in enumerate(steps, 1))
    return "\n".join(
        (
            "This is a check that you can work here. Do these steps in this order, and nothing else:",
            "",
            *lines,
            "",
            "If a step fails, don't look for another way: answer with the error message.",
        )
    )


def leaves_file(path: str, word: str, *, by: str) -> Assertion:
    """The agent left a file with a word in it.

    Args:
        path: relative to the workspace.
        word: what the file must contain.
        by: by what it should have been written, such as "its file tool"; the assertion's id, and told if it is not there.
    """

    def look(evidence: Evidence) -> Verdict:
        found = evidence.files.read(path)
        if found.missing:
            return Verdict.failed(f"{path} is not there: {by} wrote nothing")
        if found.data is None:
            return Verdict.failed(f"{path}: {found.problem}")
        text = found.data.decode("utf-8", "replace")
        return Verdict.of(word in text, f"{path} says {quoted(text)}, {quoted(word)} was to be written by {by}")

    return check(look, id=by)


def uses_tool(*, by: str) -> Assertion:
    """A tool call of the agent succeeded; `by` says which was meant, and is the assertion's id."""

    def look(evidence: Evidence) -> Verdict:
        results = [line.event for line in evidence.trace if isinstance(line.event, ToolResult)]
        return Verdict.of(any(not result.error for result in results), f"{by} did not work")

    return check(look, id=by)


def answers_with(word: str) -> Assertion:
    """The agent's final answer contains a word, in whatever case it is written."""

    def look(evidence: Evidence) -> Verdict:
        said = evidence.answer or ""
        return Verdict.of(word.lower() in said.lower(), f"its answer is {quoted(said)}, {quoted(word)} was asked for")

    return check(look, id=ANSWER)
