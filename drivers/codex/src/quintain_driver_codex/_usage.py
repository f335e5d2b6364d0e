"""Tokens of each model call, from totals that the server repeats. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain import Usage, inclusive
from quintain.driving import need_table, table

_KEYS = {
    "input": "inputTokens",
    "cache_read": "cachedInputTokens",
    "cache_write": "cacheWriteInputTokens",
    "output": "outputTokens",
    "reasoning": "reasoningOutputTokens",
}


class Meter:
    """Takes the totals of all threads and tells what each model call added."""

    def __init__(self) -> None:
        self._totals: dict[str, dict[str, int]] = {}
        self._calls = 0

    @property
    def calls(self) -> int:
        """Model calls so far."""
        return self._calls

    def take(self, thread: str, params: Mapping[str, Any], model: str | None, agent: str | None) -> Usage | None:
        """The usage of one report; None if it repeats what was told before. Raises WrongField."""
        report = need_table(params, "tokenUsage", "params")
        last, total = table(report, "last"), _counts(table(report, "total"))
        if total is None:
            counts: Mapping[str, object] = {name: last.get(key) for name, key in _KEYS.items()}
            if _counts(last) is not None:
                counts = _counts(last) or {}
        else:
            before = self._totals.get(thread, dict.fromkeys(_KEYS, 0))
            counts = {name: total[name] - before[name] for name in _KEYS}
            if total == before:
                return None
            if any(type(count) is int and count < 0 for count in counts.values()):
                counts = _counts(last) or dict.fromkeys(_KEYS)
            self._totals[thread] = total
        self._calls += 1
        tokens, problem = inclusive(**counts)
        return Usage(tokens, model=model, id=f"{thread}.{self._calls}", agent=agent, problem=problem)


def _counts(report: Mapping[str, Any]) -> dict[str, int] | None:
    """The counts of a report, or None if one that it must have is no number."""
    found = {name: report.get(key, 0 if name in ("cache_write", "reasoning") else None) for name, key in _KEYS.items()}
    return found if all(type(count) is int for count in found.values()) else None
