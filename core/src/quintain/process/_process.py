"""One running command: its lines, its input, its end."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from attrs import frozen

from quintain.errors import LaunchError
from quintain.model.exit import Exit, Stop
from quintain.process._capture import Capture, Captured
from quintain.process._command import Command, Prepared, explain, prepare
from quintain.process._framing import Line, LineSplitter
from quintain.process._keepers import ANSWER_S, Keeper, KeeperGone, Keepers
from quintain.process._pipes import Sink, Source
from quintain.process._sweep import kill_strays


@frozen
class Activity:
    """Evidence of life.

    Attributes:
        cpu_s: processor time that the whole tree has used so far, in seconds.
        processes: how many processes it has now.
        read_bytes: bytes of output and error output that have been read so far.
    """

    cpu_s: float
    processes: int
    read_bytes: int


class Process:
    """A command that runs; made by `spawn`.

    Its error output is read all the time. Its output is read by whoever iterates `lines()`, so that a slow reader slows
    the process down instead of filling memory: read it, or a talkative process never ends.
    """

    def __init__(self, keeper: Keeper, pid: int, command: Command, pipes: tuple[Source, Source, Sink]) -> None:
        self._keeper = keeper
        self._pid = pid
        self._marker = command.marker
        self._limits = command.limits
        self._output, self._errors, self._input = pipes
        self._captured = Capture(command.limits.stderr_head, command.limits.stderr_tail)
        self._splitter = LineSplitter(command.limits.line_bytes)
        self._ready: deque[Line] = deque()
        self._read_all = False
        self._ended = anyio.Event()
        self._exit: Exit | None = None
        self._watching: anyio.CancelScope | None = None
        self._closed_by_stop = False
        self._kill_at: float | None = None
        self._cpu_s = 0.0
        self._processes = 1
        self._asking: anyio.Lock | None = None
        self._answered: anyio.Event | None = None
        self.unkillable: tuple[int, ...] = ()

    @property
    def pid(self) -> int:
        """Its process id; also that of its session and of its process group."""
        return self._pid

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self._exit

    @property
    def stderr(self) -> Captured:
        """Its error output so far; all of it once `wait` has returned."""
        return self._captured.captured()

    def lines(self) -> AsyncIterator[Line]:
        """Its output, line by line.

        Ends when the process has ended and all that it wrote has been read, whoever else still holds the pipe; or when
        it has closed its output and does not end within the linger limit. May be left and taken up again.
        """
        return _Lines(self._following_line)

    async def read(self) -> bytes:
        """The next bytes of its output as they come, for those who don't want lines; empty at the end."""
        return await self._output.chunk()

    async def send(self, data: bytes) -> None:
        """Write to its input, as fast as it reads.

        Raises:
            ProcessGone: it doesn't listen any more, or has no input. Also after a `send` that was cancelled when a part
                of its data had been written.
        """
        await self._input.send(data)

    async def close_stdin(self) -> None:
        """No more input; harmless if repeated."""
        self._input.close()

    async def wait(self) -> Exit:
        """Wait for the process, not for its pipes; nothing of its tree lives on then."""
        await self._ended.wait()
        return self._known_exit()

    async def activity(self) -> Activity:
        """How much its whole tree has worked, to tell a busy silent agent from a stalled one."""
        self._asking = self._asking or anyio.Lock()
        async with self._asking:
            if self._exit is None:
                self._answered = anyio.Event()
                await self._order("activity")
                await self._answered.wait()
        return Activity(self._cpu_s, self._processes, self._output.total + self._errors.total)

    async def stop(self) -> Exit:
        """Make it end: close its input, then ask its process group by signal, then kill the whole tree.

        Each step has its time in `Limits`; a process that has ended is left alone.
        """
        if self._exit is None and self._input.open:
            self._closed_by_stop = True
            self._input.close()
            await self._ends_within(self._limits.stdin_close_s)
        if self._exit is None:
            if self._kill_at is None:  # else an earlier call was cancelled; what it granted is not granted twice
                self._kill_at = time.monotonic() + self._limits.grace_s
                await self._order("term")
            await self._ends_within(self._kill_at - time.monotonic())
        if self._exit is None:
            await self._order("kill")
            await self._ends_within(ANSWER_S)
        if self._exit is None:
            self._keeper.kill()
            await self._ends_within(ANSWER_S)
        if self._exit is None:
            await self._lose_keeper()
        return self._known_exit()

    async def _following_line(self) -> Line:
        while not self._ready:
            if self._read_all:
                await self._ends_within(self._limits.linger_s)
                raise StopAsyncIteration
            if chunk := await self._output.chunk():
                self._ready.extend(self._splitter.feed(chunk))
                continue
            self._read_all = True
            if (fragment := self._splitter.finish()) is not None:
                return fragment
        return self._ready.popleft()

    def _known_exit(self) -> Exit:
        if self._exit is None:
            raise RuntimeError("the process has not ended")
        return self._exit

    async def _ends_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._ended.wait()

    async def _order(self, order: str) -> None:
        try:
            await self._keeper.send(order)
        except KeeperGone:  # the watch finds out too, and concludes
            await self._ended.wait()

    async def watch(self) -> None:
        """Take what the keeper says, until the end. Runs beside everything else, and is not cancelled with it."""
        with anyio.CancelScope(shield=True) as self._watching:
            try:
                await self._listen()
            except KeeperGone:
                await self._lose_keeper()

    async def _listen(self) -> None:
        while True:
            kind, *values = await self._keeper.receive()
            if kind == "ended":
                break
            cpu_s, self._processes = values
            self._cpu_s = max(self._cpu_s, cpu_s)
            self._pass_on()
        status, sent, killed, left, cpu_s = values
        self._cpu_s = max(self._cpu_s, cpu_s)
        self.unkillable = tuple(left)
        stop: Stop = "stdin-closed" if self._closed_by_stop else "none"
        if sent:
            stop = "killed" if sent == signal.SIGKILL else "terminated"
        code = os.waitstatus_to_exitcode(status)
        self._conclude(Exit(code if code >= 0 else None, -code if code < 0 else None, stop, killed))

    def _pass_on(self) -> None:
        if self._answered is not None:
            self._answered.set()

    async def _lose_keeper(self) -> None:
        """Nobody will tell us any more: kill what can be found of the tree, and leave the exit status unknown."""
        killed = await kill_strays(self._pid, self._marker)
        if self._exit is None:
            stop: Stop = "killed" if self._pid in killed else "none"
            self._conclude(Exit(stop=stop, leftover=len(killed - {self._pid})))

    def _conclude(self, end: Exit) -> None:
        self._processes = 0
        self._input.close()
        self._output.finish()
        self._errors.finish()
        for chunk in self._errors.rest():
            self._captured.feed(chunk)
        self._exit = end
        self._pass_on()
        self._ended.set()

    def release(self) -> None:
        """Close what is left of the pipes."""
        for pipe in (self._output, self._errors, self._input):
            pipe.close()

    async def drain(self) -> None:
        """Read the error output, until the end. Runs beside everything else, and is not cancelled with it."""
        with anyio.CancelScope(shield=True):
            while chunk := await self._errors.chunk():
                self._captured.feed(chunk)

    def abandon(self) -> None:
        """Don't listen to a keeper any more that has nothing to say."""
        if self._watching is not None:
            self._watching.cancel()


class _Lines:
    """Iterates over the output of a process. Not a generator, so that it can be left in the middle without a trace."""

    def __init__(self, following: Callable[[], Awaitable[Line]]) -> None:
        self._following = following

    def __aiter__(self) -> _Lines:
        return self

    def __anext__(self) -> Awaitable[Line]:
        return self._following()


@asynccontextmanager
async def spawn(command: Command, *, keepers: Keepers | None = None) -> AsyncIterator[Process]:
    """Start a command. Leaving the context stops it and kills its whole tree, also under cancellation.

    The process leads a session and a process group of its own, has no controlling terminal, inherits no descriptor but
    the three, and no variable.

    Args:
        command: what to run.
        keepers: to borrow a keeper from; without them one is started for this command alone, which takes some 20 ms.

    Raises:
        LaunchError: the program can't be found or started, or an argument is longer than the system allows; before
            anything has run.
        SandboxUnavailable: the command asks for a sandbox that isn't there.
    """
    prepared = prepare(command)
    keeper = keepers.take() if keepers is not None else Keeper()
    process: Process | None = None
    raised: Exception | None = None
    try:
        process = await _start(keeper, command, prepared)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(process.watch)
            tasks.start_soon(process.drain)
            try:
                yield process
            except Exception as error:  # noqa: BLE001  # raised below: the group would wrap it
                raised = error
            finally:
                if process.exit is None:
                    with anyio.CancelScope(shield=True):
                        await process.stop()
                if not keeper.idle:
                    process.abandon()
    finally:
        if process is not None:
            process.release()
        if keepers is not None and keeper.idle and not (process is not None and process.unkillable):
            keepers.give_back(keeper)
        else:
            with anyio.CancelScope(shield=True):
                if not await keeper.close():
                    await kill_strays(process.pid if process is not None else -1, command.marker)
    if raised is not None:
        raise raised
    if process.unkillable:
        names = ", ".join(map(str, process.unkillable))
        raise LaunchError(f"processes {names}, started by {command.argv[0]}, can't be killed and may still do harm")


async def _start(keeper: Keeper, command: Command, prepared: Prepared) -> Process:
    theirs: list[int] = []
    ours: list[Source | Sink] = []
    started = False
    try:
        output, errors, sink = _pipes(command, ours, theirs)
        await keeper.send(
            *("spawn", prepared.executable, prepared.argv, prepared.env, prepared.cwd),
            *(command.limits.settle_s, command.sandbox is not None),
            descriptors=theirs,
        )
        while theirs:
            os.close(theirs.pop())
        kind, *values = await keeper.receive()
        if kind == "failed":
            raise explain(command, prepared, *values)
        started = True
        return Process(keeper, values[0], command, (output, errors, sink))
    except KeeperGone as error:
        raise LaunchError(f"the process that was to start {command.argv[0]} has ended: {error}") from error
    finally:
        for fd in theirs:
            os.close(fd)
        for pipe in () if started else ours:
            pipe.close()


def _pipes(command: Command, ours: list[Source | Sink], theirs: list[int]) -> tuple[Source, Source, Sink]:
    """Make them one by one, each with an owner at once, so that none is lost if there can't be more."""
    sources: list[Source] = []
    sink = Sink(-1)
    try:
        for _ in ("output", "errors"):
            reader, writer = os.pipe()
            theirs.append(writer)
            sources.append(Source(reader))
            ours.append(sources[-1])
        if command.stdin == "pipe":
            reader, writer = os.pipe()
            theirs.append(reader)
            sink = Sink(writer)
            ours.append(sink)
    except OSError as error:
        raise LaunchError(f"no pipe to {command.argv[0]} can be made: {error.strerror}") from error
    return sources[0], sources[1], sink
