"""The suite that every type of assertion passes, ours and yours."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread
import pytest

from quintain.contracts.assertion import AssertionSpec, Evidence
from quintain.errors import QuintainError, RecordError
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.model.events import Done, Log, Message, ProtocolError, Ready, ToolCall, ToolResult, Unknown
from quintain.model.grade import Status, Verdict
from quintain.model.plain import Json
from quintain.plugins import Plugins
from quintain.testing._evidence import make_evidence, with_nested
from quintain.testing._loops import OnBothLoops
from quintain.testing._records import HOSTILE

Example = tuple[Mapping[str, Json], Evidence]
"""A configuration as a file says it, and evidence."""


class AssertionConformance(OnBothLoops):
    """Subclass it in a test module of your assertion's package; pytest runs it on both event loops.

    ```python
    class TestMyAssertion(AssertionConformance):
        def spec(self):
            return MY_ASSERTION

        def passing(self):
            return [({"path": "a.txt"}, make_evidence(files={"a.txt": b"x"}))]

        def failing(self):
            return [({"path": "a.txt"}, make_evidence())]
    ```
    """

    patience_s = 60.0
    """Hang guard of one evaluation, in seconds."""

    def spec(self) -> AssertionSpec[Any]:
        """The type of assertion under test."""
        raise AssertionError("override `spec`: the type of assertion under test")

    def passing(self) -> Sequence[Example]:
        """At least one configuration and evidence on which it passes."""
        raise AssertionError("override `passing`: examples on which the assertion passes")

    def failing(self) -> Sequence[Example]:
        """At least one configuration and evidence on which it fails."""
        raise AssertionError("override `failing`: examples on which the assertion fails")

    def plugins(self) -> Plugins:
        """Where the types of assertions inside it come from, for an assertion that is made of others."""
        return Plugins()

    async def test_it_passes_where_it_should(self) -> None:
        examples = self.passing()
        assert examples
        for config, evidence in examples:
            verdict = await self._verdict(config, evidence)
            assert verdict.status is Status.PASS, verdict

    async def test_it_fails_where_it_should_and_says_why(self) -> None:
        examples = self.failing()
        assert examples
        for config, evidence in examples:
            verdict = await self._verdict(config, evidence)
            assert verdict.status is Status.FAIL, verdict
            assert verdict.reason

    async def test_the_same_evidence_gives_the_same_verdict(self) -> None:
        for config, evidence in (*self.passing(), *self.failing()):
            first, second = await self._verdict(config, evidence), await self._verdict(config, evidence)
            assert (first.status, first.score) == (second.status, second.score)

    async def test_a_verdict_survives_the_store(self) -> None:
        for config, evidence in (*self.passing(), *self.failing()):
            verdict = await self._verdict(config, evidence)
            assert from_plain(json.loads(dumps(to_plain(verdict))), Verdict) == verdict
            assert verdict.score is None or 0 <= verdict.score <= 1

    async def test_strange_evidence_breaks_nothing(self) -> None:
        hostile = make_evidence(
            files={"a\nb": b"\xff\x00", "-rf": HOSTILE.encode("utf-8", "surrogatepass")},
            events=[
                Ready(),
                Message(HOSTILE),
                ToolCall("1", HOSTILE, {"x": HOSTILE}),
                ToolCall("1", "twice"),
                ToolResult("2", text=HOSTILE, error=True),
                Log(HOSTILE),
                ProtocolError(HOSTILE),
                Unknown(HOSTILE, [None]),
                Done(HOSTILE),
            ],
            answer=HOSTILE,
        )
        for config, _ in (*self.passing(), *self.failing()):
            for evidence in (hostile, make_evidence()):
                try:
                    verdict = await self._verdict(config, evidence)
                except QuintainError as error:
                    assert str(error)
                else:
                    assert verdict.status in Status

    def test_configuration_is_strict(self) -> None:
        for config, _ in (*self.passing(), *self.failing()):
            with pytest.raises(RecordError, match="no_such_key"):
                from_plain({**config, "no_such_key": 1}, self.spec().config)

    async def _verdict(self, config: Mapping[str, Json], evidence: Evidence) -> Verdict:
        check, ready = with_nested(evidence, self.spec(), config, self.plugins())
        spec = check.spec
        with anyio.fail_after(self.patience_s):
            if spec.quick or inspect.iscoroutinefunction(spec.evaluate):
                found = spec.evaluate(check.config, ready)
            else:
                found = await anyio.to_thread.run_sync(spec.evaluate, check.config, ready)
            verdict = await found if inspect.isawaitable(found) else found
        assert isinstance(verdict, Verdict)
        return verdict
