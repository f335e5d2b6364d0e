"""Which class of failure an error of Codex is. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from quintain import Failure

_BY_NAME: Mapping[str, Failure] = {
    "usageLimitExceeded": Failure.RATE_LIMIT,
    "rateLimitExceeded": Failure.RATE_LIMIT,
    "serverOverloaded": Failure.OVERLOAD,
    "flexUnavailable": Failure.OVERLOAD,
    "policyCapacityUnavailable": Failure.OVERLOAD,
    "modelNotFound": Failure.MISSING,
    "internalServerError": Failure.OVERLOAD,
    "unauthorized": Failure.AUTH,
    "sandboxError": Failure.MISSING,
    "httpConnectionFailed": Failure.NETWORK,
    "responseStreamConnectionFailed": Failure.NETWORK,
    "responseStreamDisconnected": Failure.NETWORK,
    "responseTooManyFailedAttempts": Failure.NETWORK,
}
_ITS_OWN = frozenset(
    {
        "contextWindowExceeded",
        "sessionBudgetExceeded",
        "cyberPolicy",
        "bioPolicy",
        "misalignmentPolicyViolation",
        "tooManyDenials",
    }
)
"""The agent itself went too far; no other attempt would be luckier."""

_NO_MODEL = re.compile(r"model.{0,200}(not found|does not exist|not supported)|unknown model", re.IGNORECASE)
_STATUS = re.compile(r"\b(?:status|HTTP(?:/[\d.]+)?)(?: code)?:? (\d{3})\b")
_BY_WORDS: tuple[tuple[re.Pattern[str], Failure], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), failure)
    for pattern, failure in (
        (r"rate.?limit|too many requests|usage limit|quota", Failure.RATE_LIMIT),
        (r"not logged in|login|unauthorized|api.key|credential|missing environment variable", Failure.AUTH),
        (r"overloaded|high demand|at capacity", Failure.OVERLOAD),
        (r"mcp", Failure.MISSING),
        (r"connect|dns|timed? ?out|network|stream (?:closed|disconnected)|idle timeout", Failure.NETWORK),
        (r"no space|read-only file system|disk", Failure.DISK),
        (r"config", Failure.MISSING),
    )
)


def of_status(status: object) -> Failure | None:
    """The class of an HTTP status, or None."""
    if type(status) is not int:
        return None
    if status == 429:
        return Failure.RATE_LIMIT
    if status in (401, 403):
        return Failure.AUTH
    return Failure.OVERLOAD if status >= 500 else None


def classify(error: Mapping[str, Any]) -> Failure | None:
    """The class of a turn's or a thread's error; None if the agent itself failed or nothing is recognised."""
    info = error.get("codexErrorInfo")
    words = f"{error.get('message') or ''}\n{error.get('additionalDetails') or ''}"
    name, detail = (next(iter(info.items()), ("", None))) if isinstance(info, Mapping) else (info, None)
    if name in _ITS_OWN:
        return None
    status = of_status(detail.get("httpStatusCode")) if isinstance(detail, Mapping) else None
    said = _STATUS.search(words)
    if status is None and said is not None:
        status = of_status(int(said[1]))
    if status is not None:
        return status
    if _NO_MODEL.search(words):
        return Failure.MISSING
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]
    return next((failure for pattern, failure in _BY_WORDS if pattern.search(words)), None)


def words(error: Mapping[str, Any]) -> str:
    """What an error says, for people."""
    message = error.get("message")
    text = message if isinstance(message, str) and message else "it gave no reason"
    text = _inner(text)
    details = error.get("additionalDetails")
    return f"{text} ({details})" if isinstance(details, str) and details and details not in text else text


def _inner(text: str) -> str:
    """The message inside the body of a model server's error, where Codex passes on the whole body."""
    if not text.startswith("{"):
        return text
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    inner = data.get("error", data) if isinstance(data, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    return said if isinstance(said, str) and said else text
