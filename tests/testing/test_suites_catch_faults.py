"""The suites for plugin authors fail plugins that deserve it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import quintain
from quintain import (
    Answer,
    AssertionSpec,
    Done,
    DriverSpec,
    Event,
    Launch,
    Message,
    Ready,
    Runtime,
    Sink,
    SinkSpec,
    Verdict,
)
from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.driver import Bound, Capability
from quintain.testing import (
    AnswererConformance,
    AssertionConformance,
    DriverConformance,
    SinkConformance,
    make_evidence,
)

pytestmark = pytest.mark.anyio


def suite_of(agent: Any, **more: Any) -> DriverConformance:
    from attrs import evolve

    class Suite(DriverConformance):
        def completing(self) -> Bound[Any]:
            return evolve(quintain.driver_of(agent, name="agent"), **more)()

    return Suite()


async def fine(launch: Launch) -> AsyncIterator[Event]:
    yield Ready()
    yield Message("done")
    yield Done()


async def test_a_good_driver_passes(tmp_path: Path) -> None:
    suite = suite_of(fine)
    await suite.test_a_session_begins_with_ready_and_ends_once(tmp_path)
    await suite.test_eight_at_once_do_not_disturb_each_other(tmp_path)


async def test_a_driver_that_begins_without_ready_is_caught(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Message("hello")
        yield Ready()
        yield Done()

    with pytest.raises(AssertionError, match="the first event is Message"):
        await suite_of(agent).test_a_session_begins_with_ready_and_ends_once(tmp_path)


async def test_a_driver_that_never_says_done_is_caught(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()

    with pytest.raises(AssertionError):
        await suite_of(agent).test_a_session_begins_with_ready_and_ends_once(tmp_path)


async def test_a_driver_that_claims_what_it_does_not_show_is_caught() -> None:
    claims = suite_of(fine, runtime=lambda config: Runtime(capabilities=frozenset({Capability.QUESTIONS})))
    with pytest.raises(AssertionError, match="questions"):
        claims.test_capabilities_are_claimed_only_where_they_are_shown()


async def test_a_driver_that_claims_usage_and_reports_none_is_caught(tmp_path: Path) -> None:
    claims = suite_of(fine, runtime=lambda config: Runtime(capabilities=frozenset({Capability.USAGE})))
    with pytest.raises(AssertionError):
        await claims.test_declared_usage_is_reported(tmp_path)


async def test_an_assertion_that_changes_its_mind_is_caught() -> None:
    verdicts = iter([Verdict.passed(), Verdict.failed("no")] * 10)

    class Suite(AssertionConformance):
        def spec(self) -> AssertionSpec[Any]:
            return AssertionSpec("moody", lambda config, evidence: next(verdicts), quick=True)

        def passing(self) -> list[Any]:
            return [({}, make_evidence())]

        def failing(self) -> list[Any]:
            return []

    with pytest.raises(AssertionError):
        await Suite().test_the_same_evidence_gives_the_same_verdict()


async def test_an_answerer_that_answers_another_question_is_caught() -> None:
    class Wrong:
        async def answer(self, question: Any, history: Any) -> Answer:
            return Answer("another", "ask", text="x")

    @asynccontextmanager
    async def opened(config: Any, context: Any) -> AsyncIterator[Any]:
        yield Wrong()

    class Suite(AnswererConformance):
        def spec(self) -> AnswererSpec[Any]:
            return AnswererSpec("wrong", opened)

    from quintain.testing._answerer import QUESTIONS

    with pytest.raises(AssertionError):
        await Suite().test_an_answer_fits_its_question_or_the_refusal_is_an_error_with_words(QUESTIONS[0])


async def test_a_sink_that_trips_over_hostile_text_is_caught(tmp_path: Path) -> None:
    class Naive(Sink):
        async def trial_ended(self, report: Any) -> None:
            (tmp_path / "out.txt").write_text(report.case, encoding="ascii")

    @asynccontextmanager
    async def opened(config: Any, context: Any) -> AsyncIterator[Sink]:
        yield Naive()

    class Suite(SinkConformance):
        def spec(self) -> SinkSpec[Any]:
            return SinkSpec("naive", opened)

    with pytest.raises(UnicodeEncodeError):
        await Suite().test_hostile_text_is_received(tmp_path)


def test_a_driver_is_bound_by_keywords_and_by_an_object() -> None:
    spec = quintain.driver_of(fine, name="agent")
    assert isinstance(spec, DriverSpec)
    assert spec() == spec(quintain.NoConfig())
