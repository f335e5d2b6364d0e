"""When things go wrong with the keepers, or with ourselves, agents die all the same."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest
from process.agents import Agents, alive, bystander, carriers, eventually
from quintain.errors import LaunchError
from quintain.process import Keepers, Limits, _frames, _keepers, _table, spawn

pytestmark = pytest.mark.anyio

FOR_EVER = "print('ready', flush=True)\ntime.sleep(600)"


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


HARNESS = """
import anyio
from pathlib import Path
from quintain.process import Command, Keepers, spawn
AGENT = '''
import os, sys, time, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.execve("/bin/sleep", ["sleep", "600"], {{}} if sys.argv[1] == "bare" else os.environ)
print(os.getpid(), flush=True)
time.sleep(600)
'''
async def main():
    async with Keepers() as keepers, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(one, keepers)
async def one(keepers):
    argv = ({python!r}, "-I", "-S", "-c", AGENT, {bare!r})
    command = Command(argv, Path("/"), {{"PATH": "/usr/bin:/bin"}}, marker={marker!r})
    async with spawn(command, keepers=keepers) as process:
        async for line in process.lines():
            print(line.text, flush=True)
anyio.run(main, backend={backend!r})
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("whole_group", [False, True])
def test_nothing_survives_the_death_of_the_harness(
    number: int, whole_group: bool, tmp_path: Path, marker: tuple[str, str], anyio_backend: str
) -> None:
    harness = tmp_path / "harness.py"
    harness.write_text(HARNESS.format(python=sys.executable, marker=marker, backend=anyio_backend, bare="marked"))
    with bystander(sys.executable, str(harness)) as process:
        assert process.stdout is not None
        agents = [int(process.stdout.readline()) for _ in range(2)]
        keepers = [parent_of(pid) for pid in agents]
        assert eventually(lambda: len(carriers(marker)) == 4)
        (os.killpg if whole_group else os.kill)(process.pid, number)
    assert eventually(lambda: carriers(marker) == [])
    assert eventually(lambda: not any(map(alive, keepers)))


def test_nothing_is_left_even_of_what_cannot_be_recognised(
    tmp_path: Path, marker: tuple[str, str], anyio_backend: str
) -> None:
    harness = tmp_path / "harness.py"
    harness.write_text(HARNESS.format(python=sys.executable, marker=marker, backend=anyio_backend, bare="bare"))
    with bystander(sys.executable, str(harness)) as process:
        assert process.stdout is not None
        agents = [int(process.stdout.readline()) for _ in range(2)]

        def below() -> list[int]:
            rows = _table.table()
            return [row.pid for agent in agents for row in _table.below(rows, agent)]

        assert eventually(lambda: len(below()) == 2)
        hidden = below()
        process.kill()
    assert eventually(lambda: not any(map(alive, [*agents, *hidden])))


async def test_when_a_keeper_is_killed_its_agent_dies_and_the_status_is_unknown(
    agent: Agents, marker: tuple[str, str]
) -> None:
    code = "import subprocess; subprocess.Popen(['setsid', 'sleep', '600'])\n" + FOR_EVER
    async with Keepers() as keepers:
        async with spawn(agent(code), keepers=keepers) as process:
            await anext(process.lines())
            os.kill(parent_of(process.pid), signal.SIGKILL)
            with anyio.fail_after(60):
                end = await process.wait()
                assert [line async for line in process.lines()] == []
        assert (end.code, end.signal, end.stop, end.leftover) == (None, None, "killed", 1)
        assert end.describe() == "unknown exit status"
        assert carriers(marker) == []
        async with spawn(agent("print('fresh')"), keepers=keepers) as process:
            assert (await anext(process.lines())).text == "fresh"


async def test_when_a_keeper_does_not_answer_the_agent_is_killed_without_it(
    agent: Agents, marker: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quintain.process._process.ANSWER_S", 0.3)
    monkeypatch.setattr("quintain.process._keepers.ANSWER_S", 0.3)
    async with Keepers() as keepers:
        async with spawn(agent(FOR_EVER, limits=Limits(grace_s=0.1)), keepers=keepers) as process:
            await anext(process.lines())
            keeper = parent_of(process.pid)
            os.kill(keeper, signal.SIGSTOP)
            with anyio.fail_after(60):
                end = await process.stop()
        assert (end.code, end.signal, end.stop) == (None, None, "killed")
    assert carriers(marker) == []
    assert not alive(keeper)


async def test_a_keeper_that_died_while_nobody_needed_it_is_replaced(shell: Agents) -> None:
    async with Keepers() as keepers:
        async with spawn(shell("echo $PPID"), keepers=keepers) as process:
            keeper = int((await anext(process.lines())).text)
        os.kill(keeper, signal.SIGKILL)
        assert eventually(lambda: not alive(keeper))
        async with spawn(shell("echo $PPID"), keepers=keepers) as process:
            assert int((await anext(process.lines())).text) != keeper


async def test_keepers_are_used_again_and_end_with_their_context(shell: Agents) -> None:
    seen = set()
    async with Keepers() as keepers:
        for _ in range(5):
            async with spawn(shell("echo $PPID"), keepers=keepers) as process:
                seen.add(int((await anext(process.lines())).text))
        with pytest.raises(LaunchError):
            async with spawn(shell("", cwd=Path("/no/such/place")), keepers=keepers):
                pass
    assert len(seen) == 1
    assert not any(map(alive, seen))


async def test_a_keeper_survives_a_command_that_could_not_be_started(shell: Agents, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("no program")
    broken.chmod(0o755)
    from quintain.process import Command

    async with Keepers() as keepers:
        async with spawn(shell("echo $PPID"), keepers=keepers) as process:
            keeper = (await anext(process.lines())).text
        with pytest.raises(LaunchError):
            async with spawn(Command((str(broken),), tmp_path, {}), keepers=keepers):
                pass
        async with spawn(shell("echo $PPID"), keepers=keepers) as process:
            assert (await anext(process.lines())).text == keeper


async def test_what_cannot_be_killed_is_told(agent: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = _keepers.Keeper.receive

    async def receive(keeper: _keepers.Keeper) -> _frames.Frame:
        frame = await genuine(keeper)
        return (*frame[:4], [4711], *frame[5:]) if frame[0] == "ended" else frame

    monkeypatch.setattr(_keepers.Keeper, "receive", receive)
    async with Keepers() as keepers:
        with pytest.raises(LaunchError, match=r"processes 4711, started by .*, can't be killed"):
            async with spawn(agent("pass"), keepers=keepers) as process:
                await process.wait()


@pytest.fixture
def no_subreaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keepers as they are on a system without subreapers and without /proc."""
    boot = _keepers._BOOT.replace(
        "_keeper.main()",
        "_keeper._become_subreaper = bool; import _table; _table._proc_rows = _table._ps_rows; _keeper.main()",
    )
    monkeypatch.setattr(_keepers, "_BOOT", boot)


@pytest.mark.usefixtures("no_subreaper")
async def test_without_subreapers_the_group_and_what_descends_from_the_command_die(
    agent: Agents, marker: tuple[str, str]
) -> None:
    hasty = Limits(grace_s=0.2, settle_s=0.1)
    same_group = "import subprocess; subprocess.Popen(['sleep', '600'])\n"
    other_session = "import subprocess; subprocess.Popen(['setsid', 'sleep', '600'])\n"
    async with Keepers() as keepers:
        for _ in range(2):
            async with spawn(agent("print('hello')"), keepers=keepers) as process:
                assert [line.text async for line in process.lines()] == ["hello"]
                end = await process.wait()
            assert (end.code, end.stop, end.leftover) == (0, "none", 0)
        async with spawn(agent(same_group + "print('done')", limits=hasty), keepers=keepers) as process:
            assert [line.text async for line in process.lines()] == ["done"]
            assert (await process.wait()).leftover == 1
        ignores = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        code = same_group + other_session + ignores + FOR_EVER
        async with spawn(agent(code, limits=hasty), keepers=keepers) as process:
            await anext(process.lines())
            assert (await process.activity()).processes == 3
        assert (await process.wait()).stop == "killed"
    assert carriers(marker) == []


def test_frames_come_out_as_they_went_in_however_they_are_cut() -> None:
    frames = [("spawn", b"\xff", [b"", b"x" * 300], {b"A": b"1"}, 0.25, True), ("term",), ("ended", 9, 15, 0, [], 0.1)]
    stream, buffer, received = b"".join(_frames.pack(*frame) for frame in frames), bytearray(), []
    for byte in stream:
        buffer.append(byte)
        while (frame := _frames.unpack(buffer)) is not None:
            received.append(frame)
    assert received == frames
    assert not buffer


def test_the_portable_process_table_agrees_with_that_of_linux() -> None:
    with bystander("/bin/sleep", "600") as sleeper:
        mine = {row.pid: row for row in _table._proc_rows()}
        portable = {row.pid: row for row in _table._ps_rows()}
        for pid in (os.getpid(), sleeper.pid):
            one, other = mine[pid], portable[pid]
            assert (one.parent, one.group, one.dead) == (other.parent, other.group, other.dead)
        assert portable[sleeper.pid].cpu_s == 0
        assert portable[os.getpid()].cpu_s > 0


def test_a_program_with_brackets_and_spaces_in_its_name_does_not_confuse_the_table(tmp_path: Path) -> None:
    odd = tmp_path / ") Z 1 (x"
    odd.symlink_to("/bin/sleep")
    with bystander(str(odd), "600") as process:
        row = {row.pid: row for row in _table._proc_rows()}[process.pid]
        assert (row.parent, row.dead) == (os.getpid(), False)
