"""In-process trials that do nothing, stored and graded: `no_op.py N`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import quintain
from _peak import peak_mib


async def agent(launch: quintain.Launch) -> str:
    return "ok"


def main() -> None:
    count = int(sys.argv[1])
    answered = quintain.check(lambda evidence: evidence.answer == "ok", id="answered")
    case = quintain.Case("no-op", "Do nothing.", assertions=(answered,))
    run_sync = quintain.run_sync  # it is imported when it is first named, as the peers import theirs before they begin
    began = time.perf_counter()
    result = run_sync(
        [case], driver=quintain.driver_of(agent), repeat=count, concurrency=64, plugins=quintain.Plugins(), store=Path()
    )
    took = time.perf_counter() - began
    assert result.summary.tally.passed == count, result.summary
    print(json.dumps({"rate": count / took, "seconds": took, "peak_mib": peak_mib()}))


main()
