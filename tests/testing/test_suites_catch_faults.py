"""The suites for plugin authors fail plugins that deserve it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import quintain
from attrs import evolve, frozen
from quintain import (
    Answer,
    AssertionSpec,
    Case,
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
    check,
    leaves_file,
)
from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.driver import Bound, Capability, ExperimentPolicy, IdentityContext
from quintain.errors import PolicyViolation
from quintain.testing import (
    AnswererConformance,
    AssertionConformance,
    DriverConformance,
    SinkConformance,
    make_evidence,
)

pytestmark = pytest.mark.anyio


def suite_of(agent: Any, **more: Any) -> DriverConformance:
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


PREFLIGHT = Case("any", "Write ready to f.txt.", assertions=(leaves_file("f.txt", "ready", by="its file tool"),))


async def test_a_preflight_that_is_as_it_should_be_passes(tmp_path: Path) -> None:
    good = suite_of(fine, preflight=lambda config: PREFLIGHT)
    await good.test_its_preflight_can_be_graded_and_fails_for_who_does_nothing(tmp_path)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (evolve(PREFLIGHT, prompt=" "), "told something"),
        (evolve(PREFLIGHT, assertions=()), "shows nothing"),
        (evolve(PREFLIGHT, assertions=(evolve(PREFLIGHT.assertions[0], required=False),)), "shows nothing"),
        (evolve(PREFLIGHT, assertions=(check(lambda evidence: True, id="always"),)), "did nothing passes it"),
    ],
)
async def test_a_preflight_that_shows_nothing_is_caught(tmp_path: Path, case: Case, words: str) -> None:
    suite = suite_of(fine, preflight=lambda config: case)
    with pytest.raises(AssertionError, match=words):
        await suite.test_its_preflight_can_be_graded_and_fails_for_who_does_nothing(tmp_path)


def says(sources: Any) -> DriverConformance:
    """A driver whose identity is what a function makes of the context."""

    async def identity(config: Any, context: IdentityContext) -> Any:
        return sources(context)

    return suite_of(fine, experiment=ExperimentPolicy("1", lambda config: config, identity))


async def test_an_identity_that_is_as_it_should_be_passes(tmp_path: Path) -> None:
    good = says(lambda context: {"rules": "sha256:00", "skills": None})
    await good.test_identity_is_stable_and_holds_no_secret(tmp_path)
    await good.test_identity_does_not_depend_on_where_the_home_is(tmp_path)
    good.test_what_an_experiment_binds_stays_bound()


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (lambda context: {"n": time.perf_counter_ns()}, "another each time"),
        (lambda context: {"home": str(context.home)}, "home directory"),
        (lambda context: {"config": 1}, "the core says"),
    ],
)
async def test_an_identity_that_says_too_much_is_caught(tmp_path: Path, sources: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        await says(sources).test_identity_is_stable_and_holds_no_secret(tmp_path)


async def test_an_identity_that_holds_a_secret_is_caught(tmp_path: Path) -> None:
    async def identity(config: Any, context: IdentityContext) -> Any:
        return dict(context.environment)

    leaks = suite_of(
        fine,
        runtime=lambda config: Runtime(host_environment=("KEY",)),
        experiment=ExperimentPolicy("1", lambda config: config, identity),
    )
    with pytest.raises(AssertionError):
        await leaks.test_identity_is_stable_and_holds_no_secret(tmp_path)


async def test_an_identity_that_is_no_plain_data_is_caught(tmp_path: Path) -> None:
    with pytest.raises(quintain.QuintainError, match="no plain data"):
        await says(lambda context: {"home": context.home}).test_identity_is_stable_and_holds_no_secret(tmp_path)


async def test_an_identity_that_depends_on_where_the_home_is_is_caught(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        await says(lambda context: {"home": context.home.name}).test_identity_does_not_depend_on_where_the_home_is(
            tmp_path
        )


def prepares(prepare: Any) -> DriverConformance:
    @frozen
    class Config:
        number: int = 0

    made = DriverSpec("agent", quintain.driver_of(fine).open, Config, experiment=ExperimentPolicy("1", prepare))

    class Suite(DriverConformance):
        def completing(self) -> Bound[Any]:
            return made()

    return Suite()


def test_what_changes_more_each_time_it_is_prepared_is_caught() -> None:
    with pytest.raises(AssertionError, match="twice"):
        prepares(lambda config: evolve(config, number=config.number + 1)).test_what_an_experiment_binds_stays_bound()


def test_a_refusal_without_advice_is_caught() -> None:
    def refuse(config: Any) -> Any:
        raise PolicyViolation("no")

    with pytest.raises(AssertionError, match="what to write instead"):
        prepares(refuse).test_what_an_experiment_binds_stays_bound()


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
