"""What is wrong with a command is said before anything runs, with a way out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from quintain.errors import LaunchError, QuintainError
from quintain.process import ARGUMENT_BYTES, Command, find_executable, run, spawn

pytestmark = pytest.mark.anyio


def program(place: Path, text: str = "#!/bin/sh\necho it runs\n", mode: int = 0o755) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(mode)
    return place


async def refusal(command: Command) -> str:
    with pytest.raises(LaunchError) as caught:
        async with spawn(command):
            pass
    return str(caught.value)


def test_a_name_is_searched_for_on_the_given_path_in_order(tmp_path: Path) -> None:
    first, second = program(tmp_path / "one/tool"), program(tmp_path / "two/tool")
    assert find_executable("tool", path=f"{tmp_path}/none:{first.parent}:{second.parent}", cwd=tmp_path) == first


def test_what_may_not_be_executed_is_passed_over_for_a_later_one(tmp_path: Path) -> None:
    program(tmp_path / "one/tool", mode=0o644)
    (tmp_path / "dir/tool").mkdir(parents=True)
    found = program(tmp_path / "two/tool")
    assert find_executable("tool", path=f"{tmp_path}/dir:{tmp_path}/one:{tmp_path}/two", cwd=tmp_path) == found


def test_relative_places_start_where_the_command_will_run(tmp_path: Path) -> None:
    tool = program(tmp_path / "bin/tool")
    assert find_executable("bin/tool", path=None, cwd=tmp_path) == tool
    assert find_executable("tool", path="bin", cwd=tmp_path) == tool


def test_what_is_nowhere_is_told_with_the_places_that_were_searched(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="there is no program `tool`") as caught:
        find_executable("tool", path=f"{tmp_path}/a:{tmp_path}/b", cwd=tmp_path)
    assert f"{tmp_path}/a, {tmp_path}/b" in str(caught.value)


@pytest.mark.parametrize("path", ["", ":"])
def test_an_empty_path_is_called_empty(path: str, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="PATH is empty"):
        find_executable("tool", path=path, cwd=tmp_path)


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    said = await refusal(Command(("./missing",), tmp_path, {}))
    assert f"there is no program {tmp_path}/./missing" in said


async def test_a_program_that_may_not_be_executed(tmp_path: Path) -> None:
    tool = program(tmp_path / "tool", mode=0o644)
    said = await refusal(Command((str(tool),), tmp_path, {}))
    assert "is not executable" in said
    assert f"chmod +x {tool}" in said


async def test_a_script_whose_interpreter_is_not_there(tmp_path: Path) -> None:
    tool = program(tmp_path / "tool", "#!/no/such/interpreter --flag\n")
    assert "its first line asks for `/no/such/interpreter --flag`, which is not there" in await refusal(
        Command((str(tool),), tmp_path, {})
    )


async def test_a_script_without_a_first_line_is_no_program(tmp_path: Path) -> None:
    tool = program(tmp_path / "tool", "echo hello\n")
    assert "neither a program for this machine nor a script" in await refusal(Command((str(tool),), tmp_path, {}))


async def test_a_working_directory_that_is_not_there(tmp_path: Path) -> None:
    assert f"the working directory {tmp_path}/gone does not exist" in await refusal(
        Command(("true",), tmp_path / "gone", {})
    )


async def test_an_argument_that_is_too_long_is_named_with_its_size_and_the_limit(tmp_path: Path) -> None:
    said = await refusal(Command(("true", "--prompt", "x" * 300_000), tmp_path, {}))
    assert "argument 2 ('xxx" in said
    assert "300000 bytes" in said
    assert str(ARGUMENT_BYTES) in said
    assert "by standard input or in a file" in said


async def test_the_size_of_an_argument_is_counted_in_bytes(tmp_path: Path) -> None:
    said = await refusal(Command(("true", "☕" * (ARGUMENT_BYTES // 3 + 1)), tmp_path, {}))
    assert f"{3 * (ARGUMENT_BYTES // 3 + 1)} bytes" in said


async def test_the_longest_argument_that_is_let_through_arrives(tmp_path: Path) -> None:
    code = "import sys; print(len(sys.argv[1]))"
    done = await run(Command((sys.executable, "-c", code, "x" * ARGUMENT_BYTES), tmp_path, {}), timeout_s=60)
    assert done.stdout.text() == f"{ARGUMENT_BYTES}\n"


async def test_a_variable_that_is_too_long_is_named_without_its_value(tmp_path: Path) -> None:
    said = await refusal(Command(("true",), tmp_path, {"PATH": os.defpath, "SECRET": "s3cret" * 30_000}))
    assert "environment variable SECRET has 180000 bytes" in said
    assert "s3cret" not in said


async def test_too_much_altogether_is_told_with_the_sum(tmp_path: Path) -> None:
    said = await refusal(Command(("true", *["x" * 100_000] * 100), tmp_path, {"PATH": os.defpath}))
    assert "bytes together, more than the system passes" in said


@pytest.mark.parametrize(
    ("argv", "env", "said"),
    [
        (("true", "a\0b"), {}, "argument 1 ('a\\x00b') has a zero byte"),
        (("true",), {"A": "a\0b"}, "variable A has a zero byte"),
        (("true",), {"A=B": "x"}, "'A=B' can't be the name"),
        (("true",), {"": "x"}, "'' can't be the name"),
        ((), {}, "the command is empty"),
        (("",), {}, "the name of the program is empty"),
    ],
)
async def test_what_no_program_can_be_given(
    argv: tuple[str, ...], env: dict[str, str], said: str, tmp_path: Path
) -> None:
    assert said in await refusal(Command(argv, tmp_path, {"PATH": os.defpath, **env}))


def test_a_string_is_not_taken_for_arguments(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not one string"):
        Command("true -x", tmp_path, {})


async def test_a_system_without_posix_processes_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_spawn")
    with pytest.raises(QuintainError, match="Windows Subsystem for Linux"):
        async with spawn(Command(("true",), tmp_path, {"PATH": os.defpath})):
            pass


async def test_arguments_and_values_arrive_byte_for_byte(tmp_path: Path) -> None:
    nasty = ["- [ ] fix --help; rm -rf \"$HOME\" `id` $(id)\n--model other\n'quoted' \\ end ", "", "☕", "\udcff"]
    code = "import os,sys; [print(os.fsencode(a).hex()) for a in [*sys.argv[1:], os.environ['V']]]"
    done = await run(Command((sys.executable, "-c", code, *nasty), tmp_path, {"V": "a\n\udcfe"}), timeout_s=60)
    assert done.stdout.text().split("\n") == [*(os.fsencode(text).hex() for text in [*nasty, "a\n\udcfe"]), ""]
