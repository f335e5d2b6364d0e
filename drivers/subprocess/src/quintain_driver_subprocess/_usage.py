"""Reports of usage, taken as far as they can be true; what can't is unknown, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from quintain import Usage, disjoint, inclusive, reported_cost

from quintain_driver_subprocess._config import Dialect

COUNTS = ("input", "cache_read", "cache_write", "output", "reasoning")


def usage_of(
    counts: Mapping[str, Any],
    usd: object,
    dialect: Dialect,
    *,
    scope: Literal["call", "total"] = "call",
    model: str | None = None,
    id: str | None = None,
    agent: str | None = None,
) -> Usage:
    """Put one report into the normal form.

    Args:
        counts: what the agent says under the names of `COUNTS`; a name that is absent or None was not said.
        usd: the cost that it says, or None.
        dialect: whether its input includes what was read from and written to a cache.
        scope: one call, or its whole run.
        model: the model that served it.
        id: of the model call.
        agent: the subagent that made it.
    """
    said = {name: counts[name] for name in COUNTS if counts.get(name) is not None}
    tokens, problem = None, None
    if missing := [f"`{name}`" for name in ("input", "output") if name not in said]:
        problem = f"{' and '.join(missing)} missing: unknown is not zero" if said else None
    else:
        tokens, problem = (inclusive if dialect == "inclusive" else disjoint)(**said)
    cost, complaint = reported_cost(usd)
    problems = "; ".join(part for part in (problem, complaint) if part)
    return Usage(tokens, cost, model, id, scope, agent, problems or None)
