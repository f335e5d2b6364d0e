"""What is sent to a process arrives, or the sender is told that it can't; nobody waits for ever."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import anyio
import pytest
from process.agents import Agents, carriers
from quintain.errors import ProcessGone
from quintain.process import Limits, Process, spawn

pytestmark = pytest.mark.anyio

HASTY = Limits(stdin_close_s=0.05, grace_s=0.5)


async def keep_sending(process: Process) -> None:
    for _ in range(6_000):
        await process.send(b"x\n")
        await anyio.sleep(0.01)


async def test_what_is_sent_arrives_byte_for_byte(agent: Agents) -> None:
    data = os.urandom(3_000_000)
    code = "import hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    async with spawn(agent(code, stdin="pipe")) as process:
        await process.send(data)
        await process.close_stdin()
        assert [line.text async for line in process.lines()] == [hashlib.sha256(data).hexdigest()]


async def test_messages_of_several_senders_do_not_mix(agent: Agents) -> None:
    code = "[print(len(line), len(set(line))) for line in sys.stdin]"
    async with spawn(agent(code, stdin="pipe")) as process:
        async with anyio.create_task_group() as tasks:
            for letter in b"abcd":
                tasks.start_soon(process.send, bytes([letter]) * 500_000 + b"\n")
        await process.close_stdin()
        assert [line.text async for line in process.lines()] == ["500001 2"] * 4


async def test_a_question_and_its_answer(agent: Agents) -> None:
    code = "[print('you said ' + line.strip(), flush=True) for line in sys.stdin]"
    async with spawn(agent(code, stdin="pipe")) as process:
        for word in (b"one", b"two"):
            await process.send(word + b"\n")
            assert (await anext(process.lines())).data == b"you said " + word
        await process.close_stdin()
        assert (await process.wait()).clean


async def test_input_is_at_its_end_unless_asked_for(shell: Agents) -> None:
    with anyio.fail_after(60):
        async with spawn(shell("cat; echo done")) as process:
            assert [line.data async for line in process.lines()] == [b"done"]
            with pytest.raises(ProcessGone, match="started without an input"):
                await process.send(b"x")
            await process.close_stdin()


@pytest.mark.parametrize("ours", ["sleep 60 |", "", "<&-"])
def test_the_input_of_the_harness_is_never_inherited(ours: str, tmp_path: Path, anyio_backend: str) -> None:
    harness = tmp_path / "harness.py"
    harness.write_text(
        textwrap.dedent(f"""
        import anyio, os
        from pathlib import Path
        from quintain.process import Command, run
        async def main():
            command = Command(("/bin/sh", "-c", "cat >/dev/null; echo ok"), Path("/"), {{"PATH": os.defpath}})
            print((await run(command, timeout_s=60)).stdout.text(), end="")
        anyio.run(main, backend="{anyio_backend}")
        """)
    )
    line = f"{ours} {sys.executable} {harness} {'' if '|' in ours else ours}"
    with subprocess.Popen(
        ["/bin/sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as p:
        assert p.stdout is not None
        assert p.stdout.readline() == b"ok\n"
        os.killpg(p.pid, 9)


async def test_an_agent_that_never_reads_blocks_the_sender_and_nobody_else(
    agent: Agents, marker: tuple[str, str]
) -> None:
    with anyio.fail_after(60):
        async with spawn(agent("print('x', flush=True); time.sleep(600)", stdin="pipe", limits=HASTY)) as process:
            with anyio.move_on_after(0.3) as patience:
                await process.send(b"y" * 10_000_000)
            assert patience.cancelled_caught
            assert (await anext(process.lines())).data == b"x"
    assert carriers(marker) == []


async def test_half_a_message_is_not_followed_by_another(agent: Agents) -> None:
    async with spawn(agent("time.sleep(600)", stdin="pipe", limits=HASTY)) as process:
        with anyio.move_on_after(0.1):
            await process.send(b"y" * 10_000_000)
        with pytest.raises(ProcessGone, match="in the middle of a message"):
            await process.send(b"next\n")


async def test_closing_the_input_wakes_a_sender_that_waits(agent: Agents) -> None:
    told = anyio.Event()

    async def send() -> None:
        with pytest.raises(ProcessGone, match="its input is closed"):
            await process.send(b"y" * 10_000_000)
        told.set()

    async with (
        spawn(agent("time.sleep(600)", stdin="pipe", limits=HASTY)) as process,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(send)
        await anyio.sleep(0.1)
        await process.close_stdin()
        await process.close_stdin()
        with anyio.fail_after(60):
            await told.wait()


async def test_stopping_wakes_a_sender_that_waits(agent: Agents) -> None:
    async def send() -> None:
        with pytest.raises(ProcessGone):
            await process.send(b"y" * 10_000_000)

    async with spawn(agent("time.sleep(600)", stdin="pipe", limits=HASTY)) as process:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send)
                await anyio.sleep(0.1)
                assert (await process.stop()).stop == "terminated"


@pytest.mark.parametrize("code", ["os.close(0); print('closed', flush=True); time.sleep(600)", "print('closed')"])
async def test_an_agent_that_does_not_listen_any_more_is_gone(code: str, agent: Agents) -> None:
    async with spawn(agent(code, stdin="pipe", limits=HASTY)) as process:
        assert (await anext(process.lines())).data == b"closed"
        with pytest.raises(ProcessGone):
            await keep_sending(process)


async def test_sending_after_the_end_says_so(shell: Agents) -> None:
    async with spawn(shell("true", stdin="pipe")) as process:
        await process.wait()
        with pytest.raises(ProcessGone):
            await process.send(b"x")
