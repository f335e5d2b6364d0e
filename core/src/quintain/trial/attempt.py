"""One attempt at a trial: stage, open, converse, quiesce, collect."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread
from attrs import field, frozen

from quintain import process
from quintain.contracts.answerer import AnswererContext
from quintain.model.events import Traced
from quintain.model.exit import Exit
from quintain.model.outcome import Outcome, OutcomeKind, Stage
from quintain.model.plain import Finding
from quintain.model.tree import ChangeSet, Tree
from quintain.model.trial import Attempt, Counts, Isolation, SpendBreakdown, StageTime, TrialOrder
from quintain.model.usage import NO_SPEND
from quintain.redaction import Redactor
from quintain.trial.bench import Bench
from quintain.trial.converse import Conversation
from quintain.trial.decide import Signals, decide
from quintain.trial.environment import agent_environment, secrets_of
from quintain.trial.fixtures import Fixtures, load_record, store_record
from quintain.trial.launch import TrialLaunch
from quintain.trial.prepare import Prepared
from quintain.trial.spend import SpendMeter
from quintain.trial.trace import Trace, final_answer
from quintain.trial.watch import Clocks
from quintain.workspace.area import TrialArea
from quintain.workspace.collect import collect
from quintain.workspace.staging import Staged, stage


@frozen
class Ran:
    """An attempt that is over, with what grading it needs."""

    attempt: Attempt
    trace: Sequence[Traced] = field(factory=list, repr=False)
    changes: ChangeSet = field(factory=ChangeSet)


class _Stages:
    """Names the stage that is on, and measures them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._times: list[StageTime] = []
        self._began = time.monotonic()
        self._entered = False
        self.now = Stage.STAGE

    def enter(self, stage: Stage) -> None:
        self._end()
        self.now = stage
        self._trace.enter(stage)

    def _end(self) -> None:
        now = time.monotonic()
        if self._entered:
            self._times.append(StageTime(self.now.value, round(now - self._began, 6)))
        self._began, self._entered = now, True

    def times(self) -> tuple[StageTime, ...]:
        self._end()
        return tuple(self._times)


async def run_attempt(order: TrialOrder, prepared: Prepared, bench: Bench, number: int, fixtures: Fixtures) -> Ran:
    """Run one attempt. What goes wrong is in its outcome; only cancellation is raised.

    Args:
        order: what to run.
        prepared: its plugins.
        bench: where to run it.
        number: of the attempt, from 1.
        fixtures: what to lay out as the workspace.
    """
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    redactor = Redactor.of(secrets_of(order.isolation, prepared.runtime.host_environment, bench.host))
    listen = bench.listen
    trace = Trace(
        bench.evidence(order.trial, number),
        redactor,
        limit=order.limits.trace_bytes,
        raw_limit=order.limits.raw_bytes,
        canaries=fixtures.canaries,
        listen=None if listen is None else lambda traced: listen(order.trial, traced),
    )
    run = _Run(order, prepared, bench, number, trace, redactor)
    async with TrialArea(bench.areas) as area:
        try:
            await run.converse(area, fixtures)
        except* Exception as group:  # noqa: BLE001  # whatever a driver raises is this attempt's outcome, not our end
            run.went_wrong(group)
        try:
            await run.collect(area)
        except OSError as error:
            run.went_wrong(error)
    run.trash = area.trash
    try:
        trace.close()
    except OSError as error:
        run.went_wrong(error)
        trace.abandon()
    return Ran(run.attempt(started_at), run.evidence(), run.changes)


class _Run:
    """The parts of an attempt that its stages share."""

    def __init__(
        self, order: TrialOrder, prepared: Prepared, bench: Bench, number: int, trace: Trace, redactor: Redactor
    ) -> None:
        self._order = order
        self._prepared = prepared
        self._bench = bench
        self._number = number
        self._trace = trace
        self._redactor = redactor
        self._stages = _Stages(trace)
        self._agent = SpendMeter()
        self._answerer = SpendMeter()
        self._conversation: Conversation | None = None
        self._launch: TrialLaunch | None = None
        self._staged: Staged | None = None
        self._subject: Staged | None = None
        self._tampered: tuple[str, ...] = ()
        self._error: BaseException | None = None
        self._error_stage = Stage.STAGE
        self.changes = ChangeSet()
        self.trash: Path | None = None
        self._changes_digest: str | None = None

    async def converse(self, area: TrialArea, fixtures: Fixtures) -> None:
        """Stage, open, converse, quiesce."""
        order, prepared, bench = self._order, self._prepared, self._bench
        self._stages.enter(Stage.STAGE)
        if fixtures.visible is not None:
            self._staged = await anyio.to_thread.run_sync(stage, fixtures.visible, bench.blobs, area.work)
        if order.subject is not None:
            self._subject = await anyio.to_thread.run_sync(_stage_subject, order.subject, bench, area)
        self._stages.enter(Stage.OPEN)
        launch = self._launch = TrialLaunch(
            order,
            self._number,
            area,
            lambda: self._environment(area),
            self._trace,
            marker=bench.marker,
            sandbox=_sandbox(order, area),
            keepers=bench.keepers,
            watchman=bench.watchman,
        )
        context = AnswererContext(order.trial, order.case.id, order.case.prompt, order.case.persona, self._answerer.add)
        async with prepared.answerer.open(prepared.answerer_config, context) as answerer:
            conversation = self._conversation = Conversation(
                answerer,
                prepared.answerer.name,
                self._trace,
                self._agent,
                order.limits,
                watchman=bench.watchman,
                gate=bench.gate if prepared.answerer.interactive else None,
                exceeded=self._exceeded,
            )
            clocks = Clocks(
                order.limits,
                conversation.stop,
                activity=launch.activity,
                areas=area.made,
                idle=not prepared.runtime.silent_until_exit,
            )
            with bench.switch.telling(conversation.stop):
                await conversation.hold(
                    lambda: prepared.driver.open(prepared.driver_config, launch), clocks, self._stages.enter
                )

    def _environment(self, area: TrialArea) -> Mapping[str, str]:
        """What the agent sees; the same for all trials of one kind in one area."""
        isolation, memo = self._order.isolation, area.area.memo
        known: tuple[Isolation, Mapping[str, str]] | None = memo.get("environment")
        if known is None or known[0] is not isolation:
            credentials, host = self._prepared.runtime.host_environment, self._bench.host
            made = agent_environment(isolation, credentials, host, home=area.home, temp=area.temp)
            memo["environment"] = known = isolation, made
        return known[1]

    def _exceeded(self, meter: SpendMeter) -> str | None:
        allowance = self._order.allowance
        if allowance.tokens is not None and (meter.tokens or 0) > allowance.tokens:
            return f"it used {meter.tokens} tokens (allowance {allowance.tokens})"
        if allowance.usd is not None and (meter.usd or 0.0) > allowance.usd:
            return f"it spent ${meter.usd:.4f} (allowance ${allowance.usd:.4f})"
        return None

    def went_wrong(self, error: BaseException) -> None:
        """Keep the first error; it decides the outcome unless the agent had finished before."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if self._error is None:
            self._error, self._error_stage = error, self._stages.now

    async def collect(self, area: TrialArea) -> None:
        """Find out what the agent changed."""
        if not area.worked:
            return
        self._stages.enter(Stage.COLLECT)
        limits = self._order.limits
        if self._subject is not None:
            self._tampered = await anyio.to_thread.run_sync(self._changed_subject, self._subject, area)
        if self._staged is None and area.empty:
            return
        self.changes = await anyio.to_thread.run_sync(
            collect, area.work, self._staged, self._bench.blobs, limits, self._redactor.data_or_none
        )
        self._changes_digest = store_record(self.changes, self._bench.blobs)

    def _changed_subject(self, staged: Staged, area: TrialArea) -> tuple[str, ...]:
        limits, redact = self._order.limits, self._redactor.data_or_none
        try:
            # What interpreters keep of what they have read is no change of what is under test.
            changed = collect(area.subject, staged, self._bench.blobs, limits, redact, ignore=("**/__pycache__",))
        except FileNotFoundError:
            return tuple(staged.tree.entries)
        return tuple(change.path for change in changed.changes)

    def attempt(self, started_at: str) -> Attempt:
        """The record of it all."""
        trace, conversation = self._trace, self._conversation
        first = self._launch.processes[0] if self._launch and self._launch.processes else None
        stderr = self._redactor.text(first.stderr.text()) if first else ""
        ended = first.exit if first else None
        counts = trace.counts
        outcome = decide(self._signals(ended, stderr, counts))
        attempt = Attempt(
            number=self._number,
            outcome=outcome,
            started_at=started_at,
            duration_s=round(trace.elapsed_s, 6),
            stages=self._stages.times(),
            agent=conversation.ready if conversation else None,
            answer=final_answer(self.evidence()),
            exit=ended,
            stderr=stderr,
            spend=SpendBreakdown(
                agent=self._agent.spend(complete=outcome.kind is OutcomeKind.COMPLETED),
                answerer=self._answerer.spend(complete=True) if self._answerer.seen else NO_SPEND,
            ),
            counts=counts,
            changes=self._changes_digest,
            findings=tuple(self._findings(outcome, ended, counts)),
            isolation=self._order.isolation.sandbox,
            environment=self._launch.variables if self._launch else (),
        )
        # An error's words may quote what the agent wrote.
        return self._redactor.record(attempt)

    def evidence(self) -> Sequence[Traced]:
        """The trace, for grading."""
        return self._trace.read()

    def _signals(self, ended: Exit | None, stderr: str, counts: Counts) -> Signals:
        talk = self._conversation
        served = talk.ready.model if talk and talk.ready else None
        # What comes after the agent said that it had finished can't unsay it.
        error = None if talk and talk.terminal and self._error_stage is Stage.QUIESCE else self._error
        return Signals(
            terminal=talk.terminal if talk else None,
            stopped=talk.stopped if talk else None,
            stopped_because=talk.stopped_because if talk else "",
            exit=ended,
            stderr=stderr[-4000:],
            error=error,
            error_stage=self._error_stage,
            answerer_error=talk.answerer_error if talk else None,
            tokens=self._agent.tokens,
            tool_calls=counts.tool_calls,
            model=self._prepared.runtime.model,
            served=served,
            out_of_memory=self._launch is not None and ended is not None and self._launch.killed_for_memory(),
        )

    def _findings(self, outcome: Outcome, ended: Exit | None, counts: Counts) -> Iterator[Finding]:
        for conflict in outcome.conflicts:
            yield Finding("signals-conflict", conflict)
        if outcome.kind is OutcomeKind.COMPLETED and ended is not None and ended.stop in ("terminated", "killed"):
            yield Finding("killed-after-result", f"it did not end after its result and was stopped ({ended.stop})")
        if ended is not None and ended.leftover:
            yield Finding("leftover-processes", f"{ended.leftover} of its processes were still alive and were killed")
        if counts.tool_calls and counts.tool_errors >= counts.tool_calls:
            yield Finding("tool-calls-all-failed", f"each of its {counts.tool_calls} tool calls failed")
        if self._tampered:
            yield Finding("tampering", "the agent changed what is under test, beside its workspace", self._tampered)
        if self.trash is not None:
            yield Finding("not-removed", "what it left could not all be removed", (str(self.trash),))
        for word in self._trace.leaked:
            yield Finding("leak", f"the canary {word} of the hidden fixtures turned up in the trace")
        if self._error is not None and outcome.scored:
            yield Finding("late-error", f"{type(self._error).__name__}: {self._error}")
        if self.changes.omitted_files or self.changes.unlisted:
            text = f"{self.changes.omitted_files} changed files ({self.changes.omitted_bytes} bytes) were not kept"
            yield Finding("not-kept", text + (f", {self.changes.unlisted} not listed" if self.changes.unlisted else ""))


def _stage_subject(digest: str, bench: Bench, area: TrialArea) -> Staged:
    return stage(load_record(digest, Tree, bench.blobs), bench.blobs, area.subject)


def _sandbox(order: TrialOrder, area: TrialArea) -> process.Sandbox | None:
    if order.isolation.sandbox == "none":
        return None
    isolation = order.isolation
    readable = isolation.readable if order.subject is None else (*isolation.readable, area.subject)
    return process.Sandbox(network=isolation.network, writable=(area.work, area.home, area.temp), readable=readable)
