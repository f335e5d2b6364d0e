"""Trials of a campaign against the same trials of a run, and what it takes to come back to it: `campaign.py N`.

Both lay out one small file and grade; the difference is the ledger: promises, settlements, digests, looks at conditions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import quintain

CASES = 100
CONCURRENCY = 8


async def agent(launch: quintain.Launch) -> AsyncIterator[quintain.Event]:
    """Does nothing, and says what it cost."""
    yield quintain.Ready(agent="agent")
    yield quintain.Used(quintain.Usage(tokens=quintain.Tokens(10, 0, 0, 5), cost=quintain.Cost.known(0.001)))
    yield quintain.Done("ok")


def cases(fixtures: Path | None, count: int) -> tuple[quintain.Case, ...]:
    assertion = quintain.Assertion("answer_equals", {"text": "ok"})
    return tuple(quintain.Case(f"c{n}", f"Do {n}.", fixtures=fixtures, assertions=(assertion,)) for n in range(count))


def run_rate(folder: Path, subject: Path, trials: int) -> float:
    began = time.perf_counter()
    result = quintain.run_sync(
        cases(subject, CASES),
        driver=quintain.driver_of(agent),
        repeat=trials // CASES,
        concurrency=CONCURRENCY,
        store=folder / "runs",
    )
    assert result.summary.tally.passed == trials, result.summary
    return trials / (time.perf_counter() - began)


def campaign(subject: Path, trials: int, budget: int | None = None) -> quintain.Campaign:
    return quintain.Campaign(
        "bench",
        quintain.Subject(subject, ("*.md",)),
        (quintain.Profile("default", quintain.Plug("agent")),),
        {"validation": quintain.Split(cases(None, CASES))},
        variants=(quintain.Variant("other", text={"prompt.md": "other"}),),
        repetitions=quintain.Repetitions(1, trials // CASES // 2),
        budget=quintain.Budget(trials=budget),
    )


def main() -> None:
    trials = int(sys.argv[1])
    folder = Path.cwd()
    subject = folder / "subject"
    subject.mkdir()
    (subject / "prompt.md").write_text("prompt")
    plugins = quintain.Plugins.from_entry_points().with_(quintain.driver_of(agent))
    rates = []
    for _ in range(2):
        rates.append(run_rate(folder, subject, trials))

    async def begin() -> quintain.CampaignResult:
        return await quintain.run_campaign(
            campaign(subject, trials, trials - 1), plugins=plugins, store=folder / "store", concurrency=CONCURRENCY
        )

    began = time.perf_counter()
    result = anyio.run(begin)
    took = time.perf_counter() - began
    assert result.status == "budget", result
    resumed: list[float] = []

    async def told(settlement: object) -> None:
        resumed.append(time.perf_counter())

    async def resume() -> quintain.CampaignResult:
        return await quintain.run_campaign(
            campaign(subject, trials),
            plugins=plugins,
            store=folder / "store",
            resume=result.directory,
            on_trial=told,
        )

    again = time.perf_counter()
    result = anyio.run(resume)
    assert result.status == "finished", result
    program = str(Path(sys.executable).parent / "quintain")
    walls = {}
    for name, words in {
        "report": ["report", str(result.directory), "--json"],
        "compare": ["compare", str(result.directory), str(result.directory), "--json"],
        "verify": ["verify", str(result.directory), "--json"],
    }.items():
        began = time.perf_counter()
        subprocess.run([program, *words], check=False, stdout=subprocess.DEVNULL)
        walls[name] = round(time.perf_counter() - began, 3)
    rate = (trials - 1) / took
    figures = {
        "trials": trials,
        "run_per_s": round(max(rates)),
        "campaign_per_s": round(rate),
        "ledger_share": round(1 - rate / max(rates), 3),
        "resumed_s": round(resumed[0] - again, 3),
        **{f"{name}_s": wall for name, wall in walls.items()},
    }
    print(json.dumps(figures))


main()
