"""One trial from order to report, with agents that live in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import quintain
from quintain import (
    Answer,
    Asked,
    Case,
    Cost,
    Done,
    Event,
    Failed,
    Failure,
    Launch,
    Limits,
    Message,
    OutcomeKind,
    Plugins,
    Question,
    Ready,
    Retry,
    Stage,
    Tokens,
    ToolCall,
    ToolResult,
    Traced,
    TrialReport,
    Unknown,
    Usage,
    Used,
    Verdict,
)
from quintain.contracts.driver import DriverSpec, Runtime, Session
from quintain.model.events import Answered, StageBegan
from quintain.model.trial import Allowance
from quintain.runs.store import RunStore

pytestmark = pytest.mark.anyio

NO_RETRY = Retry(attempts=1)


async def trial(agent: Any, store: Path, case: Case | None = None, **options: Any) -> TrialReport:
    driver = agent if isinstance(agent, DriverSpec) else quintain.driver_of(agent)
    options.setdefault("retry", NO_RETRY)
    options.setdefault("limits", Limits(linger_s=0.3, grace_s=0.3))
    options.setdefault("plugins", Plugins())
    result = await quintain.run([case or Case("one", "Do it.")], driver=driver, store=store, **options)
    (report,) = result.reports()
    return report


def trace_of(report: TrialReport, store: Path) -> Sequence[Traced]:
    (directory,) = (store / "runs").iterdir()
    run = RunStore(directory)
    try:
        return list(run.trace(report.trial, report.last.number))
    finally:
        run.close()


async def test_the_stages_are_in_the_trace_and_measured(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> str:
        (launch.workspace / "made.txt").write_text("x")
        return "done"

    report = await trial(agent, tmp_path)
    stages = [line.event.stage for line in trace_of(report, tmp_path) if isinstance(line.event, StageBegan)]
    assert stages == [Stage.STAGE, Stage.OPEN, Stage.CONVERSE, Stage.QUIESCE, Stage.COLLECT]
    assert {time.stage for time in report.last.stages} == {stage.value for stage in stages}
    assert all(time.seconds >= 0 for time in report.last.stages)


async def test_the_answer_is_the_last_message_of_the_main_agent(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        yield Message("first", id="1")
        yield Message("half ", id="2")
        yield Message("and half", id="2")
        yield Message("from below", agent="sub")
        yield Done()

    assert (await trial(agent, tmp_path)).last.answer == "half and half"


async def test_events_after_done_are_late_and_their_usage_counts(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        yield Used(Usage(Tokens(input=10, output=1), Cost.known(0.1), id="a"))
        yield Done("final answer")
        yield Message("one more thing")
        yield Used(Usage(Tokens(input=5, output=1), Cost.known(0.05), id="b"))
        yield Failed("too late")

    report = await trial(agent, tmp_path)
    assert report.outcome.kind is OutcomeKind.COMPLETED
    assert report.last.answer == "final answer"
    assert report.last.counts.late_events == 3
    assert report.spend.agent.tokens == Tokens(input=15, output=2)


async def test_a_session_that_goes_on_after_done_is_left_after_the_linger(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        yield Done("ok")
        await anyio.sleep_forever()

    with anyio.fail_after(20):
        report = await trial(agent, tmp_path)
    assert report.outcome.kind is OutcomeKind.COMPLETED


async def test_a_silent_agent_stalls_and_keeps_its_spend(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        yield Used(Usage(Tokens(input=1000, output=100), id="a"))
        await anyio.sleep_forever()

    report = await trial(agent, tmp_path, limits=Limits(idle_s=0.4))
    assert report.outcome.kind is OutcomeKind.STALLED
    assert report.spend.agent.tokens == Tokens(input=1000, output=100)
    assert not report.spend.agent.complete
    assert "0.4 s" in report.outcome.reason


async def test_a_busy_agent_that_never_ends_is_timed_out(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        while True:
            await anyio.sleep(0.02)
            yield Message("still here")

    report = await trial(agent, tmp_path, limits=Limits(idle_s=5, total_s=0.5))
    assert report.outcome.kind is OutcomeKind.TIMED_OUT
    assert report.last.counts.messages > 1
    assert report.passed is False


async def test_an_agent_that_never_gets_ready_is_infrastructure(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        await anyio.sleep_forever()
        yield Ready()

    report = await trial(agent, tmp_path, limits=Limits(startup_s=0.3))
    assert (report.outcome.kind, report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.CRASH)
    assert report.outcome.stage is Stage.OPEN


async def test_what_a_driver_raises_is_infrastructure_and_hurts_no_other_trial(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        if launch.case.id == "bad":
            raise RuntimeError("a bug in the driver")
        yield Done("ok")

    result = await quintain.run(
        [Case("bad", "x"), Case("good", "x")], driver=quintain.driver_of(agent), plugins=Plugins(), store=tmp_path
    )
    found = {report.case: report.outcome for report in result.reports()}
    assert found["bad"].failure is Failure.INTERNAL
    assert "a bug in the driver" in found["bad"].reason
    assert found["good"].kind is OutcomeKind.COMPLETED


async def test_a_session_that_ends_without_a_word_is_the_drivers_fault(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()

    assert (await trial(agent, tmp_path)).outcome.failure is Failure.PROTOCOL


async def test_unknown_events_are_kept_and_counted(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        yield Unknown("hologram", {"x": [1]})
        yield Done("ok")

    report = await trial(agent, tmp_path)
    assert report.last.counts.unknown_events == 1
    assert Unknown("hologram", {"x": [1]}) in [line.event for line in trace_of(report, tmp_path)]


async def test_all_tool_calls_failing_is_a_finding(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        for id in "ab":
            yield ToolCall(id, "shell")
            yield ToolResult(id, text="permission denied", error=True)
        yield Done("ok")

    assert "tool-calls-all-failed" in [finding.kind for finding in (await trial(agent, tmp_path)).last.findings]


# questions


class Asking:
    """A session that asks and repeats what it was told; or dies while it waits."""

    def __init__(self, *, times: int = 1, dies: bool = False, kind: Any = "ask") -> None:
        self.times, self.dies, self.kind = times, dies, kind
        self.answers: list[Answer] = []
        self.answered = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[Event]:
        yield Ready()
        for number in range(self.times):
            self.answered = anyio.Event()
            yield Asked(Question(f"q{number}", self.kind, "Which colour?"))
            if self.dies:
                yield Failed("killed while it waited")
                return
            await self.answered.wait()
        yield Done(" ".join(answer.text or answer.reason or "?" for answer in self.answers))

    async def answer(self, question: Question, answer: Answer) -> None:
        self.answers.append(answer)
        self.answered.set()

    async def interrupt(self) -> None:
        return None


def asking(**how: Any) -> DriverSpec[Any]:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def opened(config: Any, launch: Launch) -> AsyncIterator[Session]:
        yield Asking(**how)

    return DriverSpec("asking", opened)


async def test_a_question_is_answered_while_the_agent_waits(tmp_path: Path) -> None:
    report = await trial(asking(times=2), tmp_path, answerer=lambda question: f"blue for {question.id}")
    assert report.last.answer == "blue for q0 blue for q1"
    answered = [line.event for line in trace_of(report, tmp_path) if isinstance(line.event, Answered)]
    assert [event.delivered for event in answered] == [True, True]


async def test_nobody_there_means_a_refusal_on_record(tmp_path: Path) -> None:
    report = await trial(asking(kind="approve"), tmp_path)
    assert report.last.answer == "nobody is here to answer"
    assert report.last.counts.denials == 1


async def test_the_clocks_stand_still_while_a_question_is_out(tmp_path: Path) -> None:
    async def slow(question: Question) -> str:
        await anyio.sleep(0.9)
        return "blue"

    report = await trial(asking(), tmp_path, answerer=slow, limits=Limits(idle_s=0.4, total_s=0.6))
    assert report.outcome.kind is OutcomeKind.COMPLETED, report.outcome


async def test_an_agent_that_dies_while_a_question_is_out_ends_the_trial(tmp_path: Path) -> None:
    async def never(question: Question) -> str:
        await anyio.sleep_forever()
        return ""

    with anyio.fail_after(20):
        report = await trial(asking(dies=True), tmp_path, answerer=never)
    assert report.outcome.kind is OutcomeKind.AGENT_FAILED


async def test_too_many_questions_stop_the_agent(tmp_path: Path) -> None:
    report = await trial(asking(times=9), tmp_path, answerer=lambda q: "x", limits=Limits(questions=3))
    assert report.outcome.kind is OutcomeKind.TOO_MANY_QUESTIONS


async def test_an_answerer_that_fails_is_infrastructure(tmp_path: Path) -> None:
    def broken(question: Question) -> str:
        raise KeyError("no rule")

    report = await trial(asking(), tmp_path, answerer=broken)
    assert (report.outcome.failure, report.outcome.stage) == (Failure.ANSWERER, Stage.CONVERSE)


async def test_an_answerer_that_takes_too_long_is_infrastructure(tmp_path: Path) -> None:
    async def never(question: Question) -> str:
        await anyio.sleep_forever()
        return ""

    report = await trial(asking(), tmp_path, answerer=never, limits=Limits(answer_s=0.2))
    assert report.outcome.failure is Failure.ANSWERER
    assert "0.2 s" in report.outcome.reason


async def test_an_answer_of_the_wrong_kind_is_the_answerers_fault(tmp_path: Path) -> None:
    report = await trial(asking(), tmp_path, answerer=lambda q: Answer(q.id, "approve", approved=True))
    assert report.outcome.failure is Failure.ANSWERER


# retries


class Overloaded(quintain.QuintainError):
    failure = Failure.OVERLOAD


async def test_infrastructure_is_tried_again_from_a_clean_start_and_every_attempt_is_paid(tmp_path: Path) -> None:
    seen: list[bool] = []

    async def agent(launch: Launch) -> AsyncIterator[Event]:
        seen.append((launch.workspace / "left").exists() or (launch.home / "left").exists())
        (launch.workspace / "left").write_text("x")
        (launch.home / "left").write_text("x")
        yield Ready()
        yield Used(Usage(Tokens(input=100, output=10), Cost.known(0.1), id="a"))
        if launch.attempt < 3:
            yield Failed("API error: 529 overloaded", failure=Failure.OVERLOAD)
        else:
            yield Done("ok")

    report = await trial(agent, tmp_path, retry=Retry(attempts=3, base_s={"overload": 0.01}))
    assert report.outcome.kind is OutcomeKind.COMPLETED
    assert [attempt.number for attempt in report.attempts] == [1, 2, 3]
    assert seen == [False, False, False]
    assert report.spend.agent.cost.usd is not None
    assert abs(report.spend.agent.cost.usd - 0.3) < 1e-9
    assert report.spend.agent.tokens == Tokens(input=300, output=30)


async def test_infrastructure_that_does_not_mend_is_missing_and_never_a_zero(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        yield Done("API Error: Rate limit reached", error=True, failure=Failure.RATE_LIMIT)

    report = await trial(agent, tmp_path, retry=Retry(attempts=2, base_s={"rate_limit": 0.01}))
    assert report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert len(report.attempts) == 2
    assert report.passed is None
    assert report.grade is None
    assert report.last.answer is None


async def test_what_would_only_fail_again_is_not_tried_again(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        async with launch.spawn(["no-such-program-anywhere"]):
            yield Ready()

    report = await trial(agent, tmp_path, retry=Retry(attempts=3))
    assert (report.outcome.failure, len(report.attempts)) == (Failure.MISSING, 1)
    assert "no-such-program-anywhere" in report.outcome.reason


# budget and identity of the model


async def test_an_allowance_stops_an_agent_and_its_spend_stays(tmp_path: Path) -> None:
    from attrs import evolve
    from quintain.model.plain import Plug
    from quintain.model.project import Profile
    from quintain.runs.plan import make_plan
    from quintain.runs.run import Settings, run_plan
    from quintain.workspace.blobs import BlobStore

    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready()
        for number in range(100):
            yield Used(Usage(Tokens(input=100), id=str(number)))
            await anyio.sleep(0.01)
        yield Done("ok")

    plugins = Plugins.of(quintain.driver_of(agent, name="spender")).with_(quintain.answerer_of(lambda q: "x", name="a"))
    profile = Profile(name="default", driver=Plug("spender"), answerer=Plug("a"))
    plan = make_plan([Case("one", "x")], [profile], plugins, BlobStore(tmp_path / "blobs"))
    template = plan.templates[0]
    limited = evolve(template, order=evolve(template.order, allowance=Allowance(tokens=1000)))
    result = await run_plan(evolve(plan, templates=(limited,)), plugins, Settings(store=tmp_path))
    (report,) = result.reports()
    assert report.outcome.kind is OutcomeKind.BUDGET_STOPPED
    assert report.spend.agent.tokens == Tokens(input=1100)


async def test_another_model_than_was_asked_for_is_invalid(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(model="m2")
        yield Done("ok")

    from attrs import evolve

    driver = evolve(quintain.driver_of(agent), runtime=lambda config: Runtime(model="m1"))
    assert (await trial(driver, tmp_path)).outcome.kind is OutcomeKind.INVALID


# grading


def graded_case(**kinds: Any) -> Case:
    return Case("one", "x", assertions=tuple(quintain.check(kind, id=id) for id, kind in kinds.items()))


async def agent_ok(launch: Launch) -> str:
    return "ok"


async def test_all_required_assertions_must_pass(tmp_path: Path) -> None:
    report = await trial(agent_ok, tmp_path, graded_case(a=lambda e: True, b=lambda e: False))
    assert report.passed is False
    assert report.grade is not None
    assert report.grade.score == 0.5


async def test_an_assertion_that_is_not_required_only_lowers_the_score(tmp_path: Path) -> None:
    wish = quintain.check(lambda e: False, id="wish", required=False, weight=3)
    case = Case("one", "x", assertions=(quintain.check(lambda e: True, id="must"), wish))
    report = await trial(agent_ok, tmp_path, case)
    assert report.passed is True
    assert report.grade is not None
    assert report.grade.score == 0.25


async def test_an_assertion_that_breaks_costs_its_own_verdict_and_no_other(tmp_path: Path) -> None:
    def broken(evidence: Any) -> bool:
        raise MemoryError("grader")

    report = await trial(agent_ok, tmp_path, graded_case(broken=broken, fine=lambda e: True))
    assert report.outcome.kind is OutcomeKind.GRADER_FAILED
    assert report.passed is None
    assert report.grade is not None
    assert [result.status.value for result in report.grade.results] == ["abstain", "pass"]
    assert "MemoryError" in (report.grade.results[0].error or "")


async def test_a_trial_that_already_failed_stays_failed_when_a_grader_breaks(tmp_path: Path) -> None:
    def broken(evidence: Any) -> bool:
        raise MemoryError("grader")

    report = await trial(agent_ok, tmp_path, graded_case(broken=broken, wrong=lambda e: False))
    assert report.passed is False


@pytest.mark.parametrize("score", [1.0000001, -0.1, "0.9", True, float("nan"), float("inf"), [1]])
async def test_a_score_that_is_none_is_never_clamped(tmp_path: Path, score: Any) -> None:
    report = await trial(agent_ok, tmp_path, graded_case(a=lambda e: Verdict.passed(score=score)))
    assert report.outcome.kind is OutcomeKind.GRADER_FAILED


async def test_an_assertion_that_hangs_is_bounded(tmp_path: Path) -> None:
    async def hangs(evidence: Any) -> bool:
        await anyio.sleep_forever()
        return True

    case = graded_case(hangs=hangs, fine=lambda e: True)
    report = await trial(agent_ok, tmp_path, case, limits=Limits(assertion_s=0.2))
    assert report.outcome.kind is OutcomeKind.GRADER_FAILED
    assert "0.2 s" in report.outcome.reason


async def test_a_case_without_assertions_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    report = await trial(agent_ok, tmp_path)
    assert report.outcome.kind is OutcomeKind.COMPLETED
    assert report.passed is None


async def test_a_stopped_agent_is_graded_on_what_it_left_and_does_not_pass(tmp_path: Path) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        (launch.workspace / "ok.txt").write_text("x")
        yield Ready()
        await anyio.sleep_forever()

    case = graded_case(there=lambda evidence: evidence.files.entry("ok.txt") is not None)
    report = await trial(agent, tmp_path, case, limits=Limits(total_s=0.3))
    assert report.passed is False
    assert report.grade is not None
    assert report.grade.score == 1.0


def test_the_short_way_to_enter_a_stage_writes_what_the_long_way_writes() -> None:
    from quintain.model.codec import dumps, to_plain
    from quintain.redaction import Redactor
    from quintain.trial.trace import EvidencePlace, Trace

    place = EvidencePlace("nowhere")
    trace = Trace(place, Redactor(), limit=10**6, raw_limit=10**6)
    for stage in Stage:
        trace.enter(stage)
    assert place.events.text == "".join(f"{dumps(to_plain(line))}\n" for line in trace.read())
    assert [line.event for line in trace.read()] == [StageBegan(stage) for stage in Stage]
