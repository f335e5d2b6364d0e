"""Tokens of each model call, each call once. Pure.

Claude Code repeats a running figure on every line of a message; the true one comes with the end of its stream. Calls of
subagents are not streamed, and their last ones are on no line at all: the total at the end knows of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quintain import Tokens, Usage, Used, disjoint, reported_cost
from quintain.driving import table, text

SYNTHETIC = "<synthetic>"
"""The model of messages that no model wrote."""

_CALL = {
    "input": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}
_MODEL = {
    "input": "inputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "output": "outputTokens",
}


class Meter:
    """Takes what the lines say of usage."""

    def __init__(self) -> None:
        self._calls: dict[str, Tokens | None] = {}
        self._whole: set[str] = set()
        self._streams: dict[str | None, tuple[str, dict[str, Any], str | None]] = {}
        self.models: dict[str, None] = {}
        """Models that served, in the order in which they did."""

    def message(self, message: Mapping[str, Any], agent: str | None) -> Iterator[Used]:
        """A line of a message."""
        id, model = text(message, "id"), text(message, "model")
        if id is None or model == SYNTHETIC or id in self._whole or "usage" not in message:
            return
        yield from self._call(id, table(message, "usage"), model, agent)

    def stream(self, event: Mapping[str, Any], agent: str | None) -> Iterator[Used]:
        """An event of a message that is being streamed."""
        kind = event.get("type")
        if kind == "message_start":
            message = table(event, "message")
            id = text(message, "id")
            if id is not None:
                self._streams[agent] = id, table(message, "usage"), text(message, "model")
        elif kind == "message_delta" and agent in self._streams:
            id, usage, model = self._streams.pop(agent)
            more = {key: value for key, value in table(event, "usage").items() if value is not None}
            self._whole.add(id)
            yield from self._call(id, {**usage, **more}, model, agent)

    def total(self, result: Mapping[str, Any], odd: bool) -> Iterator[Used]:
        """The total at the end, and before it whatever of it no line showed, as one call more.

        Args:
            result: the message with the total.
            odd: a number in it was none.
        """
        by_model = [value for value in table(result, "modelUsage").values() if isinstance(value, dict)]
        tokens, problem = _sum(by_model) if by_model else _tokens(table(result, "usage"), _CALL)
        cost, complaint = reported_cost(result.get("total_cost_usd"))
        if odd:
            complaint = complaint or "a number in the total is none (NaN, or infinite)"
        rest = _minus(tokens, self._seen()) if tokens is not None else None
        model = next(iter(self.models)) if len(self.models) == 1 else None
        if rest is not None and rest.total:
            yield Used(Usage(rest, model=model, id="unseen"))
        problems = "; ".join(part for part in (problem, complaint) if part)
        yield Used(Usage(tokens, cost, model, scope="total", problem=problems or None))

    def _call(self, id: str, usage: Mapping[str, Any], model: str | None, agent: str | None) -> Iterator[Used]:
        tokens, problem = _tokens(usage, _CALL)
        if model is not None:
            self.models[model] = None
        if id in self._calls and self._calls[id] == tokens:
            return
        self._calls[id] = tokens
        yield Used(Usage(tokens, model=model, id=id, agent=agent, problem=problem))

    def _seen(self) -> Tokens:
        return sum((tokens for tokens in self._calls.values() if tokens is not None), Tokens())


def _tokens(counts: Mapping[str, Any], names: Mapping[str, str]) -> tuple[Tokens | None, str | None]:
    said = {name: counts[key] for name, key in names.items() if counts.get(key) is not None}
    missing = [f"`{names[name]}`" for name in ("input", "output") if name not in said]
    if missing:
        return None, f"{' and '.join(missing)} missing: unknown is not zero" if said else None
    return disjoint(**said)


def _sum(parts: list[dict[str, Any]]) -> tuple[Tokens | None, str | None]:
    whole = Tokens()
    for part in parts:
        tokens, problem = _tokens(part, _MODEL)
        if tokens is None:
            return None, problem
        whole += tokens
    return whole, None


def _minus(whole: Tokens, part: Tokens) -> Tokens | None:
    """What is left, or None if the part is no part."""
    left = {name: getattr(whole, name) - getattr(part, name) for name in _CALL}
    return Tokens(**left) if all(count >= 0 for count in left.values()) else None
