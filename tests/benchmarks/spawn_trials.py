"""Whole trials of a program that ends at once: `spawn_trials.py N CONCURRENCY`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import quintain
from _peak import peak_mib
from _program import COMMAND
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver


def main() -> None:
    count, concurrency = int(sys.argv[1]), int(sys.argv[2])
    answered = quintain.check(lambda evidence: evidence.answer == "ok", id="answered")
    case = quintain.Case("exits-at-once", "Do nothing.", assertions=(answered,))
    driver = subprocess_driver(SubprocessConfig(command=COMMAND))
    began = time.perf_counter()
    result = quintain.run_sync(
        [case], driver=driver, repeat=count, concurrency=concurrency, plugins=quintain.Plugins(), store=Path()
    )
    took = time.perf_counter() - began
    tally = result.summary.tally
    print(json.dumps({"rate": count / took, "completed": f"{tally.passed}/{count}", "peak_mib": peak_mib()}))


main()
