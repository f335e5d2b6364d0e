"""What a campaign found: as lines for a terminal, as Markdown, as plain data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quintain.campaign.account import Charge
from quintain.campaign.report import CampaignReport
from quintain.campaign.words import bounds_words, effect_words, gate_words, number, p_words, signed
from quintain.model.campaign import BASELINE, Budget
from quintain.model.codec import to_plain
from quintain.model.decision import Decision, Effect, Standing
from quintain.model.plain import Json
from quintain.reporting.text import clean, named

_ACTIVE = re.compile(r"([\\`*_\[\]#!|<>&~@]|^[-+]|(?<=^\d)\.|(?<=http)s?:|(?<=www)\.)")


def decision_lines(decision: Decision) -> Iterator[str]:
    """What stands at the end of `quintain experiment`."""
    yield ""
    yield f"decision  {decision.verdict}"
    yield f"          {clean(decision.why)}"
    yield ""
    yield from _table(_overview(decision))
    yield from _section("the evidence does not show", decision.limits)
    yield ""


def report_lines(report: CampaignReport) -> Iterator[str]:
    """The whole report for a terminal."""
    yield f"campaign {report.name}"
    for line in _state(report):
        yield f"    {clean(line)}"
    yield from decision_lines(report.decision)
    for standing in report.decision.standings:
        yield f"{standing.rank}. {standing.candidate}: {_trials(standing)}"
        for line in _details(report, standing):
            yield f"    {clean(line)}"
        yield ""
    for effect in report.decision.confirmed:
        yield f"test: {clean(effect_words(effect))}"
    for candidate, problems in report.rejected.items():
        yield f"refused {candidate}: {clean('; '.join(problems))}"
    yield f"identity {report.identity}"
    yield f"ledger   {report.head}"


def report_markdown(report: CampaignReport) -> str:
    """The whole report as Markdown; what people and agents wrote in it can't become markup."""
    decision = report.decision
    lines = [
        f"# Campaign {escaped(report.name)}",
        "",
        f"**{escaped(str(decision.verdict))}.** {escaped(decision.why)}",
        "",
    ]
    lines += [f"- {escaped(line)}" for line in _state(report)]
    head, *rows = _overview(decision)
    lines += ["", _row(head), _row(["---"] * len(head)), *(_row([escaped(cell) for cell in row]) for row in rows), ""]
    for standing in decision.standings:
        lines += [f"## {standing.rank}\\. {escaped(standing.candidate)}", "", f"- {escaped(_trials(standing))}"]
        lines += [f"- {escaped(line.strip())}" for line in _details(report, standing)]
        lines.append("")
    if decision.confirmed:
        lines += ["## On the test split", "", *(f"- {escaped(effect_words(one))}" for one in decision.confirmed), ""]
    if decision.limits:
        lines += ["## What the evidence does not show", "", *(f"- {escaped(text)}" for text in decision.limits), ""]
    if report.rejected:
        refused = (f"- {escaped(name)}: {escaped('; '.join(why))}" for name, why in report.rejected.items())
        lines += ["## Refused", "", *refused, ""]
    lines += [f"Identity `{report.identity}`, ledger `{report.head}`."]
    return "\n".join(lines) + "\n"


def report_json(report: CampaignReport) -> Json:
    """The whole report as plain data."""
    return {
        "campaign": report.name,
        "status": report.status,
        "reason": report.reason,
        "recorded": report.recorded,
        "decision": to_plain(report.decision),
        "candidates": [to_plain(one) for one in report.candidates],
        "rejected": {name: list(problems) for name, problems in report.rejected.items()},
        "spent": to_plain(report.spent),
        "budget": to_plain(report.budget),
        "open": report.open,
        "wall_s": report.wall_s,
        "sessions": report.sessions,
        "reused": report.reused,
        "identity": report.identity,
        "ledger": report.head,
    }


def escaped(text: str) -> str:
    """A text in Markdown that stays what it is: one line, nothing in it active."""
    return _ACTIVE.sub(r"\\\1", clean(text)).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def _state(report: CampaignReport) -> Iterator[str]:
    word = "finished" if report.status == "finished" else f"{report.status}: {report.reason or 'it has not ended'}"
    yield word if report.recorded else f"{word}; this is what it comes to so far"
    times = "once" if report.sessions == 1 else f"{report.sessions} times"
    yield f"run {times}, {report.wall_s:.0f} s in all; spent {_spent(report.spent, report.budget)}"
    if report.open:
        yield f"{report.open} trials are promised and not settled"
    if report.reused:
        yield f"{report.reused} trials were taken from other campaigns and cost nothing here"
    looks = ", ".join(f"{split} {count} x" for split, count in sorted(report.decision.looks.items()))
    if looks:
        yield f"results were looked at: {looks}"


def _spent(spent: Charge, budget: Budget) -> str:
    def of(value: str, limit: str | None) -> str:
        return value if limit is None else f"{value} of {limit}"

    usd = of(f"${spent.usd:.4f}", None if budget.usd is None else f"${budget.usd:.4f}")
    if spent.unpriced:
        usd += f" ({spent.unpriced} attempts of unknown cost at their bound)"
    tokens = of(f"{spent.tokens}", None if budget.tokens is None else f"{budget.tokens}")
    attempts = of(f"{spent.attempts}", None if budget.trials is None else f"{budget.trials}")
    return f"{usd}, {tokens} tokens, {attempts} attempts"


def _overview(decision: Decision) -> list[list[str]]:
    """A table: a line for each candidate."""
    names = [effect.objective.metric for effect in next((one.effects for one in decision.standings if one.effects), ())]
    rows = [["", "candidate", "trials", "missing", "cost", "constraints", *names]]
    for one in decision.standings:
        met = "-" if not one.gates else {True: "met", False: "not met", None: "unknown"}[one.eligible]
        cells = ["" for _ in names] if one.candidate == BASELINE else [_short(effect) for effect in one.effects]
        counts = [f"{one.scored}/{one.planned}", str(one.missing), one.spend.cost.describe(), met]
        rows.append([str(one.rank), one.candidate, *counts, *cells])
    return rows


def _short(effect: Effect) -> str:
    return f"{signed(effect.difference.estimate)} {bounds_words(effect.difference)} {effect.finding}"


def _trials(one: Standing) -> str:
    return f"{one.scored} of {one.planned} trials have a verdict, spent {one.spend.cost.describe()}, {one.bytes} bytes"


def _details(report: CampaignReport, one: Standing) -> Iterator[str]:
    why = next((candidate.rationale for candidate in report.candidates if candidate.id == one.candidate), "")
    if why and one.candidate != BASELINE:
        yield f"why: {why}"
    if one.stopped:
        yield f"run no further: {one.stopped}"
    if one.missing:
        yield f"pass rate {number(one.worst_case)} to {number(one.best_case)}, whatever the missing would have been"
    if one.missing_trials:
        yield f"missing: {named(one.missing_trials)}"
    for gate in one.gates:
        word = {True: "met", False: "NOT MET", None: "unknown"}[gate.met]
        yield f"{word}: {gate_words(gate)}"
    for effect in one.effects:
        yield f"{effect.finding}: {effect_words(effect)}"
        yield f"    {effect.difference.method}, {effect.difference.level:.0%}; {effect.test.method}, {p_words(effect.test)}"
        if effect.improved:
            yield f"    improved: {named(effect.improved)}"
        if effect.regressed:
            yield f"    regressed: {named(effect.regressed)}"
        if effect.unpaired:
            yield f"    without a pair: {named(effect.unpaired)}"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _section(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield ""
        yield title
        for text in texts:
            yield f"    {clean(text)}"
