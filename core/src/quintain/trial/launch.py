"""What a driver starts its agent with: the core's side of `contracts.driver.Launch`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from signal import SIGKILL
from typing import Literal

from quintain import process
from quintain.model.case import Case
from quintain.model.exit import Exit
from quintain.model.trial import Allowance, TrialOrder
from quintain.trial.environment import MARKER
from quintain.trial.trace import Trace
from quintain.trial.watch import Watchman
from quintain.workspace.area import TrialArea


class WatchedProcess:
    """A process whose output goes into the raw trace as the driver reads it."""

    def __init__(self, inner: process.Process, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._inner.pid

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self._inner.exit

    def lines(self) -> AsyncIterator[process.Line]:
        """Its standard output, line by line."""
        return _KeptLines(self._inner.lines(), self._trace)

    async def send(self, data: bytes) -> None:
        """Write to its standard input."""
        self._trace.add_raw("in", data.rstrip(b"\n"))
        await self._inner.send(data)

    async def close_stdin(self) -> None:
        """No more input."""
        await self._inner.close_stdin()

    async def wait(self) -> Exit:
        """Wait for the process itself."""
        return await self._inner.wait()

    async def stop(self) -> Exit:
        """End it and its whole tree."""
        return await self._inner.stop()


class _KeptLines:
    """Passes lines on and keeps each; a plain iterator, so that leaving it early leaves nothing open."""

    def __init__(self, lines: AsyncIterator[process.Line], trace: Trace) -> None:
        self._lines = lines
        self._trace = trace

    def __aiter__(self) -> _KeptLines:
        return self

    async def __anext__(self) -> process.Line:
        line = await anext(self._lines)
        self._trace.add_raw("out", line.data, dropped=line.dropped)
        return line


class TrialLaunch:
    """One attempt's launch.

    Args:
        order: the trial.
        attempt: number of the attempt.
        area: its private directories.
        environment: makes what the agent sees, when it is first needed.
        trace: where raw protocol goes.
        marker: value that recognises its processes.
        sandbox: what to run processes in, or None.
        keepers: make many processes fast.
        watchman: knows whether memory ran out.
    """

    def __init__(
        self,
        order: TrialOrder,
        attempt: int,
        area: TrialArea,
        environment: Callable[[], Mapping[str, str]],
        trace: Trace,
        *,
        marker: str,
        sandbox: process.Sandbox | None,
        keepers: process.Keepers | None,
        watchman: Watchman,
    ) -> None:
        self._order = order
        self._attempt = attempt
        self._area = area
        self._make_environment = environment
        self._trace = trace
        self._marker = marker
        self._sandbox = sandbox
        self._keepers = keepers
        self._watchman = watchman
        self.processes: list[process.Process] = []

    @property
    def case(self) -> Case:
        """The task."""
        return self._order.case

    @property
    def prompt(self) -> str:
        """What to tell the agent."""
        return self._order.case.prompt

    @property
    def trial(self) -> str:
        """Name of the trial."""
        return self._order.trial

    @property
    def attempt(self) -> int:
        """Number of the attempt."""
        return self._attempt

    @property
    def seed(self) -> int:
        """For agents that take one."""
        return self._order.seed

    @property
    def deadline_s(self) -> float | None:
        """The total limit."""
        return self._order.limits.total_s

    @property
    def allowance(self) -> Allowance:
        """What the trial may spend."""
        return self._order.allowance

    @property
    def workspace(self) -> Path:
        """The agent's working directory."""
        return self._area.work

    @property
    def home(self) -> Path:
        """A private home directory."""
        return self._area.home

    @property
    def temp(self) -> Path:
        """A private directory for temporary files."""
        return self._area.temp

    @property
    def subject(self) -> Path | None:
        """A private directory with what is under test."""
        return self._area.subject if self._order.subject is not None else None

    @property
    def environment(self) -> Mapping[str, str]:
        """What `spawn` gives to a process unless told more."""
        return self._environment

    @cached_property
    def _environment(self) -> Mapping[str, str]:
        return self._make_environment()

    def raw(self, direction: Literal["in", "out"], line: str) -> None:
        """Keep one line of raw protocol."""
        self._trace.add_raw(direction, line)

    @asynccontextmanager
    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: Literal["pipe", "null"] = "null",
    ) -> AsyncIterator[WatchedProcess]:
        """Start a process; leaving kills whatever is left of its tree."""
        limits = self._order.limits
        where = cwd or self.workspace
        command = process.Command(
            argv=tuple(argv),
            cwd=where,
            env={**self._environment, "PWD": str(where), **(env or {})},
            stdin=stdin,
            marker=(MARKER, self._marker),
            sandbox=self._sandbox,
            limits=process.Limits(line_bytes=limits.line_bytes, grace_s=limits.grace_s, linger_s=limits.linger_s),
        )
        async with process.spawn(command, keepers=self._keepers) as started:
            self.processes.append(started)
            yield WatchedProcess(started, self._trace)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables that a process of the agent saw."""
        return tuple(sorted(self._environment)) if self.processes else ()

    def killed_for_memory(self) -> bool:
        """The kernel has killed something for want of memory about the time that the first process was killed."""
        ended = self.processes[0].exit if self.processes else None
        return (
            ended is not None and ended.signal == SIGKILL and ended.stop == "none" and self._watchman.memory_ran_out()
        )

    async def activity(self) -> tuple[float, int] | None:
        """CPU seconds and number of processes so far, or None if there is none."""
        seen = [await one.activity() for one in self.processes]
        if not seen:
            return None
        return sum(one.cpu_s for one in seen), sum(one.processes for one in seen)
