"""What is under test, as an agent in a sandbox sees it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import quintain
from attrs import evolve
from quintain import Case, Done, Event, Isolation, Launch, Plugins, Ready
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.tree import Entry, Tree
from quintain.runs.plan import make_plan
from quintain.runs.run import Settings, run_plan
from quintain.trial.fixtures import store_record
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio

PROGRAM = """
import sys
text = open(sys.argv[1]).read()
try:
    open(sys.argv[1], "w").write("better")
except OSError as error:
    text += f" and {type(error).__name__}"
print(text)
"""


async def test_it_can_be_read_and_not_be_written(tmp_path: Path, bubblewrap: str) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        assert launch.subject is not None
        yield Ready()
        said = []
        async with launch.spawn([sys.executable, "-c", PROGRAM, str(launch.subject / "p.md")]) as process:
            async for line in process.lines():
                said.append(line.data.decode().strip())
        yield Done(" ".join(said))

    blobs = BlobStore(tmp_path / "blobs")
    plugins = Plugins.of(quintain.driver_of(agent, name="d")).with_(quintain.answerer_of(lambda q: "x", name="a"))
    isolation = Isolation(sandbox="bwrap", readable=(Path(sys.prefix), Path(sys.base_prefix)))
    profile = Profile(name="default", driver=Plug("d"), answerer=Plug("a"), isolation=isolation)
    plan = make_plan([Case("one", "x")], [profile], plugins, blobs)
    tree = Tree({"p.md": Entry("file", 0o644, 5, blobs.put_bytes(b"brief"))})
    (template,) = plan.templates
    template = evolve(template, order=evolve(template.order, subject=store_record(tree, blobs)))
    result = await run_plan(evolve(plan, templates=(template,)), plugins, Settings(store=tmp_path))
    (report,) = result.reports()
    assert report.last.answer == "brief and OSError", report
    assert report.last.findings == ()
