"""Whole trials of a program that ends at once: `spawn_trials.py PROGRAM N CONCURRENCY`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import quintain
from _peak import peak_mib
from _program import COMMANDS
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver


def main() -> None:
    program, count, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    answered = quintain.check(lambda evidence: evidence.answer == "ok", id="answered")
    case = quintain.Case("exits-at-once", "Do nothing.", assertions=(answered,))
    driver = subprocess_driver(SubprocessConfig(command=COMMANDS[program], helper=False))
    run_sync = quintain.run_sync  # it is imported when it is first named
    began = time.perf_counter()
    result = run_sync(
        [case], driver=driver, repeat=count, concurrency=concurrency, plugins=quintain.Plugins(), store=Path()
    )
    took = time.perf_counter() - began
    tally = result.summary.tally
    print(json.dumps({"rate": count / took, "completed": f"{tally.passed}/{count}", "peak_mib": peak_mib()}))


main()
