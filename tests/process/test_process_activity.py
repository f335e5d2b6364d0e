"""Evidence of life: enough to tell a busy silent agent from a stalled one."""

from __future__ import annotations

import anyio
import pytest
from process.agents import Agents
from quintain.process import Activity, Keepers, Limits, Process, spawn

pytestmark = pytest.mark.anyio

HASTY = Limits(grace_s=0.2)
WORK = "sum(i * i for i in range(200_000))"


async def busier_than(process: Process, cpu_s: float) -> Activity:
    for _ in range(2_000):
        seen = await process.activity()
        if seen.cpu_s > cpu_s:
            return seen
        await anyio.sleep(0.02)
    raise AssertionError(f"no more than {cpu_s} s of work seen")


async def test_a_busy_process_is_seen_to_work(agent: Agents) -> None:
    async with spawn(agent(f"while True: {WORK}", limits=HASTY)) as process:
        first = await busier_than(process, 0.1)
        second = await busier_than(process, first.cpu_s)
    assert first.processes == second.processes == 1


async def test_the_work_of_detached_and_of_finished_children_counts(agent: Agents) -> None:
    code = f"""
for i in range(2):
    if os.fork() == 0:
        os.setsid()
        for _ in range(8): {WORK}
        if i: time.sleep(600)
        os._exit(0)
os.wait()
print("ready", flush=True)
time.sleep(600)
"""
    async with spawn(agent(code, limits=HASTY)) as process:
        await anext(process.lines())
        seen = await busier_than(process, 0.2)
    assert seen.processes == 2


async def test_a_sleeping_process_is_seen_to_do_nothing(agent: Agents) -> None:
    async with spawn(agent("print('ready', flush=True); time.sleep(600)", limits=HASTY)) as process:
        await anext(process.lines())
        before = await process.activity()
        await anyio.sleep(0.5)
        assert (await process.activity()).cpu_s - before.cpu_s < 0.1


async def test_bytes_count_whether_output_or_errors(agent: Agents) -> None:
    async with spawn(agent("os.write(1, b'12345\\n'); os.write(2, b'123')")) as process:
        assert [line.data async for line in process.lines()] == [b"12345"]
        await process.wait()
        assert (await process.activity()).read_bytes == 9


async def test_after_the_end_it_tells_the_whole_work_and_no_process(agent: Agents) -> None:
    async with spawn(agent(f"for _ in range(20): {WORK}")) as process:
        await process.wait()
        seen = await process.activity()
    assert seen.processes == 0
    assert seen.cpu_s > 0.1
    assert await process.activity() == seen


async def test_the_work_of_an_earlier_command_is_not_counted_again(agent: Agents) -> None:
    async with Keepers() as keepers:
        async with spawn(agent(f"for _ in range(20): {WORK}"), keepers=keepers) as process:
            await process.wait()
            heavy = await process.activity()
        async with spawn(agent("pass"), keepers=keepers) as process:
            await process.wait()
            assert (await process.activity()).cpu_s < heavy.cpu_s / 2


async def test_asking_may_be_cancelled_and_repeated(agent: Agents) -> None:
    seen: list[Activity] = []

    async def ask(process: Process) -> None:
        seen.append(await process.activity())

    async with Keepers() as keepers:
        async with spawn(agent("time.sleep(600)", limits=HASTY), keepers=keepers) as process:
            for _ in range(20):
                with anyio.move_on_after(0):
                    await process.activity()
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(ask, process)
        async with spawn(agent("print('next')"), keepers=keepers) as process:
            assert (await anext(process.lines())).text == "next"
    assert [one.processes for one in seen] == [1, 1, 1]
