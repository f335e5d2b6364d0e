"""Which class of failure words of Cursor's are. It has no codes: only what it prints. Pure."""

from __future__ import annotations

import re

from quintain import Failure

_BY_WORDS: tuple[tuple[re.Pattern[str], Failure], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), failure)
    for pattern, failure in (
        (r"workspace trust required", Failure.MISSING),
        (r"rate.?limit|too many requests|usage limit|quota|\b429\b|out of (?:free )?requests", Failure.RATE_LIMIT),
        (
            r"not (?:logged|signed) in|authentication|unauthori[sz]ed|api key|\blog ?in\b|\b40[13]\b|unauthenticated",
            Failure.AUTH,
        ),
        (r"overloaded|high demand|at capacity|\b50[0234]\b|\b529\b|resource_exhausted", Failure.OVERLOAD),
        (
            r"(?:unknown|invalid|no such) model|cannot use this model|model.{0,80}not (?:found|available)",
            Failure.MISSING,
        ),
        (r"unknown option|unknown command", Failure.MISSING),
        (
            r"econnre|enotfound|etimedout|eai_again|connection|network|fetch failed|timed? ?out|unavailable",
            Failure.NETWORK,
        ),
        (r"enospc|no space|read-only file system|erofs", Failure.DISK),
    )
)


def classify(words: str) -> Failure | None:
    """The class of a failure, or None if nothing is recognised."""
    return next((failure for pattern, failure in _BY_WORDS if pattern.search(words)), None)
