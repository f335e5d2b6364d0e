"""What a server asks of its client: forms go to the answerer, roots are the workspace."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from attrs import define, field
from mcp import types
from mcp.client.session import ClientRequestContext
from quintain import Answer, Asked, Event, Question


@define
class Questions:
    """Questions that are out. A form with one field is an "ask"; with more, a "custom" question with its schema."""

    tell: Callable[[Event], None]
    workspace: Path
    _numbers: Any = field(factory=lambda: itertools.count(1), init=False)
    _waiting: dict[str, anyio.Event] = field(factory=dict, init=False)
    _answers: dict[str, Answer] = field(factory=dict, init=False)

    def deliver(self, answer: Answer) -> None:
        """Take an answer."""
        self._answers[answer.question] = answer
        self._waiting[answer.question].set()

    async def elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Ask, wait, and answer in the form that the server wants."""
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        fields = list(asked.get("requestedSchema", {}).get("properties", {}))
        id = f"q{next(self._numbers)}"
        self._waiting[id] = anyio.Event()
        self.tell(Asked(Question(id, "ask" if len(fields) == 1 else "custom", params.message, payload=asked)))
        await self._waiting[id].wait()
        del self._waiting[id]
        answer = self._answers.pop(id)
        if answer.refused:
            return types.ElicitResult(action="decline")
        if answer.kind == "ask":
            return types.ElicitResult(action="accept", content={fields[0]: answer.text or ""})
        content = dict(answer.payload) if isinstance(answer.payload, Mapping) else {}
        return types.ElicitResult.model_validate({"action": "accept", "content": content})

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """The workspace is the only root."""
        return types.ListRootsResult.model_validate({"roots": [{"uri": self.workspace.as_uri(), "name": "workspace"}]})
