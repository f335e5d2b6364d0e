"""Measures Quintain against baselines on the same machine in the same minutes, and prints JSON.

    python tests/benchmarks/run.py [--quick] [--peers] [--only NAME]... [--check]

Every figure that is judged is a ratio of medians of three or more runs that took turns with their baseline; absolute
rates are printed for the curious. `--check` exits with 1 if a bar is missed. `--peers`
installs inspect-ai and pydantic-evals into `.envs/peers` and runs the same no-op work with them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PEERS = ROOT / ".envs" / "peers"
PEER_PACKAGES = ("inspect-ai==0.3.285", "pydantic-evals==2.62.0")


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def child(script: str, *args: object, python: Path | str = sys.executable) -> dict[str, Any]:
    """Run one measurement in a process of its own, so that memory and imports are its own."""
    with tempfile.TemporaryDirectory(prefix="q-bench-") as folder:
        command = [str(python), str(HERE / script), *map(str, args)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{script} {args} failed:\n{done.stdout}\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def wall(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def cold_start(quick: bool) -> dict[str, Any]:
    """`quintain --version` against the start of Python with argparse."""
    program = Path(sys.executable).parent / "quintain"
    ours, base = [], []
    for _ in range(5 if quick else 15):
        ours.append(wall([str(program), "--version"]))
        base.append(wall([sys.executable, "-c", "import argparse"]))
    return {
        "version_ms": round(median(ours) * 1000, 1),
        "argparse_ms": round(median(base) * 1000, 1),
        "ratio": round(median(ours) / median(base), 2),
        "bar": 2.5,
    }


def in_process(quick: bool) -> dict[str, Any]:
    """No-op trials in this process, everything stored and graded."""
    sizes = (300, 3000) if quick else (1000, 10_000)
    runs = {size: [child("no_op.py", size) for _ in range(3)] for size in sizes}
    rates = {size: median([run["rate"] for run in found]) for size, found in runs.items()}
    small, large = sizes
    return {
        "trials_per_s": {str(size): round(rate) for size, rate in rates.items()},
        "cost_growth": round(rates[small] / rates[large], 2),
        "peak_mib": {str(size): round(median([run["peak_mib"] for run in found]), 1) for size, found in runs.items()},
        "bar": {"cost_growth": 1.25},
    }


def peers(quick: bool) -> dict[str, Any]:
    """The same no-op work with inspect-ai and pydantic-evals, taking turns with ours."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        venv.create(PEERS, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEER_PACKAGES], check=True)
    sizes = (300, 1000) if quick else (1000, 10_000)
    found: dict[str, Any] = {"bar": {"times_inspect": 20, "share_of_pydantic": 0.5}}
    for size in sizes:
        # inspect-ai needs minutes for 10,000; its rate does not depend on their number, so 1,000 stand for both.
        rounds = [
            {
                "quintain": child("no_op.py", size)["rate"],
                "inspect": child("peer_inspect.py", min(size, 1000), python=python)["rate"],
                "pydantic": child("peer_pydantic.py", size, python=python)["rate"],
            }
            for _ in range(3)
        ]
        found[str(size)] = {
            "trials_per_s": {name: round(median([one[name] for one in rounds])) for name in rounds[0]},
            "times_inspect": round(median([one["quintain"] / one["inspect"] for one in rounds]), 1),
            "share_of_pydantic": round(median([one["quintain"] / one["pydantic"] for one in rounds]), 2),
        }
    return found


def subprocesses(quick: bool) -> dict[str, Any]:
    """Trials of a program that ends at once, against asyncio's bare exec-with-pipes of the same program.

    A shell line is the harshest program there is; a Python script is what the smallest real agent costs to start.
    """
    found: dict[str, Any] = {"bar": 0.5}
    for program, size in (("sh", 200 if quick else 1000), ("python", 100 if quick else 400)):
        rounds = [
            (child("spawn_bare.py", program, size, 8)["rate"], child("spawn_trials.py", program, size, 8))
            for _ in range(3 if quick else 5)
        ]
        found[program] = {
            "bare_per_s": round(median([bare for bare, _ in rounds])),
            "trials_per_s": round(median([ours["rate"] for _, ours in rounds])),
            "share": round(median([ours["rate"] / bare for bare, ours in rounds]), 2),
            "completed": [ours["completed"] for _, ours in rounds],
        }
    return found


def memory(quick: bool) -> dict[str, Any]:
    """Peak memory by what one agent writes."""
    sizes = (1, 20) if quick else (1, 20, 200)
    return {f"{size}_mib_output": child("big_output.py", size)["peak_mib"] for size in sizes}


def reopen(quick: bool) -> dict[str, Any]:
    """A stored run is opened and summed up in a process of its own."""
    found = child("reopen.py", 1000 if quick else 10_000)
    return {**found, "bar_s": 1.0}


def reverify(quick: bool) -> dict[str, Any]:
    """A sealed identity with a large program and a large tree is looked at again, against an `lstat` of each file."""
    found = child("reverify.py", *((20, 1000) if quick else (250, 5000)))
    return {**found, "bar_ms": 5.0}


def campaigns(quick: bool) -> dict[str, Any]:
    """Trials of a campaign against those of a run; coming back to it; summing it up."""
    found = child("campaign.py", 1000 if quick else 10_000)
    return {**found, "bar": {"ledger_share": 0.10, "resumed_s": 2.0, "report_s": 1.0, "compare_s": 1.0}}


MEASURES: dict[str, Callable[[bool], dict[str, Any]]] = {
    "cold_start": cold_start,
    "in_process": in_process,
    "peers": peers,
    "subprocesses": subprocesses,
    "memory": memory,
    "reopen": reopen,
    "reverify": reverify,
    "campaigns": campaigns,
}


def _least(found: dict[str, Any], name: str) -> float:
    return min(one[name] for key, one in found.items() if key != "bar")


def missed(found: dict[str, dict[str, Any]]) -> list[str]:
    """Which bars are missed, in words."""
    checks = [
        ("cold_start", lambda f: f["ratio"] <= f["bar"], "`--version` is slower than 2.5 starts of argparse"),
        ("in_process", lambda f: f["cost_growth"] <= 1.25, "the cost of a trial grows with their number"),
        ("peers", lambda f: _least(f, "times_inspect") >= 20, "less than 20 times inspect-ai"),
        ("peers", lambda f: _least(f, "share_of_pydantic") >= 0.5, "less than half of pydantic-evals"),
        ("subprocesses", lambda f: f["sh"]["share"] >= f["bar"], "a shell line: less than half of the bare spawn rate"),
        ("subprocesses", lambda f: f["python"]["share"] >= f["bar"], "a script: less than half of the bare spawn rate"),
        ("reopen", lambda f: f["summary_s"] <= f["bar_s"], "a stored run takes over a second to sum up"),
        ("reverify", lambda f: f["changed_ms"] <= f["bar_ms"], "an unchanged identity takes over 5 ms to verify again"),
        (
            "campaigns",
            lambda f: f["ledger_share"] <= f["bar"]["ledger_share"],
            "the ledger costs over a tenth of a trial",
        ),
        ("campaigns", lambda f: f["resumed_s"] <= f["bar"]["resumed_s"], "resuming takes over 2 s to the first trial"),
        ("campaigns", lambda f: f["report_s"] <= f["bar"]["report_s"], "a campaign takes over a second to report"),
        ("campaigns", lambda f: f["compare_s"] <= f["bar"]["compare_s"], "campaigns take over a second to compare"),
    ]
    return [words for name, ok, words in checks if name in found and not ok(found[name])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a look")
    parser.add_argument("--peers", action="store_true", help="also run other tools; installs them first")
    parser.add_argument("--only", action="append", choices=MEASURES, help="only these")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    args = parser.parse_args()
    names = args.only or [name for name in MEASURES if name != "peers" or args.peers]
    found = {name: MEASURES[name](args.quick) for name in names}
    complaints = missed(found)
    print(json.dumps({**found, "missed": complaints}, indent=2))
    return 1 if args.check and complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
