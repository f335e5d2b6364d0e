"""What an agent consists of, as far as its files say it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from quintain import Case, IdentityContext, Plug, Plugins, Profile, QuintainError
from quintain.conditions import Conditions, conditions_of
from quintain.functions import DENY
from quintain.identity.cache import DigestCache
from quintain.identity.tree import difference
from quintain.runs.plan import make_plan
from quintain.workspace.blobs import BlobStore
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

pytestmark = pytest.mark.anyio

IDENTITY = subprocess_driver.experiment.identity


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _context(tmp_path: Path) -> IdentityContext:
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    return IdentityContext(tmp_path, {"PATH": path}, _digest, _digest)


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "line", ["#!/usr/bin/env runs-it", "#! /usr/bin/env -S runs-it -u", "#!/usr/bin/env -i A=b runs-it"]
)
async def test_what_env_finds_for_a_script_is_part_of_it(tmp_path: Path, line: str) -> None:
    runner = _program(tmp_path / "bin" / "runs-it", "\x7fELF, nearly")
    agent = _program(tmp_path / "agent", f"{line}\nwork\n")
    found = await IDENTITY(SubprocessConfig((str(agent),)), _context(tmp_path))
    assert found == {"interpreter": {"runs-it": _digest(runner)}}


async def test_what_runs_the_interpreter_is_part_of_it_too(tmp_path: Path) -> None:
    inner = _program(tmp_path / "bin" / "inner", "\x7fELF, nearly")
    outer = _program(tmp_path / "bin" / "outer", f"#!{inner}\n")
    agent = _program(tmp_path / "agent", f"#!{outer} -x\n")
    found = await IDENTITY(SubprocessConfig((str(agent),)), _context(tmp_path))
    assert found == {"interpreter": {"outer": _digest(outer), "inner": _digest(inner)}}


async def test_a_script_that_runs_itself_is_no_endless_matter(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    _program(agent, f"#!{agent}\n")
    assert await IDENTITY(SubprocessConfig((str(agent),)), _context(tmp_path)) == {
        "interpreter": {"agent": _digest(agent)}
    }


async def test_a_binary_has_no_interpreter(tmp_path: Path) -> None:
    agent = _program(tmp_path / "agent", "\x7fELF, nearly")
    assert await IDENTITY(SubprocessConfig((str(agent),)), _context(tmp_path)) == {}


async def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    agent = _program(tmp_path / "agent", "#!/usr/bin/env nothing-of-the-kind\n")
    with pytest.raises(QuintainError, match="asks for `nothing-of-the-kind`"):
        await IDENTITY(SubprocessConfig((str(agent),)), _context(tmp_path))


async def test_scripts_that_are_named_by_arguments_are_part_of_it_without_their_place(tmp_path: Path) -> None:
    one = _program(tmp_path / "one" / "agent.py", "pass")
    other = _program(tmp_path / "other" / "agent.py", "pass  # too")
    _program(tmp_path / "bin" / "runs-it", "\x7fELF, nearly")
    config = SubprocessConfig(("runs-it", "-S", str(one), str(other), str(tmp_path), "relative.py"))
    found = await IDENTITY(config, _context(tmp_path))
    assert found == {"arguments": {"agent.py": _digest(one), "agent.py 3": _digest(other)}}


async def test_a_program_that_is_not_there_is_left_to_the_core(tmp_path: Path) -> None:
    assert await IDENTITY(SubprocessConfig(("nothing-of-the-kind",)), _context(tmp_path)) == {}


async def _conditions(root: Path) -> Conditions:
    host = {"PATH": os.pathsep.join([str(root / "bin"), os.environ["PATH"]]), "HOME": str(root)}
    plugins = Plugins.of(subprocess_driver, DENY)
    profile = Profile("p", Plug("subprocess", {"command": [str(root / "agent.sh")]}))
    plan = make_plan([Case("c", "Do it.")], [profile], plugins, BlobStore(root / "blobs"))
    return await conditions_of(plan.templates, plugins, host, DigestCache(), b"salt", root=root)


async def test_in_an_experiment_a_wrapper_and_what_runs_it_are_named_when_they_change(tmp_path: Path) -> None:
    runner = _program(tmp_path / "bin" / "runs-it", "\x7fELF, nearly")
    agent = _program(tmp_path / "agent.sh", "#!/usr/bin/env runs-it\nwork\n")
    before = await _conditions(tmp_path)
    async with before.watch() as watch:
        assert await watch.changed() == ()
        agent.write_text("#!/usr/bin/env runs-it\nwork harder\n")
        runner.write_text("\x7fELF, more so")
        found = await watch.changed()
    names = {
        "profiles.p.driver.subprocess.programs.agent.sh.digest",
        "profiles.p.driver.subprocess.interpreter.runs-it",
    }
    assert {one.name for one in found} == names
    assert {one.name for one in difference(before.tree, (await _conditions(tmp_path)).tree)} == names


async def test_in_an_experiment_the_place_of_the_wrapper_is_of_no_account(tmp_path: Path) -> None:
    roots = []
    for place in (tmp_path / "here", tmp_path / "there"):
        _program(place / "bin" / "runs-it", "\x7fELF, nearly")
        _program(place / "agent.sh", "#!/usr/bin/env runs-it\nwork\n")
        roots.append((await _conditions(place)).root)
    assert roots[0] == roots[1]
