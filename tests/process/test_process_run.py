"""Commands that are run to their end, with bounds on everything."""

from __future__ import annotations

import hashlib
import time

import anyio
import pytest
from process.agents import Agents, carriers
from quintain.process import Keepers, Limits, run

pytestmark = pytest.mark.anyio

HASTY = Limits(grace_s=0.2, stdin_close_s=0.1, settle_s=0.05)


async def test_output_errors_and_status_are_told(shell: Agents) -> None:
    done = await run(shell("echo out; echo err >&2; exit 3"), timeout_s=60)
    assert (done.stdout.text(), done.stderr.text(), done.exit.code, done.timed_out) == ("out\n", "err\n", 3, False)
    assert 0 < done.duration_s < 60


async def test_input_is_given_whole(agent: Agents) -> None:
    data = b"x" * 5_000_000
    code = "import hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    done = await run(agent(code), input=data, timeout_s=60)
    assert done.stdout.text().strip() == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("given", [None, b""])
async def test_without_input_there_is_an_end_of_input(given: bytes | None, shell: Agents) -> None:
    assert (await run(shell("cat; echo done"), input=given, timeout_s=60)).stdout.data == b"done\n"


async def test_a_command_need_not_read_its_input(shell: Agents) -> None:
    done = await run(shell("echo done"), input=b"x" * 5_000_000, timeout_s=60)
    assert (done.stdout.data, done.exit.code, done.timed_out) == (b"done\n", 0, False)


async def test_input_and_output_may_both_be_large(shell: Agents) -> None:
    data = b"x" * 3_000_000
    done = await run(shell("cat"), input=data, timeout_s=60, output_bytes=4_000_000)
    assert done.stdout.data == data


async def test_too_much_output_is_shortened_in_the_middle_and_counted(agent: Agents) -> None:
    done = await run(agent("os.write(1, b'a' * 1_000_000 + b'b' * 1_000_000)"), timeout_s=60, output_bytes=1_001)
    assert (done.stdout.head, done.stdout.tail) == (b"a" * 501, b"b" * 500)
    assert done.stdout.dropped == 2_000_000 - 1_001


async def test_a_command_that_takes_too_long_is_stopped_and_what_it_said_is_kept(
    agent: Agents, marker: tuple[str, str]
) -> None:
    code = (
        "print('early', flush=True); import subprocess; subprocess.Popen(['setsid', 'sleep', '600']); time.sleep(600)"
    )
    done = await run(agent(code, limits=HASTY), timeout_s=0.7)
    assert (done.stdout.text(), done.timed_out, done.exit.stop) == ("early\n", True, "terminated")
    assert carriers(marker) == []
    assert 0.7 <= done.duration_s < 60


async def test_a_command_that_takes_too_long_and_neither_reads_nor_stops_writing(agent: Agents) -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: os.write(1, b'x' * 10_000)"
    with anyio.fail_after(60):
        done = await run(agent(code, limits=HASTY), input=b"y" * 10_000_000, timeout_s=0.3)
    assert (done.timed_out, done.exit.stop) == (True, "killed")
    assert done.stdout.dropped > 0


async def test_a_command_that_leaves_a_child_behind_is_over_when_it_is_over(
    shell: Agents, marker: tuple[str, str]
) -> None:
    started = time.monotonic()
    done = await run(shell("sleep 600 & echo done", limits=HASTY), timeout_s=300)
    assert (done.stdout.data, done.exit.leftover, done.timed_out) == (b"done\n", 1, False)
    assert carriers(marker) == []
    assert time.monotonic() - started < 60


async def test_cancelling_it_leaves_nothing(shell: Agents, marker: tuple[str, str]) -> None:
    with anyio.move_on_after(0.2):
        await run(shell("sleep 600", limits=HASTY), timeout_s=300)
    assert carriers(marker) == []


async def test_many_at_once_share_keepers(shell: Agents) -> None:
    answers: list[bytes] = []

    async def one(number: int) -> None:
        answers.append((await run(shell(f"echo {number}"), timeout_s=60, keepers=keepers)).stdout.data)

    async with Keepers() as keepers, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert sorted(answers) == sorted(b"%d\n" % number for number in range(20))
