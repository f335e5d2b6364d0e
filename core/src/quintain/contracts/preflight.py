"""What the preflight case of a driver is made of: assertions that need no package but the core."""

from __future__ import annotations

from quintain.contracts.assertion import Evidence, check
from quintain.model.case import Assertion
from quintain.model.grade import Verdict
from quintain.model.plain import quoted


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


def answers_with(word: str) -> Assertion:
    """The agent's final answer contains a word, in whatever case it is written; for agents that may only look and talk."""

    def look(evidence: Evidence) -> Verdict:
        said = evidence.answer or ""
        return Verdict.of(word.lower() in said.lower(), f"its answer is {quoted(said)}, {quoted(word)} was asked for")

    return check(look, id="its answer")
