"""The suite that every driver passes, ours and yours."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from quintain.api import run
from quintain.conditions import RESERVED
from quintain.contracts.driver import Bound, Capability, IdentityContext, Launch
from quintain.errors import PolicyViolation, RecordError
from quintain.functions import driver_of
from quintain.identity.tree import normal
from quintain.model.case import Case
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.model.events import (
    Answered,
    Asked,
    Done,
    Failed,
    Log,
    Progress,
    ProtocolError,
    Ready,
    StageBegan,
    ToolCall,
    ToolResult,
    Traced,
    Unknown,
)
from quintain.model.limits import Limits, Retry
from quintain.model.outcome import OutcomeKind
from quintain.model.question import Answer, Question
from quintain.model.trial import Isolation, TrialReport
from quintain.runs.run import RunResult
from quintain.runs.store import RunStore
from quintain.testing._loops import OnBothLoops
from quintain.trial.environment import MARKER

NASTY_PROMPTS = (
    "- [ ] fix --help; rm -rf \"$HOME\" `id` $(id)\n--model other\n'quoted' \\ end ",
    "naïve ☕ 你好 🎉\u2028next\u0085line\ttab",
    "{not: a placeholder} {{neither}} %s %(x)s ${HOME}",
    "\r\n \x1b[31mred\x1b[0m \x7f\x01",
)
"""Prompts that have broken drivers before."""

LONG_PROMPT = "x" * 300_000
"""Longer than one argument of a program may be."""


class DriverConformance(OnBothLoops):
    """Subclass it in a test module of your driver's package; pytest runs it on both event loops.

    ```python
    class TestMyDriver(DriverConformance):
        def completing(self):
            return my_driver(model="m")
    ```

    Each scenario method returns the driver with a configuration under which its agent behaves as the method's name says.
    `completing` is needed; another that is not overridden is a statement that the driver has no such capability, which
    is held against what it declares.
    """

    patience_s = 60.0
    """Hang guard of one scenario, in seconds."""

    def completing(self) -> Bound[Any]:
        """The agent starts, does its work and finishes."""
        raise AssertionError("override `completing`: the driver with an agent that finishes")

    def echoing(self) -> Bound[Any] | None:
        """The agent's final answer is its prompt, byte for byte."""
        return None

    def asking(self) -> Bound[Any] | None:
        """The agent asks one question of kind "ask" and repeats the answer as its final answer."""
        return None

    def approving(self) -> Bound[Any] | None:
        """The agent asks for one approval and finishes whatever it is told."""
        return None

    def hanging(self) -> Bound[Any] | None:
        """The agent starts and then does nothing for ever."""
        return None

    def failing(self) -> Bound[Any] | None:
        """The agent gives up or breaks down."""
        return None

    def dying_while_asking(self) -> Bound[Any] | None:
        """The agent asks a question and dies before it is answered."""
        return None

    def using_tools(self) -> Bound[Any] | None:
        """The agent calls at least one tool and gets its result."""
        return None

    def printing(self, variable: str) -> Bound[Any] | None:
        """The agent prints the value of an environment variable wherever it can."""
        return None

    def unknown_key(self) -> str:
        """A configuration key that the driver doesn't have."""
        return "no_such_key"

    def isolation(self) -> Isolation:
        """What the agent needs of the host beside the usual."""
        return Isolation()

    # what every driver does

    async def test_a_session_begins_with_ready_and_ends_once(self, tmp_path: Path) -> None:
        report, trace = await self._one(self.completing(), tmp_path)
        assert report.outcome.kind is OutcomeKind.COMPLETED, report.outcome
        events = [line.event for line in trace if not line.late]
        said = [
            event for event in events if not isinstance(event, StageBegan | Log | Progress | Unknown | ProtocolError)
        ]
        assert isinstance(said[0], Ready), f"the first event is {said[0]}"
        ends = [event for event in said if isinstance(event, Done | Failed)]
        assert len(ends) == 1, f"it ended {len(ends)} times"
        assert said[-1] is ends[0], f"{said[-1]} came after the end"

    async def test_every_event_survives_the_store(self, tmp_path: Path) -> None:
        _, trace = await self._one(self.completing(), tmp_path)
        for line in trace:
            assert from_plain(json.loads(dumps(to_plain(line))), Traced) == line

    async def test_declared_usage_is_reported(self, tmp_path: Path) -> None:
        bound = self.completing()
        capabilities = bound.spec.runtime(bound.config).capabilities
        report, _ = await self._one(bound, tmp_path)
        spend = report.spend.agent
        assert not spend.problems, spend.problems
        if Capability.USAGE in capabilities:
            assert spend.tokens is not None
            assert spend.complete
        if Capability.COST in capabilities:
            assert spend.cost.usd is not None

    async def test_eight_at_once_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        result = await self._run(self.completing(), tmp_path, repeat=8, concurrency=8)
        outcomes = [report.outcome for report in result.reports()]
        assert [outcome.kind for outcome in outcomes] == [OutcomeKind.COMPLETED] * 8, outcomes

    async def test_nothing_survives_a_session(self, tmp_path: Path) -> None:
        await self._one(self.completing(), tmp_path)
        assert list(_marked_processes()) == []

    def test_configuration_is_strict(self) -> None:
        bound = self.completing()
        with pytest.raises(RecordError, match=self.unknown_key()):
            from_plain({**to_plain(bound.config), self.unknown_key(): 1}, bound.spec.config)

    def test_configuration_is_plain_data(self) -> None:
        bound = self.completing()
        assert from_plain(json.loads(dumps(to_plain(bound.config))), bound.spec.config) == bound.config

    def test_runtime_is_a_function_of_the_configuration(self) -> None:
        bound = self.completing()
        assert bound.spec.runtime(bound.config) == bound.spec.runtime(bound.config)

    def test_capabilities_are_claimed_only_where_they_are_shown(self) -> None:
        bound = self.completing()
        claimed = bound.spec.runtime(bound.config).capabilities
        shown = {
            Capability.QUESTIONS: self.asking(),
            Capability.APPROVALS: self.approving(),
            Capability.TOOL_EVENTS: self.using_tools(),
        }
        unshown = {capability for capability, scenario in shown.items() if scenario is None and capability in claimed}
        assert not unshown, f"claimed without a scenario that shows it: {sorted(unshown)}"

    async def test_identity_is_stable_and_holds_no_secret(self, tmp_path: Path) -> None:
        bound = self.completing()
        policy = bound.spec.experiment
        secret = "s3cr3t-canary-of-the-kit"
        names = bound.spec.runtime(bound.config).host_environment
        context = _identity_context(tmp_path, {"PATH": os.environ.get("PATH", ""), **dict.fromkeys(names, secret)})
        sources = normal(await policy.identity(bound.config, context))
        first = dumps(sources)
        assert first == dumps(normal(await policy.identity(bound.config, context))), "it is another each time"
        assert secret not in first
        for home in (tmp_path, Path.home()):
            assert str(home) not in first or home == Path("/"), (
                "where a home directory lies is nothing that results depend on"
            )
        assert not RESERVED & sources.keys(), f"the core says {sorted(RESERVED & sources.keys())}; call it otherwise"

    async def test_identity_does_not_depend_on_where_the_home_is(self, tmp_path: Path) -> None:
        bound = self.completing()
        found = []
        for name in ("one", "other"):
            home = tmp_path / name
            home.mkdir()
            context = _identity_context(home, {"PATH": os.environ.get("PATH", ""), "HOME": str(home)})
            found.append(normal(await bound.spec.experiment.identity(bound.config, context)))
        assert found[0] == found[1]

    def test_what_an_experiment_binds_stays_bound(self) -> None:
        bound = self.completing()
        policy = bound.spec.experiment
        assert policy.version, "the policy has no version"
        try:
            prepared = policy.prepare(bound.config)
        except PolicyViolation as refused:
            assert refused.message
            assert refused.hint, "a refusal says what to write instead"
            return
        assert isinstance(prepared, bound.spec.config)
        assert policy.prepare(prepared) == prepared, "preparing twice changes more"
        assert from_plain(json.loads(dumps(to_plain(prepared))), bound.spec.config) == prepared

    async def test_its_preflight_can_be_graded_and_fails_for_who_does_nothing(self, tmp_path: Path) -> None:
        bound = self.completing()
        if bound.spec.preflight is None:
            return
        case = bound.spec.preflight(bound.config)
        assert isinstance(case, Case)
        assert case.prompt.strip(), "an agent is told something"
        assert any(assertion.required for assertion in case.assertions), "it requires nothing, so it shows nothing"
        assert bound.spec.preflight(bound.config) == case, "it is another each time"
        limits = Limits(total_s=self.patience_s)
        result = await run([case], driver=driver_of(_idle), store=tmp_path, limits=limits)
        (report,) = result.reports()
        assert report.grade is not None, report.outcome
        assert report.grade.judged, [found.error for found in report.grade.results]
        assert report.passed is False, "an agent that did nothing passes it"

    # what the scenarios show

    @pytest.mark.parametrize("prompt", NASTY_PROMPTS, ids=range(len(NASTY_PROMPTS)))
    async def test_a_prompt_arrives_byte_for_byte(self, tmp_path: Path, prompt: str) -> None:
        if (bound := self.echoing()) is not None:
            report, _ = await self._one(bound, tmp_path, prompt=prompt)
            assert report.last.answer == prompt

    async def test_a_prompt_may_be_longer_than_an_argument(self, tmp_path: Path) -> None:
        if (bound := self.echoing()) is not None:
            report, _ = await self._one(bound, tmp_path, prompt=LONG_PROMPT)
            assert report.last.answer == LONG_PROMPT

    async def test_a_question_is_answered_in_the_same_session(self, tmp_path: Path) -> None:
        if (bound := self.asking()) is not None:
            report, trace = await self._one(bound, tmp_path, answerer=_answer)
            assert report.outcome.kind is OutcomeKind.COMPLETED, report.outcome
            assert sum(isinstance(line.event, Asked) for line in trace) == 1
            answered = [line.event for line in trace if isinstance(line.event, Answered)]
            assert [event.delivered for event in answered] == [True]
            assert ANSWER in (report.last.answer or "")

    @pytest.mark.parametrize("approved", [True, False])
    async def test_an_approval_is_given_or_refused(self, tmp_path: Path, approved: bool) -> None:
        if (bound := self.approving()) is not None:
            report, trace = await self._one(
                bound, tmp_path, answerer=lambda question: Answer.decide(question, approved, "the kit says so")
            )
            assert report.outcome.kind is OutcomeKind.COMPLETED, report.outcome
            answered = [line.event.answer.approved for line in trace if isinstance(line.event, Answered)]
            assert approved in answered

    async def test_tool_results_pair_with_their_calls(self, tmp_path: Path) -> None:
        if (bound := self.using_tools()) is not None:
            _, trace = await self._one(bound, tmp_path)
            calls = [line.event.id for line in trace if isinstance(line.event, ToolCall)]
            results = [line.event.id for line in trace if isinstance(line.event, ToolResult)]
            assert calls
            assert len(set(calls)) == len(calls)
            assert sorted(results) == sorted(calls)

    async def test_an_agent_that_hangs_is_stopped_and_gone(self, tmp_path: Path) -> None:
        if (bound := self.hanging()) is not None:
            limits = Limits(total_s=1.5, grace_s=0.5, linger_s=0.5)
            report, _ = await self._one(bound, tmp_path, limits=limits)
            assert report.outcome.kind is OutcomeKind.TIMED_OUT, report.outcome
            assert list(_marked_processes()) == []

    async def test_an_agent_that_fails_is_no_success(self, tmp_path: Path) -> None:
        if (bound := self.failing()) is not None:
            report, _ = await self._one(bound, tmp_path)
            assert report.outcome.kind in (OutcomeKind.AGENT_FAILED, OutcomeKind.INFRASTRUCTURE), report.outcome
            assert report.outcome.reason

    async def test_an_agent_that_dies_while_it_asks_ends_the_trial(self, tmp_path: Path) -> None:
        if (bound := self.dying_while_asking()) is not None:
            report, _ = await self._one(bound, tmp_path, answerer=_never)
            assert report.outcome.kind in (OutcomeKind.AGENT_FAILED, OutcomeKind.INFRASTRUCTURE), report.outcome

    async def test_a_secret_is_nowhere_in_the_evidence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        name, value = "QUINTAIN_KIT_SECRET", "s3cr3t/+CANARY=="
        if (bound := self.printing(name)) is not None:
            monkeypatch.setenv(name, value)
            isolation = self.isolation()
            secrets = evolve(isolation, secrets=(*isolation.secrets, name))
            await self._one(bound, tmp_path, isolation=secrets)
            found = [path for path in tmp_path.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]
            assert found == []

    # how it is run

    async def _run(self, bound: Bound[Any], store: Path, *, prompt: str = "Do it.", **options: Any) -> RunResult:
        options.setdefault("limits", Limits(total_s=self.patience_s, linger_s=1.0, grace_s=1.0))
        options.setdefault("isolation", self.isolation())
        case = Case("kit", prompt)
        return await run([case], driver=bound, store=store, retry=Retry(attempts=1), **options)

    async def _one(self, bound: Bound[Any], store: Path, **options: Any) -> tuple[TrialReport, Sequence[Traced]]:
        result = await self._run(bound, store, **options)
        (report,) = result.reports()
        run_store = RunStore(result.directory)
        try:
            return report, list(run_store.trace(report.trial, report.last.number))
        finally:
            run_store.close()


def _identity_context(home: Path, environment: dict[str, str]) -> IdentityContext:
    return IdentityContext(
        home=home,
        environment=environment,
        digest_file=lambda path: f"file:{path.name}:{path.stat().st_size}",
        digest_tree=lambda path: f"tree:{path.name}:{len(list(path.iterdir()))}",
    )


ANSWER = "forty-two"


def _answer(question: Question) -> str | bool:
    return True if question.kind == "approve" else ANSWER


async def _idle(launch: Launch) -> str:
    return ""


async def _never(question: Question) -> str:
    import anyio

    await anyio.sleep_forever()
    return ANSWER


def _marked_processes() -> Iterator[int]:
    """Processes that carry the mark of a trial of this process."""
    if not sys.platform.startswith("linux"):
        return
    mark = f"{MARKER}={os.getpid()}.".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                yield int(folder.name)
        except OSError:
            continue
