"""What is under test in a directory beside the workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import quintain
from attrs import evolve
from quintain import Case, Launch, OutcomeKind, Plugins, TrialReport
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.tree import Entry, Tree
from quintain.runs.plan import make_plan
from quintain.runs.run import Settings, run_plan
from quintain.trial.fixtures import store_record
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


async def trial(place: Path, agent: Callable[[Launch], str], *, beside: bool = True) -> TrialReport:
    async def driven(launch: Launch) -> str:
        return agent(launch)

    blobs = BlobStore(place / "blobs")
    plugins = Plugins.of(quintain.driver_of(driven, name="d")).with_(quintain.answerer_of(lambda q: "x", name="a"))
    profile = Profile(name="default", driver=Plug("d"), answerer=Plug("a"))
    plan = make_plan([Case("one", "x")], [profile], plugins, blobs)
    file = Entry("file", 0o640, 5, blobs.put_bytes(b"brief"))
    tree = Tree({"prompts": Entry("directory", 0o750), "prompts/p.md": file})
    (template,) = plan.templates
    if beside:
        template = evolve(template, order=evolve(template.order, subject=store_record(tree, blobs)))
    result = await run_plan(evolve(plan, templates=(template,)), plugins, Settings(store=place))
    (report,) = result.reports()
    return report


async def test_an_agent_finds_it_there_and_not_in_its_workspace(tmp_path: Path) -> None:
    def reads(launch: Launch) -> str:
        assert launch.subject is not None
        assert list(launch.workspace.iterdir()) == []
        assert launch.subject not in (launch.workspace, *launch.workspace.parents)
        return (launch.subject / "prompts" / "p.md").read_text()

    report = await trial(tmp_path, reads)
    assert (report.outcome.kind, report.last.answer) == (OutcomeKind.COMPLETED, "brief")
    assert report.last.findings == ()


async def test_without_one_there_is_none(tmp_path: Path) -> None:
    report = await trial(tmp_path, lambda launch: str(launch.subject), beside=False)
    assert report.last.answer == "None"


async def test_a_change_to_it_is_tampering(tmp_path: Path) -> None:
    def writes(launch: Launch) -> str:
        assert launch.subject is not None
        (launch.subject / "prompts" / "p.md").write_text("better")
        (launch.subject / "__pycache__").mkdir()
        (launch.subject / "__pycache__" / "x.pyc").write_text("x")
        return "done"

    report = await trial(tmp_path, writes)
    assert [(one.kind, one.paths) for one in report.last.findings] == [("tampering", ("prompts/p.md",))]
    assert report.last.changes is None


async def test_taking_it_away_is_tampering_too(tmp_path: Path) -> None:
    def removes(launch: Launch) -> str:
        assert launch.subject is not None
        launch.subject.rename(launch.temp / "mine")
        return "done"

    report = await trial(tmp_path, removes)
    assert report.outcome.kind is OutcomeKind.COMPLETED
    assert [one.kind for one in report.last.findings] == ["tampering"]


async def test_it_is_whole_again_for_the_next_trial(tmp_path: Path) -> None:
    def writes(launch: Launch) -> str:
        assert launch.subject is not None
        file = launch.subject / "prompts" / "p.md"
        before = file.read_text()
        file.write_text("spoiled")
        return before

    assert (await trial(tmp_path / "1", writes)).last.answer == "brief"
    assert (await trial(tmp_path / "1", writes)).last.answer == "brief"
