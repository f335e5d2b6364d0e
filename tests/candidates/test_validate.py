"""Commands that look at a candidate: what they see, and what they may not do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from attrs import evolve
from quintain.candidates import Captured, Problem, baseline, candidate_of, capture_subject, validate
from quintain.identity.cache import DigestCache
from quintain.model.campaign import Candidate, Subject, Validation, Variant
from quintain.workspace.blobs import BlobStore

pytestmark = pytest.mark.anyio


class Bench:
    def __init__(self, place: Path) -> None:
        root = place / "subject"
        (root / "prompts").mkdir(parents=True)
        (root / "prompts" / "a.md").write_text("one\n")
        self.scratch = place / "scratch"
        self.scratch.mkdir()
        self.subject = Subject(root, ("prompts/*.md",))
        self.blobs = BlobStore(place / "blobs")
        self.captured: Captured = capture_subject(self.subject, self.blobs, DigestCache())
        self.candidate: Candidate = baseline(self.captured)

    async def problems(self, *programs: str, timeout_s: float = 60.0) -> tuple[Problem, ...]:
        commands = tuple(Validation((sys.executable, "-c", program), timeout_s) for program in programs)
        subject = evolve(self.subject, validate=commands)
        found = await validate(
            self.candidate,
            self.captured,
            subject,
            self.blobs,
            host={"PATH": "/bin", "TOKEN": "t"},
            scratch=self.scratch,
        )
        assert list(self.scratch.iterdir()) == []
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_content_command_finds_the_files_of_the_candidate(bench: Bench) -> None:
    bench.candidate = candidate_of(
        Variant("v", text={"prompts/a.md": "new"}), bench.captured, bench.subject, bench.blobs
    )
    assert await bench.problems("assert open('prompts/a.md').read() == 'new'") == ()


async def test_a_refusal_is_told_with_what_the_command_said(bench: Bench) -> None:
    (problem,) = await bench.problems("import sys; print('first', file=sys.stderr); sys.exit('\\x1b[31mtoo long')")
    assert "refused it (exit status 1)" in problem.message
    assert problem.output.splitlines()[-1].endswith("too long")
    assert "\x1b" not in str(problem)


async def test_a_command_that_writes_is_told_and_none_after_it_runs(bench: Bench) -> None:
    found = await bench.problems("open('prompts/b.md', 'w').write('x')", "raise SystemExit(1)")
    assert [problem.paths for problem in found] == [("prompts/b.md",)]
    assert "changed what it was to look at: prompts/b.md" in found[0].message


async def test_the_source_itself_is_out_of_reach_of_what_it_writes(bench: Bench) -> None:
    await bench.problems("open('prompts/a.md', 'w').write('x')")
    assert (bench.subject.root / "prompts" / "a.md").read_text() == "one\n"


async def test_a_command_sees_nothing_of_the_host(bench: Bench) -> None:
    program = "import os; assert 'TOKEN' not in os.environ; assert os.listdir(os.environ['HOME']) == []"
    assert await bench.problems(program) == ()


async def test_a_command_that_hangs_is_stopped(bench: Bench) -> None:
    (problem,) = await bench.problems("import time; time.sleep(600)", timeout_s=0.5)
    assert "was stopped after 0.5 s" in problem.message


async def test_a_flood_of_output_is_bounded(bench: Bench) -> None:
    (problem,) = await bench.problems("import sys; sys.stdout.write('x\\n' * 3_000_000); sys.exit(3)")
    assert len(problem.output) < 1000


async def test_a_program_that_is_not_there_is_a_problem_of_the_candidate(bench: Bench) -> None:
    subject = evolve(bench.subject, validate=(Validation(("./bin/check",)),))
    (problem,) = await validate(bench.candidate, bench.captured, subject, bench.blobs, scratch=bench.scratch)
    assert "`./bin/check` can't be run" in problem.message


async def test_what_a_killed_validation_leaves_is_swept_with_the_areas_of_trials(bench: Bench) -> None:
    program = "import os; assert os.path.basename(os.path.dirname(os.getcwd())).startswith('quarters-')"
    assert await bench.problems(program) == ()
