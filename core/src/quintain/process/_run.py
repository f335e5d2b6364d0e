"""Run a command to its end, with bounds on everything: for graders, version probes and other helpers."""

from __future__ import annotations

import time

import anyio
from attrs import evolve, frozen

from quintain.errors import ProcessGone
from quintain.model.exit import Exit
from quintain.process._capture import Capture, Captured
from quintain.process._command import Command
from quintain.process._keepers import Keepers
from quintain.process._process import Process, spawn

OUTPUT_BYTES = 1024 * 1024


@frozen
class Finished:
    """A command that has ended.

    Attributes:
        exit: how it ended.
        stdout: its output, shortened in the middle if it was too long.
        stderr: its error output, likewise.
        timed_out: it was stopped because its time was over.
        duration_s: from before its start to after its end, on a monotonic clock.
    """

    exit: Exit
    stdout: Captured
    stderr: Captured
    timed_out: bool
    duration_s: float


async def run(
    command: Command,
    *,
    input: bytes | None = None,
    timeout_s: float,
    output_bytes: int = OUTPUT_BYTES,
    keepers: Keepers | None = None,
) -> Finished:
    """Run a command and wait for its end.

    Args:
        command: what to run.
        input: what it is given to read, whatever `command.stdin` says; None for nothing.
        timeout_s: when to stop it.
        output_bytes: bytes of its output that are kept, half of the beginning and half of the end.
        keepers: see `spawn`.

    Raises:
        LaunchError: it can't be started.
    """
    started = time.monotonic()
    if input is not None:
        command = evolve(command, stdin="pipe")
    output = Capture(output_bytes - output_bytes // 2, output_bytes // 2)
    async with spawn(command, keepers=keepers) as process:
        with anyio.move_on_after(timeout_s):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_feed, process, input or b"")
                await _collect(process, output)
                await process.wait()
        timed_out = process.exit is None
        end = await process.stop()
        await _collect(process, output)
    return Finished(end, output.captured(), process.stderr, timed_out, time.monotonic() - started)


async def _feed(process: Process, data: bytes) -> None:
    try:
        if data:
            await process.send(data)
    except ProcessGone:  # it may end without having read everything
        pass
    await process.close_stdin()


async def _collect(process: Process, output: Capture) -> None:
    while chunk := await process.read():
        output.feed(chunk)
