"""The sinks under the suite that third parties use, and what each writes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quintain import QuintainError, RunSummary, SinkContext, SinkSpec
from quintain.testing import SinkConformance, made_report, made_run, made_summary
from quintain_sinks.github import GithubConfig, cell, command_text, github
from quintain_sinks.jsonl import JsonlConfig, jsonl
from quintain_sinks.junit import junit, xml_text

ANY_TEXT = st.text(alphabet=st.characters(), max_size=60)


class TestJsonl(SinkConformance):
    def spec(self) -> SinkSpec[Any]:
        return jsonl

    def check(self, directory: Path, summary: RunSummary) -> None:
        lines = [json.loads(line) for line in (directory / "records.jsonl").read_text().splitlines()]
        assert lines[0]["type"] == "run_began"
        assert lines[-1]["exit_code"] == summary.exit_code


class TestJsonlWithEvents(TestJsonl):
    def config(self, directory: Path) -> Any:
        return JsonlConfig(events=True)


class TestJunit(SinkConformance):
    def spec(self) -> SinkSpec[Any]:
        return junit

    def check(self, directory: Path, summary: RunSummary) -> None:
        root = ElementTree.fromstring((directory / "junit.xml").read_bytes())
        tally = summary.tally
        assert int(root.get("tests", "-1")) == tally.planned or tally.not_started
        assert int(root.get("failures", "-1")) == tally.failed
        missing = int(root.get("errors", "-1")) + int(root.get("skipped", "-1"))
        assert (int(root.get("failures", "-1")) + missing == 0) == (summary.exit_code == 0 or bool(tally.not_started))


class TestGithub(SinkConformance):
    def spec(self) -> SinkSpec[Any]:
        return github

    def config(self, directory: Path) -> Any:
        return GithubConfig(path=directory / "summary.md", annotations=True)

    def check(self, directory: Path, summary: RunSummary) -> None:
        text = (directory / "summary.md").read_text()
        assert f"{summary.tally.passed} of {summary.tally.planned} passed" in text
        for line in text.splitlines():
            if line.startswith("|"):
                bare = line.replace("\\|", "")
                assert bare.count("|") in (4, 5), line
            assert "<script" not in line
            assert "<img" not in line


@pytest.mark.anyio
async def test_outside_of_a_step_the_step_summary_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    context = SinkContext(tmp_path, tmp_path, io.StringIO())
    with pytest.raises(QuintainError, match="GITHUB_STEP_SUMMARY"):
        async with github.open(GithubConfig(), context):
            pass


@pytest.mark.anyio
async def test_trials_that_never_began_are_errors_of_the_suite(tmp_path: Path) -> None:
    from attrs import evolve
    from quintain.model.run import CaseSummary, Tally

    summary = made_summary([made_report("a")], planned=3, status="interrupted")
    summary = evolve(summary, cases=(*summary.cases, CaseSummary("b", "default", Tally(2, not_started=2))))
    async with junit.open(junit.config(), SinkContext(tmp_path, tmp_path, io.StringIO())) as sink:
        await sink.run_began(made_run(3))
        await sink.trial_ended(made_report("a"))
        await sink.run_ended(summary)
    root = ElementTree.fromstring((tmp_path / "junit.xml").read_bytes())
    assert (root.get("tests"), root.get("errors")) == ("3", "2")


@given(ANY_TEXT)
def test_any_text_survives_xml(text: str) -> None:
    element = ElementTree.Element("x", value=xml_text(text))
    element.text = xml_text(text)
    back = ElementTree.fromstring(ElementTree.tostring(element, encoding="utf-8"))
    assert (back.text or "").replace("\r", "\n") == xml_text(text).replace("\r\n", "\n").replace("\r", "\n")


@given(ANY_TEXT)
def test_any_text_stays_in_its_cell(text: str) -> None:
    found = cell(text)
    assert "\n" not in found
    assert "|" not in found.replace("\\|", "")
    assert "<" not in found
    found.encode()


@given(ANY_TEXT)
def test_any_text_stays_inside_a_workflow_command(text: str) -> None:
    found = command_text(text)
    assert "::" not in found
    assert "\n" not in found
    assert "\r" not in found
