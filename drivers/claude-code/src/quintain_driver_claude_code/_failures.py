"""Which class of failure an error of the model's server is. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from quintain import Failure

_BY_WORD: Mapping[str, Failure] = {
    "rate_limit": Failure.RATE_LIMIT,
    "authentication_failed": Failure.AUTH,
    "billing_error": Failure.AUTH,
    "oauth_org_not_allowed": Failure.AUTH,
    "model_not_found": Failure.MISSING,
    "overloaded": Failure.OVERLOAD,
    "server_error": Failure.OVERLOAD,
}
"""The words that Claude Code has for errors of its model."""

_ITS_OWN = re.compile(r"prompt is too long|usage policy|output token maximum|context (?:window|limit)", re.IGNORECASE)
"""The agent itself went too far; no other attempt would be luckier."""

_BY_TEXT: tuple[tuple[re.Pattern[str], Failure], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), failure)
    for pattern, failure in (
        (r"rate.?limit|too many requests|(?:usage|session|weekly) limit|hit your limit|quota", Failure.RATE_LIMIT),
        (r"not logged in|/login|api key|oauth|credential|authenticat|unauthorized|credit balance", Failure.AUTH),
        (r"overloaded|at capacity|high demand", Failure.OVERLOAD),
        (r"issue with the selected model", Failure.MISSING),
        (r"connect|ECONN|ENOTFOUND|EAI_AGAIN|dns|timed? ?out|network|socket|fetch failed|certificate", Failure.NETWORK),
        (r"ENOSPC|EDQUOT|EROFS|no space left|read-only file system", Failure.DISK),
        (r"internal server error|bad gateway|service unavailable", Failure.OVERLOAD),
    )
)


def of_status(status: object) -> Failure | None:
    """The class of an HTTP status, or None if the request itself was wrong or it is no status."""
    if type(status) is not int:
        return None
    if status in (401, 402, 403):
        return Failure.AUTH
    by_status = {404: Failure.MISSING, 408: Failure.NETWORK, 429: Failure.RATE_LIMIT}
    return by_status.get(status, Failure.OVERLOAD if status >= 500 else None)


def classify(status: object, word: str | None, words: str) -> Failure | None:
    """The class of an error; None if the agent itself failed or nothing is recognised.

    Args:
        status: what the model's server answered, if it did.
        word: Claude Code's word for it.
        words: what it says to people.
    """
    known = of_status(status) or _BY_WORD.get(word or "")
    if known is not None:
        return known
    if _ITS_OWN.search(words):
        return None
    return next((failure for pattern, failure in _BY_TEXT if pattern.search(words)), None)
