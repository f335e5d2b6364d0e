"""What changes while trials run is named, whatever it is and however it is done."""

from __future__ import annotations

import mmap
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from attrs import evolve
from conditions.scenes import Scene, write
from quintain.conditions import Watch
from quintain.conditions import _watch as watching
from quintain.identity.cache import DigestCache
from quintain.identity.notices import Notices
from quintain.identity.seal import TreeSeal

pytestmark = pytest.mark.anyio

DRIVER = "profiles.fast.driver.agent"
CASE = "cases.calculator/add"


@pytest.fixture(params=["by events", "without events"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of looking must find the same."""
    name: str = request.param
    if name == "without events":
        monkeypatch.setattr(watching, "_notices", lambda: None)
    return name


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def _replace(path: Path) -> None:
    beside = path.with_name("beside")
    shutil.copy(path, beside)
    _append(beside)
    beside.replace(path)


def _copied(path: Path) -> None:
    beside = path.with_name("beside")
    shutil.copy(path, beside)
    beside.replace(path)


def _through_another_name(path: Path) -> None:
    other = path.parents[2] / "another-name"
    os.link(path, other)
    _append(other)


def _through_memory(path: Path) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0:1] = b"X"


def _in_disguise(path: Path) -> None:
    """Other bytes, as many as before, and the times of before."""
    seen = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _skills_replaced(scene: Scene) -> None:
    old = scene.root / "skills"
    old.rename(scene.root / "old")
    shutil.copytree(scene.root / "old", old)
    _append(scene.skill)


def _earlier_on_path(scene: Scene) -> None:
    write(scene.root / "first" / "agent-program", "#!/bin/sh\necho other\n", program=True)


SKILL = {f"{DRIVER}.skills/review/SKILL.md"}

CHANGES: dict[str, tuple[Callable[[Scene], object], set[str]]] = {
    "a byte more in a skill": (lambda scene: _append(scene.skill), SKILL),
    "another skill in its place": (lambda scene: _replace(scene.skill), SKILL),
    "a skill written through another name": (lambda scene: _through_another_name(scene.skill), SKILL),
    "a skill written through memory": (lambda scene: _through_memory(scene.skill), SKILL),
    "a skill that can be executed now": (lambda scene: scene.skill.chmod(0o755), SKILL),
    "a skill in disguise": (lambda scene: _in_disguise(scene.skill), SKILL),
    "a program in disguise": (lambda scene: _in_disguise(scene.program), {f"{DRIVER}.programs.agent-program.digest"}),
    "a skill cut to nothing": (lambda scene: os.truncate(scene.skill, 0), SKILL),
    "a skill taken away": (lambda scene: scene.skill.unlink(), SKILL),
    "a skill more": (
        lambda scene: write(scene.root / "skills" / "plain" / "x.md", "x"),
        {f"{DRIVER}.skills/plain", f"{DRIVER}.skills/plain/x.md"},
    ),
    "all skills replaced by others": (_skills_replaced, SKILL),
    "a program with another byte": (
        lambda scene: _append(scene.program),
        {f"{DRIVER}.programs.agent-program.digest"},
    ),
    "a program taken away": (lambda scene: scene.program.unlink(), {f"{DRIVER}.programs.agent-program.digest"}),
    "a settings file that was not there": (
        lambda scene: write(scene.root / "home" / "settings.json", "{}"),
        {f"{DRIVER}.settings"},
    ),
    "a byte more in a fixture": (
        lambda scene: _append(scene.root / "fixtures" / "main.py"),
        {f"{CASE}.fixtures/main.py"},
    ),
    "a hidden file more": (
        lambda scene: write(scene.root / "hidden" / "more.py", ""),
        {f"{CASE}.grader.hidden/more.py"},
    ),
    "the case file": (lambda scene: _append(scene.root / "add.case.toml"), {"add.case.toml"}),
    "the subject": (lambda scene: _append(scene.root / "subject" / "prompt.md"), {"subject/prompt.md"}),
}


async def _sealed(scene: Scene) -> Watch:
    write(scene.root / "add.case.toml", "[[case]]\n")
    write(scene.root / "subject" / "prompt.md", "Be good.\n")
    seal = TreeSeal(scene.root / "subject", DigestCache())
    conditions = await scene.conditions()
    return conditions.seal({"add.case.toml": scene.root / "add.case.toml"}, {"subject": seal})


@pytest.mark.parametrize("name", CHANGES)
async def test_what_changes_is_named(tmp_path: Path, way: str, name: str) -> None:
    change, names = CHANGES[name]
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    assert await watch.changed() == ()
    change(scene)
    found = await watch.changed()
    assert {one.name for one in found} == names
    assert await watch.changed() == found
    watch.close()


UNTOUCHED: dict[str, Callable[[Scene], object]] = {
    "reading everything": lambda scene: [path.read_bytes() for path in scene.root.rglob("*") if path.is_file()],
    "writing what was there": lambda scene: scene.skill.write_bytes(scene.skill.read_bytes()),
    "another time": lambda scene: os.utime(scene.skill, ns=(1, 1)),
    "a copy in its place": lambda scene: _copied(scene.skill),
    "a file beside what is watched": lambda scene: write(scene.root / "notes.txt", "x"),
    "what git keeps": lambda scene: write(scene.root / "fixtures" / ".git" / "HEAD", "x"),
}


@pytest.mark.parametrize("name", UNTOUCHED)
async def test_what_changes_no_content_is_no_change(tmp_path: Path, way: str, name: str) -> None:
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    for _ in range(2):
        UNTOUCHED[name](scene)
        assert await watch.changed() == ()
    watch.close()


async def test_what_is_made_after_an_alarm_is_watched_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    scene.skill.write_bytes(scene.skill.read_bytes())
    assert await watch.changed() == ()
    _append(scene.skill)
    assert {one.name for one in await watch.changed()} == SKILL
    watch.close()


async def test_a_case_file_is_watched_by_itself_where_the_project_is_known(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    write(tmp_path / "cases" / "add.case.toml", "# one case\n")
    scene.case = evolve(scene.case, source="cases/add.case.toml:1")
    async with (await scene.conditions()).watch() as watch:
        assert await watch.changed() == ()
        _append(tmp_path / "cases" / "add.case.toml")
        assert {one.name for one in await watch.changed()} == {"cases/add.case.toml"}


async def test_a_case_that_comes_from_no_file_is_no_trouble(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for source in ("here:7", "made.py", "", "gone.toml:3"):
        scene.case = evolve(scene.case, source=source)
        async with (await scene.conditions()).watch() as watch:
            assert await watch.changed() == ()


async def test_what_was_undone_is_still_told(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    text = scene.skill.read_bytes()
    _append(scene.skill)
    found = await watch.changed()
    scene.skill.write_bytes(text)
    assert await watch.changed() == found
    watch.close()


async def test_a_fixture_that_changed_before_the_seal_is_told(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    conditions = await scene.conditions()
    _append(scene.root / "fixtures" / "main.py")
    watch = conditions.seal()
    assert {one.name for one in await watch.changed()} == {f"{CASE}.fixtures/main.py"}
    watch.close()


async def test_a_skill_that_changed_before_the_seal_is_told(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    conditions = await scene.conditions()
    _append(scene.skill)
    watch = conditions.seal()
    assert {one.name for one in await watch.changed()} == SKILL
    watch.close()


async def test_a_fixture_directory_that_is_gone_is_told(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    shutil.rmtree(scene.root / "fixtures")
    assert {one.name for one in await watch.changed()} == {f"{CASE}.fixtures"}
    watch.close()


async def test_another_program_of_the_name_earlier_on_path_is_told(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    runtime = scene.agent.runtime
    by_name = evolve(runtime(scene.agent.config(str(scene.program), "")).executables[0], name="agent-program")
    scene.agent = evolve(scene.agent, runtime=lambda config: evolve(runtime(config), executables=(by_name,)))
    scene.host["PATH"] = os.pathsep.join([str(scene.root / "first"), str(scene.program.parent), scene.host["PATH"]])
    watch = await _sealed(scene)
    assert await watch.changed() == ()
    _earlier_on_path(scene)
    assert {one.name for one in await watch.changed()} == {f"{DRIVER}.programs.agent-program.digest"}
    watch.close()


async def test_many_who_ask_at_once_are_all_told(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    _append(scene.skill)
    found = []

    async def ask() -> None:
        found.append({one.name for one in await watch.changed()})

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ask)
    assert found == [SKILL] * 10
    watch.close()


async def _look_until(done: anyio.Event, watch: Watch) -> None:
    while not done.is_set():
        await watch.changed()
        await anyio.lowlevel.checkpoint()


def _append_after(seconds: float, path: Path) -> None:
    time.sleep(seconds)
    _append(path)


async def test_no_change_is_missed_by_those_who_look_while_it_is_made(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    for number in range(10):
        write(scene.skill, f"{number}\n")
        watch = await _sealed(scene)
        done = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(_look_until, done, watch)
            await anyio.to_thread.run_sync(_append_after, number / 5000, scene.skill)
            done.set()
        assert {one.name for one in await watch.changed()} == SKILL
        watch.close()


async def test_a_watch_that_is_over_leaves_no_file_open(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    conditions = await scene.conditions()
    async with conditions.watch():
        pass
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        async with conditions.watch() as watch:
            await watch.changed()
    assert set(os.listdir("/proc/self/fd")) == before
    _append(scene.skill)
    assert {one.name for one in await watch.changed()} == SKILL, "it still looks, by other means"


async def test_a_version_that_changes_behind_the_same_bytes_is_found_by_verify(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    write(scene.root / "behind", "1.0\n")
    write(scene.program, f"#!/bin/sh\ncat {scene.root}/behind\n", program=True)
    conditions = await scene.conditions()
    async with conditions.watch() as watch:
        write(scene.root / "behind", "2.0\n")
        assert await watch.changed() == ()
        (found,) = await watch.verify()
    assert str(found) == f'{DRIVER}.programs.agent-program.version changed from "1.0" to "2.0"'


async def test_a_full_pass_is_made_now_and_then_whatever_events_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path)
    watch = await _sealed(scene)
    monkeypatch.setattr(Notices, "quiet", lambda self: True)
    _append(scene.skill)
    assert await watch.changed() == ()
    monkeypatch.setattr(watching, "FULL_PASS_S", -1.0)
    assert {one.name for one in await watch.changed()} == SKILL
    watch.close()
