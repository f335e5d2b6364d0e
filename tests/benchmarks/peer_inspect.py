"""The no-op work with inspect-ai: `peer_inspect.py N`."""

from __future__ import annotations

import json
import sys
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import solver


@solver
def no_op():
    async def solve(state, generate):
        state.output.completion = "ok"
        return state

    return solve


def main() -> None:
    count = int(sys.argv[1])
    samples = [Sample(input="Do nothing.", target="ok", id=number) for number in range(count)]
    task = Task(dataset=MemoryDataset(samples), solver=no_op(), scorer=match())
    began = time.perf_counter()
    (log,) = eval(task, model="mockllm/model", display="none", max_samples=64, log_dir="logs")
    took = time.perf_counter() - began
    assert log.status == "success", log.error
    print(json.dumps({"rate": count / took}))


main()
