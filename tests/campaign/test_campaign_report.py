"""The report says what was decided and why, in three forms, and nothing that people wrote can break out of it."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from campaign.campaigns import Agent, campaign_in, run
from hypothesis import given
from hypothesis import strategies as st
from quintain.campaign.ledger import Ledger
from quintain.campaign.report import CampaignReport, report_of
from quintain.model.campaign import Budget, Constraint, Variant
from quintain.model.decision import Verdict
from quintain.reporting.campaign import escaped, report_json, report_lines, report_markdown
from quintain.testing import HOSTILE

pytestmark = pytest.mark.anyio


def reported(directory: Path) -> CampaignReport:
    with closing(Ledger(directory)) as ledger:
        return report_of(ledger)


async def test_a_report_has_the_decision_and_all_that_it_rests_on(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, cases=12, test=12, constraints=(Constraint("pass_rate", min=0.4),))
    result = await run(campaign, Agent([]), tmp_path)
    report = reported(result.directory)
    assert report.decision == result.decision
    assert report.recorded
    text = "\n".join(report_lines(report))
    for expected in (
        "decision  promote",
        result.decision.why,
        "test 1 x, validation 2 x",
        "met: pass_rate is 1",
        "NOT MET: pass_rate is 0",
        "improved: validation/",
        "regressed: validation/",
        report.identity,
        report.head,
    ):
        assert expected in text
    plain = json.loads(json.dumps(report_json(report)))
    assert plain["decision"]["verdict"] == "promote"
    assert plain["spent"]["attempts"] == 12 * 3 * 2 + 12 * 2 * 2
    page = report_markdown(report)
    assert page.startswith("# Campaign ")
    assert page.count("\n| ") == 2 + 3


async def test_what_has_not_ended_is_reported_as_far_as_it_is(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, budget=Budget(trials=9))
    result = await run(campaign, Agent([]), tmp_path)
    report = reported(result.directory)
    assert report.decision.verdict is Verdict.INCOMPLETE
    assert "budget: budget.trials" in "\n".join(report_lines(report))
    with closing(Ledger(result.directory, write=True)) as ledger:
        await ledger.add(("session", "2", {}))
    assert "this is what it comes to so far" in "\n".join(report_lines(reported(result.directory)))


async def test_hostile_words_stay_words(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, cases=2, variants=(Variant("x", text={"prompt.md": "1"}, rationale=HOSTILE),))
    result = await run(campaign, Agent([]), tmp_path)
    report = reported(result.directory)
    for text in ("\n".join(report_lines(report)), report_markdown(report)):
        assert "\x1b" not in text
        assert "\x00" not in text
    page = report_markdown(report)
    assert "<img" not in page
    assert "</script>" not in page
    evolved = evolve(
        report, decision=evolve(report.decision, why=HOSTILE, limits=(HOSTILE,)), rejected={"y": (HOSTILE,)}
    )
    assert "<img" not in report_markdown(evolved)
    assert re.search(r"(?<!\\)`x`", report_markdown(evolved)) is None
    table = [line for line in report_markdown(evolved).splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1


@given(st.text())
def test_whatever_is_written_is_one_line_without_markup(text: str) -> None:
    made = escaped(text)
    assert "\n" not in made
    assert "<" not in made
    assert re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]|~]", made) is None
