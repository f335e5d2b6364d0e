"""An identity with a program of so many MiB and a tree of so many files is verified again: `reverify.py MIB FILES`.

Prints the median of one look at the sealed conditions beside what it costs to `lstat` every file, in the same process.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import quintain
from attrs import evolve
from quintain.conditions import conditions_of
from quintain.functions import DENY
from quintain.identity.cache import DigestCache
from quintain.runs.plan import make_plan
from quintain.workspace.blobs import BlobStore

HERE = Path.cwd()
TREE = HERE / "skills"
PROGRAM = HERE / "agent"
ROUNDS = 200


async def agent(launch: quintain.Launch) -> str:
    return "nothing is run here"


async def reads(config: Any, context: quintain.IdentityContext) -> Mapping[str, Any]:
    return {"skills": context.digest_tree(TREE)}


DRIVER: quintain.DriverSpec[Any] = evolve(
    quintain.driver_of(agent, name="agent"),
    runtime=lambda config: quintain.Runtime(executables=(quintain.Executable(str(PROGRAM), version_args=None),)),
    experiment=quintain.ExperimentPolicy("1", lambda config: config, reads),
)


def make(mib: int, files: int) -> None:
    with PROGRAM.open("wb") as program:
        for _ in range(mib):
            program.write(os.urandom(1 << 20))
    PROGRAM.chmod(0o755)
    for number in range(files):
        path = TREE / f"{number // 100}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")


def look_at_each() -> None:
    for folder, _, names in os.walk(TREE):
        for name in names:
            os.lstat(f"{folder}/{name}")
    PROGRAM.stat()


async def timed(call: Callable[[], Awaitable[object]], rounds: int) -> float:
    walls = []
    for _ in range(rounds):
        began = time.perf_counter()
        await call()
        walls.append(time.perf_counter() - began)
    return statistics.median(walls)


async def main() -> None:
    mib, files = int(sys.argv[1]), int(sys.argv[2])
    make(mib, files)
    plugins = quintain.Plugins.of(DRIVER).with_(DENY)
    case, profile = quintain.Case("c", "Do it."), quintain.Profile("p", quintain.Plug("agent"))
    plan = make_plan([case], [profile], plugins, BlobStore(HERE / "blobs"))
    await anyio.sleep(0.1)
    began = time.perf_counter()
    conditions = await conditions_of(plan.templates, plugins, dict(os.environ), DigestCache(), b"salt")
    first = time.perf_counter() - began

    async def each() -> None:
        look_at_each()

    began = time.perf_counter()
    async with conditions.watch() as watch:
        sealed = time.perf_counter() - began
        assert await watch.changed() == ()
        ours = await timed(watch.changed, ROUNDS)
        stats = await timed(each, 11)
        (TREE / "0" / "0.md").write_text("x\n")
        told = [one.name for one in await watch.changed()]
    assert told == ["profiles.p.driver.agent.skills/0/0.md"], told
    print(
        json.dumps(
            {
                "changed_ms": round(ours * 1000, 3),
                "lstat_ms": round(stats * 1000, 1),
                "share": round(ours / stats, 4),
                "first_s": round(first, 2),
                "seal_s": round(sealed, 2),
            }
        )
    )


anyio.run(main)
