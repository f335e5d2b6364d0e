"""A grader is tried with a right and an empty solution; what can't tell them apart is quarantined with the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from attrs import evolve
from quintain.authoring.quarantine import NAME, Quarantined, read_quarantine, write_quarantine
from quintain.cli.main import run as quintain
from quintain.errors import AuthoringError
from quintain.model.case import Assertion, Case
from quintain.plugins import Plugins
from quintain.runs.calibrate import Calibration, calibrate
from quintain.runs.run import RunResult, Settings

pytestmark = pytest.mark.anyio

SAYS = Assertion("file_contains", {"path": "greeting.txt", "text": "hello"})
ANSWERS = Assertion("answer_contains", {"text": "done"})


def solution(root: Path, text: str | None) -> Path:
    folder = root / f"solution-{text}"
    folder.mkdir(parents=True)
    if text is not None:
        (folder / "greeting.txt").write_text(text)
    return folder


async def tried(
    cases: Sequence[Case], store: Path, times: int = 3, concurrency: int = 2
) -> tuple[tuple[Calibration, ...], RunResult]:
    with anyio.fail_after(120):
        settings = Settings(store, concurrency=concurrency)
        return await calibrate(cases, Plugins.from_entry_points(), settings, times=times)


async def test_a_right_solution_passes_each_time_and_an_empty_one_never(tmp_path: Path) -> None:
    case = Case("greet", "Say hello.", reference=solution(tmp_path, "hello"), assertions=(SAYS,))
    (found,), result = await tried([case], tmp_path / "store")
    assert found == Calibration("greet", 3, 3, 0, 0)
    assert found.sound
    assert result.summary.tally.planned == 6


async def test_what_a_right_solution_says_is_graded_too(tmp_path: Path) -> None:
    case = Case("say", "Say done.", reference_answer="It is done.", assertions=(ANSWERS,))
    (found,), _ = await tried([case], tmp_path / "store")
    assert found == Calibration("say", 3, 3, 0, 0)


async def test_a_reference_that_fails_is_told_with_the_trial_and_the_assertion(tmp_path: Path) -> None:
    case = Case("greet", "Say hello.", reference=solution(tmp_path, "good day"), assertions=(SAYS,))
    (found,), result = await tried([case], tmp_path / "store")
    assert not found.sound
    (reason,) = found.reasons
    assert reason.startswith("its reference solution passed 0 of 3 (greet@reference#")
    assert "file_contains" in reason
    assert {report.trial for report in result.reports()} >= {reason.split("(")[1].split(":")[0]}


async def test_an_empty_solution_that_passes_is_told(tmp_path: Path) -> None:
    absent = Assertion("file_absent", {"path": "trap.txt"})
    case = Case("keep out", "Don't step into the trap.", reference=solution(tmp_path, None), assertions=(absent,))
    (found,), _ = await tried([case], tmp_path / "store")
    assert found.empty == 3
    assert found.reasons[0].startswith("the empty solution passed 3 of 3 (keep out@empty#1")


async def test_a_grader_that_flickers_is_found(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    code = f"import pathlib,sys; p=pathlib.Path({str(counter)!r}); n=int(p.read_text()); p.write_text(str(n+1)); sys.exit(n // 2 % 2)"
    flicker = Assertion("command", {"argv": ["python3", "-c", code]})
    case = Case("flicker", "Whatever.", reference=solution(tmp_path, "x"), assertions=(flicker, SAYS))
    (found,), _ = await tried(
        [evolve(case, reference=solution(tmp_path, "hello"))], tmp_path / "store", times=4, concurrency=1
    )
    assert not found.sound
    assert found.reference is not None
    assert found.reference < 4


async def test_a_case_without_a_reference_is_tried_with_the_empty_solution_alone(tmp_path: Path) -> None:
    (found,), result = await tried([Case("greet", "Say hello.", assertions=(SAYS,))], tmp_path / "store")
    assert found == Calibration("greet", 3, None, 0, 0)
    assert result.summary.tally.planned == 3


def test_the_quarantine_keeps_cases_that_were_not_tried_and_frees_those_that_are_mended(tmp_path: Path) -> None:
    assert write_quarantine(tmp_path, ["a"], {}) is None
    write_quarantine(tmp_path, ["a", "b"], {"a": Quarantined(('says "no"\n',), "r1"), "b": Quarantined(("x",), "r1")})
    write_quarantine(tmp_path, ["b"], {})
    assert read_quarantine(tmp_path) == {"a": Quarantined(('says "no"\n',), "r1")}
    assert write_quarantine(tmp_path, ["a"], {}) is None
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("text", ["[cases.a]\n", "[cases]\na = 1\n", "[cases.a]\nreasons = [1]\n"])
def test_a_quarantine_that_says_nothing_sensible_is_an_error_with_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(AuthoringError, match=rf"{NAME}:\d"):
        read_quarantine(tmp_path)


def test_the_command_says_what_it_found_and_writes_it_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quintain.toml").write_text('[project]\nname = "p"\n')
    (tmp_path / "cases").mkdir()
    table = '[[assertions]]\ntype = "file_contains"\npath = "greeting.txt"\ntext = "hello"\n'
    for name, text in (("good", "hello"), ("bad", "good day")):
        solution(tmp_path / name, text)
        head = f'prompt = "Greet."\nreference = "../{name}/solution-{text}"\n'
        (tmp_path / "cases" / f"{name}.case.toml").write_text(head + table)
    assert quintain(["calibrate"]) == 1
    printed = capsys.readouterr().out
    assert "sound        good: reference 3/3, empty 0/3" in printed
    assert "quarantined  bad: reference 0/3, empty 0/3" in printed
    assert list(read_quarantine(tmp_path)) == ["bad"]
    (tmp_path / "bad" / "solution-good day" / "greeting.txt").write_text("hello")
    assert quintain(["calibrate", "-k", "bad"]) == 0
    assert read_quarantine(tmp_path) == {}
