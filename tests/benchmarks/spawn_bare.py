"""asyncio's exec with pipes and nothing else: `spawn_bare.py PROGRAM N CONCURRENCY`."""

from __future__ import annotations

import asyncio
import json
import sys
import time

from _program import COMMANDS


async def main() -> None:
    program, count, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    numbers = iter(range(count))

    async def work() -> None:
        for _ in numbers:
            process = await asyncio.create_subprocess_exec(
                *COMMANDS[program],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, _err = await process.communicate()
            assert b"done" in out

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    print(json.dumps({"rate": count / (time.perf_counter() - began)}))


asyncio.run(main())
