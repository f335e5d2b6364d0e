"""Whatever a process does to stay, it and all that came of it are gone afterwards; and the record says what it took."""

from __future__ import annotations

import os
import signal
import time

import anyio
import pytest
from process.agents import Agents, alive, bystander, carriers, eventually
from quintain.process import Keepers, Limits, Process, spawn
from quintain.process._table import table

pytestmark = pytest.mark.anyio

HASTY = Limits(stdin_close_s=0.2, grace_s=0.3, settle_s=0.05)

IGNORES_TERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
FOR_EVER = "print('ready', flush=True)\nwhile True: time.sleep(1)"

DAEMON = """
def daemon():
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.write(writer, str(os.getpid()).encode())
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2): os.dup2(null, fd)
            os.closerange(3, 100)
            os.chdir("/")
            os.execve("/bin/sleep", ["sleep", "600"], {})
        os._exit(0)
    os.wait()
    pid = os.read(reader, 100)
    os.close(reader); os.close(writer)
    return int(pid)
"""
"""The classic daemon: two forks, own session, no pipe of ours, and no variable by which it could be recognised."""


async def first_line(process: Process) -> str:
    return (await anext(process.lines())).text


async def test_one_that_is_asked_and_goes(agent: Agents) -> None:
    async with spawn(agent(FOR_EVER)) as process:
        assert await first_line(process) == "ready"
        end = await process.stop()
    assert (end.code, end.signal, end.stop) == (None, signal.SIGTERM, "terminated")
    assert end.describe() == "signal 15, sent by us"


async def test_one_that_cleans_up_when_asked_keeps_its_exit_status_and_its_last_words(agent: Agents) -> None:
    code = "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'spent 3\\n'), os._exit(7)))\n" + FOR_EVER
    async with spawn(agent(code)) as process:
        assert await first_line(process) == "ready"
        end = await process.stop()
        assert [line.text async for line in process.lines()] == ["spent 3"]
    assert (end.code, end.stop) == (7, "terminated")


async def test_one_that_ignores_the_request_is_killed(agent: Agents) -> None:
    async with spawn(agent(IGNORES_TERM + FOR_EVER, limits=HASTY)) as process:
        assert await first_line(process) == "ready"
        with anyio.fail_after(60):
            end = await process.stop()
    assert (end.code, end.signal, end.stop) == (None, signal.SIGKILL, "killed")


async def test_one_that_is_suspended_still_gets_to_clean_up(agent: Agents) -> None:
    code = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))\nprint('ready', flush=True)\n"
    async with spawn(agent(code + "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)")) as process:
        assert await first_line(process) == "ready"
        end = await process.stop()
    assert (end.code, end.stop) == (7, "terminated")


async def test_one_that_ends_with_its_input_needs_no_signal(agent: Agents) -> None:
    async with spawn(agent("sys.stdin.read()", stdin="pipe", limits=Limits(stdin_close_s=30))) as process:
        end = await process.stop()
    assert (end.code, end.stop) == (0, "stdin-closed")


async def test_one_that_has_ended_is_left_alone(shell: Agents) -> None:
    async with spawn(shell("exit 3", stdin="pipe")) as process:
        await process.wait()
        end = await process.stop()
        assert end is await process.stop()
    assert (end.code, end.stop) == (3, "none")


async def test_one_that_someone_else_killed_is_not_our_doing(agent: Agents) -> None:
    async with spawn(agent(FOR_EVER)) as process:
        await first_line(process)
        os.kill(process.pid, signal.SIGKILL)
        end = await process.wait()
    assert (end.code, end.signal, end.stop) == (None, 9, "none")
    assert end.describe() == "signal 9"


async def test_a_server_that_ignores_everything_goes_with_its_child(agent: Agents, marker: tuple[str, str]) -> None:
    code = IGNORES_TERM + "import subprocess; subprocess.Popen(['sleep', '900']); sys.stdin.read()\n" + FOR_EVER
    started = time.monotonic()
    async with spawn(agent(code, stdin="pipe", limits=HASTY)) as process:
        await anyio.sleep(0.2)
        assert len(carriers(marker)) == 2
    end = await process.wait()
    assert (end.stop, end.leftover) == ("killed", 1)
    assert carriers(marker) == []
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("end", ["exits", "is stopped", "is cancelled", "is killed"])
async def test_a_daemon_that_hides_from_everything_goes_too(end: str, agent: Agents) -> None:
    code = DAEMON + "print(daemon(), flush=True)\n" + ("" if end == "exits" else FOR_EVER)
    with anyio.CancelScope() as scope:
        async with spawn(agent(code, limits=HASTY)) as process:
            daemon = int(await first_line(process))
            if end == "is cancelled":
                assert alive(daemon)
                scope.cancel()
                await anyio.sleep_forever()
            if end == "is stopped":
                await process.stop()
            if end == "is killed":
                os.kill(process.pid, signal.SIGKILL)
            await process.wait()
    assert not alive(daemon)
    assert process.exit is not None
    assert process.exit.leftover == 1


async def test_a_whole_forest_goes(agent: Agents, marker: tuple[str, str]) -> None:
    code = DAEMON + "print(daemon(), daemon(), flush=True)\nfor _ in range(3): os.fork()\n" + IGNORES_TERM + FOR_EVER
    async with spawn(agent(code, limits=HASTY)) as process:
        daemons = [int(pid) for pid in (await first_line(process)).split()]
        assert eventually(lambda: len(carriers(marker)) == 8)
    assert carriers(marker) == []
    assert not any(map(alive, daemons))
    assert process.exit is not None
    assert process.exit.leftover == 9


async def test_one_that_forks_all_the_time_does_not_run_away(agent: Agents, marker: tuple[str, str]) -> None:
    code = IGNORES_TERM + "print('go', flush=True)\nfor _ in range(3): os.fork()\n"
    code += "end = time.monotonic() + 60\nwhile time.monotonic() < end:\n    if os.fork(): os._exit(0)"
    async with spawn(agent(code, limits=HASTY)) as process:
        await first_line(process)
        with anyio.fail_after(60):
            await process.wait()
    assert carriers(marker) == []


@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2])
async def test_cancellation_at_any_moment_leaves_nothing(
    after_s: float, agent: Agents, marker: tuple[str, str]
) -> None:
    async with Keepers() as keepers:
        for _ in range(3):
            with anyio.move_on_after(after_s):
                async with spawn(
                    agent(IGNORES_TERM + FOR_EVER, limits=HASTY, stdin="pipe"), keepers=keepers
                ) as process:
                    async for _ in process.lines():
                        pass
        async with spawn(agent("print('fresh')"), keepers=keepers) as process:
            assert await first_line(process) == "fresh"
    assert carriers(marker) == []


async def test_a_stop_that_is_cancelled_grants_no_second_grace(agent: Agents) -> None:
    limits = Limits(grace_s=1.5)
    started = time.monotonic()
    async with spawn(agent(IGNORES_TERM + FOR_EVER, limits=limits)) as process:
        await first_line(process)
        with anyio.move_on_after(1.0):
            await process.stop()
        assert alive(process.pid)
    end = await process.wait()
    assert end.stop == "killed"
    assert time.monotonic() - started < 60


async def test_several_may_wait_for_the_end_at_once(shell: Agents) -> None:
    ends = []

    async def wait() -> None:
        ends.append(await process.wait())

    async with spawn(shell("sleep 0.1; exit 4")) as process, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(wait)
        tasks.start_soon(process.stop)
    assert [end.code for end in ends] in ([4] * 3, [None] * 3)


async def test_one_trials_end_is_no_concern_of_another(agent: Agents) -> None:
    code = DAEMON + "print(daemon(), flush=True)\n"
    async with Keepers() as keepers, spawn(agent(code + FOR_EVER, limits=HASTY), keepers=keepers) as first:
        daemon = int(await first_line(first))
        for _ in range(5):
            async with spawn(agent(code, limits=HASTY), keepers=keepers) as second:
                other = int(await first_line(second))
            assert not alive(other)
        assert alive(daemon)
        assert alive(first.pid)
    assert not alive(daemon)


async def test_children_that_others_have_started_keep_their_exit_status(shell: Agents) -> None:
    with bystander("/bin/sh", "-c", "exit 5") as theirs:
        async with Keepers() as keepers:
            for _ in range(3):
                async with spawn(shell("sleep 600 & exit 0", limits=HASTY), keepers=keepers) as process:
                    assert (await process.wait()).leftover == 1
        assert theirs.poll() == 5


async def test_our_process_adopts_nobody(agent: Agents) -> None:
    # what an agent orphans is its keeper's, so no zombie ever hangs below us
    async with spawn(agent(DAEMON + "print(daemon())", limits=HASTY)) as process:
        await process.wait()
    assert [row.pid for row in table().values() if row.parent == os.getpid()] == []


async def test_zombies_that_a_process_has_not_collected_are_no_leftover(agent: Agents) -> None:
    code = "if os.fork() == 0: os._exit(0)\ntime.sleep(0.1)\nif os.fork() == 0: os._exit(0)\ntime.sleep(0.1)"
    async with spawn(agent(code)) as process:
        assert (await process.wait()).leftover == 0
