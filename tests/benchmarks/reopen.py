"""A run of N trials, opened and summed up by the command line: `reopen.py N`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import quintain


async def agent(launch: quintain.Launch) -> str:
    return "ok"


def main() -> None:
    case = quintain.Case("no-op", "Do nothing.", assertions=(quintain.check(lambda evidence: True, id="fine"),))
    count = int(sys.argv[1])
    quintain.run_sync(
        [case], driver=quintain.driver_of(agent), repeat=count, concurrency=64, plugins=quintain.Plugins()
    )
    program = str(Path(sys.executable).parent / "quintain")
    walls = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([program, "show", "last", "--json"], check=False, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - began)
    print(json.dumps({"trials": count, "summary_s": round(sorted(walls)[1], 3)}))


main()
