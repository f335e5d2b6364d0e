"""The conversation: events are taken as they come, questions are answered while the agent is being watched."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager

import anyio
from anyio.abc import TaskGroup

from quintain.contracts.answerer import Answerer, Exchange
from quintain.contracts.driver import Session
from quintain.errors import ProcessGone, QuintainError
from quintain.model.events import Answered, Asked, Done, Event, Failed, Note, Ready, Used
from quintain.model.limits import Limits
from quintain.model.outcome import Stage
from quintain.model.question import Answer, Question
from quintain.trial.decide import Stopped
from quintain.trial.spend import SpendMeter
from quintain.trial.trace import Trace
from quintain.trial.watch import Clocks, Watchman


class Conversation:
    """One conversation with one agent, from before its start to its last event.

    Args:
        answerer: who answers.
        answerer_name: by which name.
        trace: where everything goes.
        meter: adds up the agent's usage.
        limits: the bounds.
        watchman: looks at its clocks.
        gate: held while a question is answered; shared by all trials if a person answers.
        exceeded: says why the allowance is spent, or None.
    """

    def __init__(
        self,
        answerer: Answerer,
        answerer_name: str,
        trace: Trace,
        meter: SpendMeter,
        limits: Limits,
        *,
        watchman: Watchman,
        gate: anyio.Lock | None = None,
        exceeded: Callable[[SpendMeter], str | None] = lambda meter: None,
    ) -> None:
        self._answerer = answerer
        self._answerer_name = answerer_name
        self._trace = trace
        self._meter = meter
        self._limits = limits
        self._watchman = watchman
        # One question at a time: of this agent, and of all agents if a person answers.
        self._turn = gate or anyio.Lock()
        self._exceeded = exceeded
        self._scope = anyio.CancelScope()
        self._history: list[Exchange] = []
        self._questions = 0
        self._out = 0
        self.stage = Stage.OPEN
        self.ready: Ready | None = None
        self.terminal: Done | Failed | None = None
        self.stopped: Stopped | None = None
        self.stopped_because = ""
        self.answerer_error: BaseException | None = None

    def stop(self, why: Stopped, because: str) -> None:
        """End the conversation from outside; the first reason stands, and what the agent said before it wins."""
        if self.terminal is None and self.stopped is None:
            self.stopped, self.stopped_because = why, because
        self._scope.cancel()

    async def hold(
        self,
        opened: Callable[[], AbstractAsyncContextManager[Session]],
        clocks: Clocks,
        enter: Callable[[Stage], None],
    ) -> None:
        """Open a session, converse, leave it. What the driver raises comes out; all else is in the attributes.

        Args:
            opened: opens the session.
            clocks: watch over it.
            enter: told of each stage as it begins.
        """
        with self._watchman.watching(clocks), self._scope:
            async with opened() as session:
                self.stage = Stage.CONVERSE
                enter(self.stage)
                try:
                    async with anyio.create_task_group() as group:
                        await self._listen(session, group, clocks)
                        # Whoever still looks for an answer lets go of the session before it is left.
                        group.cancel_scope.cancel()
                finally:
                    if self.terminal is None and self.stopped is not None:
                        await self._interrupt(session)
                    self.stage = Stage.QUIESCE
                    enter(self.stage)

    async def _listen(self, session: Session, group: TaskGroup, clocks: Clocks) -> None:
        """Take what comes until the session ends; after the agent's last word only for a short while."""
        events, ended = session.__aiter__(), False
        try:
            async for event in events:
                late = self.terminal is not None
                kept = self._trace.add(event, late=late)
                if late:
                    self._notice_late(event)
                    continue
                clocks.alive()
                self._notice(event, kept)
                if isinstance(event, Asked):
                    self._ask(event.question, session, group, clocks)
                if self.terminal is not None:
                    clocks.linger()
            ended = True
        finally:
            if isinstance(events, AsyncGenerator) and not ended:
                with anyio.CancelScope(shield=True):
                    await events.aclose()

    def _notice(self, event: Event, kept: Event) -> None:
        if isinstance(event, Used):
            self._meter.add(event.usage)
            spent = self._exceeded(self._meter)
            if spent is not None:
                self.stop(Stopped.ALLOWANCE, spent)
        elif isinstance(kept, Ready):
            self.ready = self.ready or kept
        elif isinstance(kept, Done | Failed):
            self.terminal = kept

    def _notice_late(self, event: Event) -> None:
        if isinstance(event, Used):
            self._meter.add(event.usage)

    def _ask(self, question: Question, session: Session, group: TaskGroup, clocks: Clocks) -> None:
        self._questions += 1
        if self._questions > self._limits.questions:
            self.stop(Stopped.QUESTIONS, f"it asked more than {self._limits.questions} questions")
            return
        if self._out == 0:
            clocks.pause()
        self._out += 1
        group.start_soon(self._answer, question, session, clocks)

    async def _answer(self, question: Question, session: Session, clocks: Clocks) -> None:
        began = time.monotonic()
        try:
            answer = await self._find_answer(question)
        except Exception as error:  # noqa: BLE001  # whatever an answerer raises, the agent is not to blame
            self.answerer_error = error
            self._scope.cancel()
            return
        waited_s = time.monotonic() - began
        self._history.append(Exchange(question, answer, waited_s))
        self._out -= 1
        if self._out == 0:
            clocks.resume()
        try:
            await session.answer(question, answer)
            delivered = True
        except ProcessGone:
            # The agent is gone; the end of its session says how.
            delivered = False
        self._trace.add(Answered(answer, self._answerer_name, round(waited_s, 6), delivered))

    async def _find_answer(self, question: Question) -> Answer:
        try:
            with anyio.fail_after(self._limits.answer_s):
                async with self._turn:
                    answer = await self._answerer.answer(question, tuple(self._history))
        except TimeoutError as error:
            message = f"the answerer `{self._answerer_name}` gave no answer within {self._limits.answer_s:g} s"
            raise QuintainError(message) from error
        if (answer.question, answer.kind) != (question.id, question.kind):
            raise QuintainError(
                f"the answerer `{self._answerer_name}` answered {question.kind} `{question.id}` with {answer!r}"
            )
        return answer

    async def _interrupt(self, session: Session) -> None:
        """Ask politely; leaving the session kills what doesn't listen."""
        try:
            with anyio.move_on_after(self._limits.grace_s, shield=True):
                await session.interrupt()
        except ProcessGone:
            return
        except Exception as error:  # noqa: BLE001  # the trial is over already; that it raised is worth a note
            self._trace.add(Note("interrupt-failed", f"{type(error).__name__}: {error}"))
