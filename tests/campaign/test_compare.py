"""Two records side by side: what may be compared, what is found, and what a gate makes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest
from quintain.api import run_sync
from quintain.campaign.compare import compare
from quintain.cli.main import run as quintain
from quintain.contracts.driver import DriverSpec, Launch
from quintain.errors import UsageError
from quintain.functions import driver_of
from quintain.model.case import Assertion, Case
from quintain.model.events import Done, Event, Ready, Used
from quintain.model.limits import Limits
from quintain.model.outcome import Failure
from quintain.model.usage import Cost, Tokens, Usage

SAYS = Assertion("answer_equals", {"text": "right"})


def agent(share: float, usd: float = 0.01, broken: Collection[str] = ()) -> DriverSpec[object]:
    """An agent that is right so often, by the name of the case, and can't do some of them for next to nothing."""

    async def answering(launch: Launch) -> AsyncIterator[Event]:
        yield Ready(agent="agent")
        if launch.case.id in broken:
            yield Used(Usage(tokens=Tokens(input=1), cost=Cost.known(usd / 10)))
            yield Done(None, failure=Failure.MISSING)
            return
        yield Used(Usage(tokens=Tokens(input=10), cost=Cost.known(usd)))
        luck = hashlib.sha256(launch.case.id.encode()).digest()[0] / 256
        yield Done("right" if luck < share else "wrong")

    return driver_of(answering, name="agent")  # type: ignore[return-value]  # whatever its configuration is


def record(
    store: Path,
    share: float,
    *,
    cases: int = 12,
    usd: float = 0.01,
    prompt: str = "Do.",
    repeat: int = 2,
    broken: Collection[str] = (),
) -> Path:
    """A run of an agent."""
    todo = [Case(f"c{n}", f"{prompt} {n}", assertions=(SAYS,)) for n in range(cases)]
    driver = agent(share, usd, broken)
    return run_sync(todo, driver=driver, repeat=repeat, store=store, limits=Limits(idle_s=60.0)).directory


def test_a_branch_that_is_better_is_better_and_the_cases_are_named(tmp_path: Path) -> None:
    base, branch = record(tmp_path, 0.0), record(tmp_path, 1.0)
    found = compare(base, branch)
    assert found.outcome == "better"
    assert found.effects[0].difference.estimate == 1.0
    assert len(found.effects[0].improved) == 12
    assert compare(branch, base).outcome == "worse"
    assert len(compare(branch, base).effects[0].regressed) == 12


def test_equal_records_differ_in_nothing(tmp_path: Path) -> None:
    found = compare(record(tmp_path, 0.5), record(tmp_path, 0.5))
    assert found.outcome == "no difference shown"
    assert found.effects[0].difference.estimate == 0.0
    assert found.differences == ()


def test_many_equal_cases_show_that_nothing_is_worse_by_more_than_the_tolerance(tmp_path: Path) -> None:
    base, branch = record(tmp_path, 0.5, cases=120, repeat=1), record(tmp_path, 0.5, cases=120, repeat=1)
    assert compare(base, branch, tolerance=0.2).outcome == "no worse"
    assert compare(base, branch, tolerance=0.001).outcome == "no difference shown"


def test_cost_is_shown_and_does_not_decide_unless_it_is_asked_for(tmp_path: Path) -> None:
    base, branch = record(tmp_path, 0.5), record(tmp_path, 0.5, usd=0.02)
    found = compare(base, branch)
    assert found.outcome == "no difference shown"
    assert {effect.objective.metric for effect in found.beside} == {"cost_usd", "tokens"}
    assert compare(base, branch, metrics=["cost_usd"]).outcome == "worse"
    assert compare(branch, base, metrics=["cost_usd"]).outcome == "better"


def test_a_branch_whose_trials_were_cut_short_is_not_cheaper_for_it(tmp_path: Path) -> None:
    base, branch = record(tmp_path, 0.5), record(tmp_path, 0.5, broken=[f"c{n}" for n in range(6)])
    effect = compare(base, branch, metrics=["cost_usd"]).effects[0]
    assert effect.difference.estimate == 0.0
    assert len(effect.unpaired) == 6
    assert effect.finding == "unknown"


def test_another_task_is_not_comparable_until_that_is_accepted_by_name(tmp_path: Path) -> None:
    base, branch = record(tmp_path, 0.0), record(tmp_path, 1.0, prompt="Do it.")
    found = compare(base, branch)
    assert found.outcome == "not comparable"
    assert all(one.name.startswith("cases.c") for one in found.differences)
    assert len(found.differences) == 12
    for accept in (["case"], ["cases.*"], [one.name for one in found.differences]):
        assert compare(base, branch, accept=accept).outcome == "better"
    assert compare(base, branch, accept=["profile"]).outcome == "not comparable"


def test_what_can_t_be_compared_is_an_error_that_says_what_can(tmp_path: Path) -> None:
    base = record(tmp_path, 0.0, cases=2)
    with pytest.raises(UsageError, match="`beauty` can't be compared"):
        compare(base, base, metrics=["beauty"])
    with pytest.raises(UsageError, match="there is no trial of `short`"):
        compare(base, base, branch_candidate="short")
    other = run_sync([Case("other", "Do.", assertions=(SAYS,))], driver=agent(1.0), store=tmp_path).directory
    with pytest.raises(UsageError, match="no case in common"):
        compare(base, other)


@pytest.mark.parametrize(
    ("base", "branch", "words", "code"),
    [
        (0.0, 1.0, [], 0),
        (1.0, 0.0, [], 1),
        (0.5, 0.5, [], 0),
        (0.5, 0.5, ["--strict"], 3),
        (0.0, 1.0, ["--strict"], 0),
        (1.0, 0.0, ["--tolerance", "0.99"], 0),
    ],
)
def test_the_exit_code_is_that_of_a_gate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    base: float,
    branch: float,
    words: list[str],
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quintain.toml").write_text('[project]\nname = "p"\n')
    one, other = record(tmp_path / ".quintain", base), record(tmp_path / ".quintain", branch)
    assert quintain(["compare", one.name, other.name, *words]) == code
    printed = capsys.readouterr().out
    assert f"B  {other.name} (baseline), 24 of 24 trials scored" in printed
    assert quintain(["compare", str(one), str(other), *words, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["branch"]["trials"] == 24


def test_what_differs_is_printed_with_the_way_to_accept_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quintain.toml").write_text('[project]\nname = "p"\n')
    store = tmp_path / ".quintain"
    one, other = record(store, 0.0, cases=2), record(store, 1.0, cases=2, prompt="Do it.")
    assert quintain(["compare", one.name, other.name]) == 3
    printed = capsys.readouterr().out
    assert "differs     cases.c0.prompt changed from" in printed
    assert "--accept NAME" in printed
