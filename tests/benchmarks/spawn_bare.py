"""asyncio's exec with pipes and nothing else: `spawn_bare.py N CONCURRENCY`."""

from __future__ import annotations

import asyncio
import json
import sys
import time

from _program import COMMAND


async def main() -> None:
    count, concurrency = int(sys.argv[1]), int(sys.argv[2])
    numbers = iter(range(count))

    async def work() -> None:
        for _ in numbers:
            process = await asyncio.create_subprocess_exec(
                *COMMAND,
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
