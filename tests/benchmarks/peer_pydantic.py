"""The no-op work with pydantic-evals: `peer_pydantic.py N`."""

from __future__ import annotations

import json
import sys
import time

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected


async def no_op(prompt: str) -> str:
    return "ok"


def main() -> None:
    count = int(sys.argv[1])
    cases = [Case(name=str(number), inputs="Do nothing.", expected_output="ok") for number in range(count)]
    dataset = Dataset(name="no-op", cases=cases, evaluators=[EqualsExpected()])
    began = time.perf_counter()
    report = dataset.evaluate_sync(no_op, max_concurrency=64, progress=False)
    took = time.perf_counter() - began
    assert len(report.cases) == count
    print(json.dumps({"rate": count / took}))


main()
