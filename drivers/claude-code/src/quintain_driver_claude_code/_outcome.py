"""The one table that turns Claude Code's last message into `Done` or `Failed`. Pure.

`subtype` alone says little: errors of the model's server come as `success` with `is_error`, refused tools as a plain
success. Rows are tried from the top.

| # | signals | event |
|---|---|---|
| 1 | `subtype` begins with `error`, whatever `is_error` says | `Failed`; its class by its words if it broke down |
| 2 | `is_error`, or the last message was written by no model but by an error | `Done` with error flag and its class |
| 3 | `subtype` is `success`, or unknown and there is a text in `result` | `Done` |
| 4 | anything else | `Failed` |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain import Done, Failed
from quintain.driving import text

from quintain_driver_claude_code._failures import classify
from quintain_driver_claude_code._fields import tables, texts

_KEPT = (
    "subtype",
    "is_error",
    "api_error_status",
    "stop_reason",
    "terminal_reason",
    "num_turns",
    "duration_ms",
    "duration_api_ms",
    "session_id",
    "errors",
    "structured_output",
    "modelUsage",
)
_WORDS = {
    "error_max_turns": "it reached its limit of turns",
    "error_max_budget_usd": "it reached its limit of money",
    "error_during_execution": "it broke off",
}


def conclude(result: Mapping[str, Any], error: str | None, models: tuple[str, ...]) -> Done | Failed:
    """Apply the table.

    Args:
        result: the message.
        error: Claude Code's word for the error that stands in the place of the model's last message, or None.
        models: those that served.
    """
    subtype = text(result, "subtype") or ""
    words, errors = text(result, "result"), texts(result, "errors")
    detail = {key: result[key] for key in _KEPT if result.get(key) is not None}
    if models:
        detail["models"] = list(models)
    denied = tables(result, "permission_denials")
    if denied:
        detail["permission_denials"] = [{"tool": one.get("tool_name"), "id": one.get("tool_use_id")} for one in denied]
    status, is_error = result.get("api_error_status"), result.get("is_error") is True
    if subtype.startswith("error"):
        said = "; ".join(errors) or words or ""
        known = _WORDS.get(subtype, subtype)
        limit = subtype.startswith("error_max")
        return Failed(f"{known}: {said}" if said else known, None if limit else classify(status, error, said), detail)
    if is_error or error is not None:
        failure = classify(status, error, words or "; ".join(errors))
        return Done(words, True, failure, len(denied), detail)
    if subtype == "success" or words is not None:
        return Done(words, denials=len(denied), detail=detail)
    return Failed(f"it ended as `{subtype}` without a word" if subtype else "it ended without a word", None, detail)
