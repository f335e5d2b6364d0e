"""A sandboxed command sees the system and its own folders, changes only the latter, and dies like any other."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from process.agents import Agents, carriers
from quintain.errors import LaunchError, SandboxUnavailable
from quintain.process import Limits, Sandbox, probe_sandbox, run, spawn

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("bubblewrap")]

HASTY = Limits(grace_s=0.5, settle_s=0.05)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("work", "extra", "project"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


@pytest.fixture
def sandbox(place: Path) -> Sandbox:
    return Sandbox(writable=(place / "work",), readable=(place / "extra",))


async def said(shell: Agents, code: str, place: Path, sandbox: Sandbox) -> list[str]:
    done = await run(shell(code, cwd=place / "work", sandbox=sandbox), timeout_s=60)
    return done.stdout.text().splitlines()


async def test_the_probe_names_its_version() -> None:
    assert (await probe_sandbox()).startswith("bubblewrap ")


async def test_what_is_named_is_there_and_nothing_else(shell: Agents, place: Path, sandbox: Sandbox) -> None:
    code = f"cat file ../extra/file ../project/file {__file__} 2>&1; echo; ls ..; ls -A /tmp /run 2>/dev/null"
    lines = await said(shell, code, place, sandbox)
    assert lines[0].startswith("workextra")
    assert sum("No such file" in line for line in lines) == 2
    assert "project" not in [line.strip() for line in lines]


async def test_only_what_is_writable_can_be_changed(shell: Agents, place: Path, sandbox: Sandbox) -> None:
    code = "touch new ../extra/new /usr/new /etc/new 2>&1; mkdir /var/tmp/x /tmp/x && echo tmp is mine"
    lines = await said(shell, code, place, sandbox)
    assert lines[-1] == "tmp is mine"
    assert (place / "work/new").exists()
    assert sum("Read-only file system" in line for line in lines) == 3
    assert not (place / "extra/new").exists()
    assert not Path("/tmp/x").exists()


async def test_hidden_places_are_empty(shell: Agents, place: Path) -> None:
    (place / "work/secret").mkdir()
    (place / "work/secret/answer").write_text("42")
    (place / "work/key").write_text("hunter2")
    sandbox = Sandbox(writable=(place / "work",), hidden=(place / "work/secret", place / "work/key", place / "none"))
    assert await said(shell, "ls secret; cat key; ls", place, sandbox) == ["file", "key", "secret"]


async def test_processes_outside_cannot_be_seen(shell: Agents, place: Path, sandbox: Sandbox) -> None:
    lines = await said(shell, "ls -d /proc/[0-9]*; cat /proc/1/environ | tr '\\0' '\\n'", place, sandbox)
    assert f"/proc/{os.getpid()}" not in lines
    assert len([line for line in lines if line.startswith("/proc/")]) < 6


@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_there_only_if_allowed(network: bool, agent: Agents, place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        answering = threading.Thread(target=lambda: server.accept()[0].close(), daemon=True)
        answering.start()
        code = f"""
import socket
try: socket.create_connection(("127.0.0.1", {port}), 5); print("connected")
except OSError as error: print(error.strerror)
"""
        interpreter = Path(os.path.realpath("/proc/self/exe")).parents[1]
        sandbox = Sandbox(network=network, writable=(place / "work",), readable=readable_python(interpreter))
        done = await run(agent(code, cwd=place / "work", sandbox=sandbox), timeout_s=60)
    assert done.stdout.text().strip() == ("connected" if network else "Connection refused"), done.stderr.text()


def readable_python(interpreter: Path) -> tuple[Path, ...]:
    import sys

    return tuple({interpreter, Path(sys.prefix), Path(sys.base_prefix)})


async def test_one_that_ignores_the_request_is_killed_with_all_it_started(
    shell: Agents, place: Path, sandbox: Sandbox, marker: tuple[str, str]
) -> None:
    code = "trap '' TERM; setsid sleep 600 & echo ready; while :; do sleep 1; done"
    async with spawn(shell(code, cwd=place / "work", sandbox=sandbox, limits=HASTY)) as process:
        assert (await anext(process.lines())).text == "ready"
        assert (await process.activity()).processes >= 4
    assert (await process.wait()).stop == "killed"
    assert carriers(marker) == []


async def test_one_that_is_asked_gets_to_clean_up(shell: Agents, place: Path, sandbox: Sandbox) -> None:
    code = "trap 'echo cleaned up; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    async with spawn(shell(code, cwd=place / "work", sandbox=sandbox, limits=Limits(grace_s=30))) as process:
        assert (await anext(process.lines())).text == "ready"
        end = await process.stop()
        assert [line.text async for line in process.lines()] == ["cleaned up"]
    assert (end.code, end.stop) == (7, "terminated")


async def test_what_is_left_when_it_ends_dies_at_once(
    shell: Agents, place: Path, sandbox: Sandbox, marker: tuple[str, str]
) -> None:
    done = await run(
        shell("setsid sleep 600 >/dev/null 2>&1 & echo done; exit 3", cwd=place / "work", sandbox=sandbox), timeout_s=60
    )
    assert (done.stdout.data, done.exit.code) == (b"done\n", 3)
    assert carriers(marker) == []


async def test_it_has_its_environment_and_its_bytes_exactly(shell: Agents, place: Path, sandbox: Sandbox) -> None:
    command = shell(
        "env; printf '%s' \"$1\" | od -An -tx1", "name", "a\n\udcff ☕", cwd=place / "work", sandbox=sandbox
    )
    done = await run(command, timeout_s=60)
    *variables, octets = done.stdout.text().splitlines()
    names = {line.partition("=")[0] for line in variables}
    assert names <= {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "QUINTAIN_TEST_MARKER"}
    assert bytes.fromhex(octets.replace(" ", "")) == os.fsencode("a\n\udcff ☕")


async def test_a_program_that_would_not_be_there_inside_is_told_before(
    shell: Agents, place: Path, sandbox: Sandbox
) -> None:
    tool = place / "project/tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (place / "work/link").symlink_to(tool)
    for name in (str(tool), "./link"):
        from attrs import evolve

        command = evolve(shell("", cwd=place / "work", sandbox=sandbox), argv=(name,))
        with pytest.raises(LaunchError, match=r"project/tool is not visible inside the sandbox.*\n.*readable"):
            await run(command, timeout_s=60)


async def test_a_folder_that_is_not_there_is_told_before(shell: Agents, place: Path) -> None:
    sandbox = Sandbox(writable=(place / "work", place / "gone"))
    with pytest.raises(LaunchError, match="gone can't be shown"):
        await run(shell("true", cwd=place / "work", sandbox=sandbox), timeout_s=60)


async def test_a_working_directory_outside_is_told_before(shell: Agents, place: Path, sandbox: Sandbox) -> None:
    with pytest.raises(LaunchError, match=r"the working directory .*project is not visible"):
        await run(shell("true", cwd=place / "project", sandbox=sandbox), timeout_s=60)


async def test_a_machine_without_the_program_says_what_to_install(
    shell: Agents, place: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    for attempt in (probe_sandbox(), run(shell("true", cwd=place / "work", sandbox=sandbox), timeout_s=60)):
        with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
            await attempt


async def test_a_system_that_forbids_namespaces_is_told_with_its_own_words(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = place / "bwrap"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 9 && exit 0\n'
        "echo 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.defpath}")
    with pytest.raises(SandboxUnavailable, match="No permissions to create new namespace") as caught:
        await probe_sandbox()
    assert caught.value.hint is not None
    assert "user.max_user_namespaces" in caught.value.hint
