"""What a process writes arrives whole and exact, whatever the process, its children or the clock do."""

from __future__ import annotations

import hashlib
import os
import resource
import sys
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from process.agents import Agents, alive, carriers
from quintain.process import Command, Keepers, Limits, Line, Process, spawn

pytestmark = pytest.mark.anyio


async def lines_of(process: Process) -> list[Line]:
    return [line async for line in process.lines()]


async def test_a_process_that_ends_at_once_loses_no_line(tmp_path: Path) -> None:
    command = Command(("/bin/sh", "-c", r"printf 'ready\nmessage\ndone\n'"), tmp_path, {})
    expected = [Line(b"ready"), Line(b"message"), Line(b"done")]
    turns = iter(range(2_000))
    good = 0

    async def work(keepers: Keepers) -> None:
        nonlocal good
        for _ in turns:
            async with spawn(command, keepers=keepers) as process:
                lines = await lines_of(process)
                end = await process.wait()
            good += lines == expected and end.clean and not end.leftover

    async with Keepers() as keepers, anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(work, keepers)
    assert good == 2_000


async def test_lines_may_be_left_and_taken_up_again(shell: Agents) -> None:
    async with spawn(shell(r"printf '1\n2\n3\n'")) as process:
        async for line in process.lines():
            assert line.data == b"1"
            break
        assert [line.data async for line in process.lines()] == [b"2", b"3"]
        assert [line async for line in process.lines()] == []


async def test_a_child_that_holds_the_output_is_not_waited_for(agent: Agents, marker: tuple[str, str]) -> None:
    code = """
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(600)
print("child", child, flush=True)
print("done", flush=True)
"""
    started = time.monotonic()
    async with spawn(agent(code)) as process:
        first, second = await lines_of(process)
        end = await process.wait()
    assert second.data == b"done"
    assert (end.code, end.stop, end.leftover) == (0, "none", 1)
    assert not alive(int(first.data.split()[1]))
    assert carriers(marker) == []
    assert time.monotonic() - started < 60


async def test_a_filter_at_the_end_of_a_pipe_still_writes_its_last_lines(agent: Agents) -> None:
    code = """
reader, writer = os.pipe()
if os.fork() == 0:
    os.close(writer)
    data = os.read(reader, 100)
    time.sleep(0.05)
    os.write(1, data.upper())
    os._exit(0)
os.write(writer, b"done\\n")
"""
    async with spawn(agent(code, limits=Limits(settle_s=10))) as process:
        assert [line.data for line in await lines_of(process)] == [b"DONE"]
        end = await process.wait()
    assert end.leftover == 0


async def test_an_output_that_someone_outside_the_tree_holds_is_not_waited_for(agent: Agents, tmp_path: Path) -> None:
    # the agent hands its standard output to us through a socket, so that it stays open after all its processes are gone
    import socket

    place = str(tmp_path / "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    code = """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
socket.send_fds(s, [b"x"], [1])
print("done", flush=True)
"""
    held: list[int] = []
    with listener:
        async with spawn(agent(code, place)) as process:
            peer, _ = listener.accept()
            with peer:
                held += socket.recv_fds(peer, 1, 1)[1]
            with anyio.fail_after(60):
                assert [line.data for line in await lines_of(process)] == [b"done"]
        os.close(held[0])


async def test_an_output_that_is_closed_ends_the_lines_after_the_linger_limit(agent: Agents) -> None:
    code = "print('working', flush=True); os.close(1); os.close(2); time.sleep(600)"
    async with spawn(agent(code, limits=Limits(linger_s=0.2, grace_s=0.2))) as process:
        with anyio.fail_after(60):
            assert [line.data for line in await lines_of(process)] == [b"working"]
        assert alive(process.pid)
    assert not alive(process.pid)
    assert (await process.wait()).stop == "terminated"


async def test_an_output_that_is_closed_shortly_before_the_end_is_no_linger(agent: Agents) -> None:
    async with spawn(agent("print('x', flush=True); os.close(1); time.sleep(0.1); os._exit(3)")) as process:
        await lines_of(process)
        assert process.exit is not None
        assert process.exit.code == 3


async def test_a_line_of_12_mb_is_whole(agent: Agents) -> None:
    code = "sys.stdout.write('A' * 12_000_000 + '\\nafter\\n')"
    async with spawn(agent(code)) as process:
        long, after = await lines_of(process)
    assert (len(long.data), long.dropped) == (12_000_000, 0)
    assert long.data == b"A" * 12_000_000
    assert after.data == b"after"


async def test_a_line_of_200_mb_is_counted_and_digested_in_bounded_memory(agent: Agents) -> None:
    code = "[os.write(1, b'B' * 1_000_000) for _ in range(200)]; os.write(1, b'\\nafter\\n')"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with spawn(agent(code, limits=Limits(line_bytes=16 * 1024 * 1024))) as process:
        long, after = await lines_of(process)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert long.dropped + len(long.data) == 200_000_000
    assert long.data == b"B" * len(long.data)
    assert long.digest == hashlib.sha256(b"B" * 200_000_000).hexdigest()
    assert after == Line(b"after")
    assert grown_kib < 3 * 16 * 1024


async def test_a_slow_reader_slows_the_process_down(agent: Agents, tmp_path: Path) -> None:
    code = """
for i in range(400):
    os.write(1, b"x" * 9_999 + b"\\n")
    open("written", "w").write(str(i))
"""
    async with spawn(agent(code)) as process:
        await anyio.sleep(0.5)
        assert int((tmp_path / "written").read_text()) < 50
        assert len(await lines_of(process)) == 400


async def test_a_flood_of_output_leaves_others_their_turn(agent: Agents) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with (
        spawn(agent("[os.write(1, b'x' * 99_999 + b'\\n') for _ in range(500)]")) as process,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(others)
        count = len(await lines_of(process))
        tasks.cancel_scope.cancel()
    assert count == 500
    assert turns > 20


async def test_half_characters_and_bytes_that_are_no_text_are_exact(agent: Agents) -> None:
    text = "naïve ☕ 你好 🎉".encode()
    code = f"for i in {list(text)}: os.write(1, bytes([i])); time.sleep(0.001)\n"
    code += "os.write(1, b'\\n\\x00\\xff\\xfe\\x80 binary \\x00\\n')"
    async with spawn(agent(code)) as process:
        first, second = await lines_of(process)
    assert (first.text, first.exact) == (text.decode(), True)
    assert (second.data, second.exact) == (b"\x00\xff\xfe\x80 binary \x00", False)


async def test_a_stream_that_is_cut_in_the_middle_ends_with_a_fragment(agent: Agents) -> None:
    code = 'os.write(1, b\'whole\\n{"text": "I was sa\'); os.kill(os.getpid(), signal.SIGKILL)'
    async with spawn(agent(code)) as process:
        assert await lines_of(process) == [Line(b"whole"), Line(b'{"text": "I was sa', complete=False)]
        end = await process.wait()
    assert (end.code, end.signal, end.stop) == (None, 9, "none")


async def test_200_mb_of_errors_do_not_block_and_are_counted_exactly(agent: Agents) -> None:
    code = """
for _ in range(200): os.write(2, b"trace " * 166_667)
os.write(2, b"the end")
print("done")
"""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with spawn(agent(code)) as process:
        with anyio.fail_after(120):
            assert [line.data for line in await lines_of(process)] == [b"done"]
            await process.wait()
        kept = process.stderr
    total = 200 * 6 * 166_667 + 7
    assert kept.total == total
    assert kept.dropped == total - 2 * 64 * 1024
    assert kept.head == (b"trace " * 11_000)[: 64 * 1024]
    assert kept.tail.endswith(b"trace the end")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


async def test_errors_can_be_seen_while_the_process_runs_and_are_complete_at_its_end(agent: Agents) -> None:
    async with spawn(
        agent("sys.stderr.write('early\\n'); sys.stdin.read(); sys.stderr.write('late')", stdin="pipe")
    ) as p:
        for _ in range(6_000):
            await anyio.sleep(0.01)
            if p.stderr.data == b"early\n":
                break
        await p.close_stdin()
        await p.wait()
        assert p.stderr.data == b"early\nlate"


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 1), (3, 3), (255, 255)])
async def test_the_exit_status_is_the_agents(code: int, expected: int, shell: Agents) -> None:
    async with spawn(shell(f"exit {code}")) as process:
        end = await process.wait()
    assert (end.code, end.signal, end.stop, end.leftover) == (expected, None, "none", 0)


async def test_what_a_process_is_given_is_all_that_it_has(
    agent: Agents, tmp_path: Path, marker: tuple[str, str]
) -> None:
    code = """
def link(fd):
    try: return os.readlink(f"/proc/self/fd/{fd}")
    except OSError: return None
print(os.getcwd())
print(sorted(os.environ.items()))
print(sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if link(fd)))
print(link(0))
print(os.getsid(0) == os.getpgid(0) == os.getpid())
print([n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN])
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
try: open("/dev/tty"); print("has a terminal")
except OSError: print("no terminal")
"""
    env = {"A": "1", "PWD": "/x", "LC_ALL": "C.UTF-8"}
    command = Command((sys.executable, "-I", "-S", "-c", "import os,sys,signal\n" + code), tmp_path, env, marker=marker)
    async with spawn(command) as process:
        said = [line.text for line in await lines_of(process)]
    ignored_by_python = "[<Signals.SIGPIPE: 13>, <Signals.SIGXFSZ: 25>]"
    assert said == [
        str(tmp_path),
        str(sorted([*env.items(), marker])),
        "[0, 1, 2]",
        "/dev/null",
        "True",
        ignored_by_python,
        "set()",
        "no terminal",
    ]


async def test_nothing_of_ours_can_be_seen_through_the_parent_process(
    shell: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUINTAIN_CANARY", "canary-1")
    code = "cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'; readlink /proc/$PPID/cwd"
    async with spawn(shell(code, env={"PATH": os.environ["PATH"]})) as process:
        said = [line.text for line in await lines_of(process)]
    assert said[-1] == "/"
    assert "canary" not in "\n".join(said)


async def test_a_keeper_does_not_hold_the_working_directory(shell: Agents, tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    async with Keepers() as keepers:
        async with spawn(shell("true", cwd=place), keepers=keepers) as process:
            await process.wait()
        held = [str(cwd.readlink()) for cwd in Path("/proc").glob("[0-9]*/cwd") if os.access(cwd, os.R_OK)]
    assert str(place) not in held


async def test_an_error_inside_the_context_comes_out_as_it_is(shell: Agents, marker: tuple[str, str]) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with spawn(shell("sleep 600")):
            raise KeyError("mine")
    assert carriers(marker) == []


async def test_a_group_of_errors_inside_the_context_is_not_wrapped_again(shell: Agents) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with spawn(shell("sleep 600")):
            raise ExceptionGroup("mine", [ValueError("one")])
    assert caught.value.message == "mine"
    assert isinstance(caught.value.exceptions[0], ValueError)


async def test_no_descriptor_and_no_process_stays_behind(shell: Agents, marker: tuple[str, str]) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    async with spawn(shell("true")) as process:
        await process.wait()
    before = descriptors()
    for code in ("exit 0", "sleep 600", "exec /no/such/thing", "sleep 600 & echo x"):
        async with spawn(shell(code, stdin="pipe", limits=Limits(stdin_close_s=0.01))) as process:
            pass
    assert descriptors() == before
    assert carriers(marker) == []


async def test_a_clock_that_jumps_changes_nothing(agent: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    real, offset = time.time, {"s": 0.0}
    monkeypatch.setattr(time, "time", lambda: real() + offset["s"])
    async with spawn(agent("os.close(1); time.sleep(600)", limits=Limits(linger_s=0.3, grace_s=0.3))) as process:
        offset["s"] = -7200.0
        with anyio.fail_after(60):
            assert await lines_of(process) == []
        offset["s"] = 86_400.0
        end = await process.stop()
    assert end.stop == "terminated"
