"""Records what Codex says, for the parser's fixtures: `python tests/drivers_codex/record.py PROGRAM VERSION`.

Each situation becomes one file under `transcripts/VERSION`: what the program wrote, with places, ids and times that mean
nothing replaced. Run it again when another version is pinned, and keep the older files.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models.responses import Responses, call, patch, say, shell, think, turn
from models.server import Turn, in_order, serving
from quintain import Case, Limits, Retry, run
from quintain.runs.store import RunStore
from quintain_driver_codex import codex_driver

FOLDER = Path(__file__).with_name("transcripts")
SERVERS = {"tiny": {"command": "python3", "args": ["-S", str(Path(__file__).with_name("tools.py"))]}}
OPTIONS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
QUESTION = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": OPTIONS}
DONE = turn(say("All done."))
OUTSIDE = turn(shell("touch /outside", sandbox_permissions="require_escalated", justification="it lies outside"))

SITUATIONS: Mapping[str, tuple[Sequence[Turn], Any, Mapping[str, Any]]] = {
    "success": ((turn(think("Simple."), say("All done.")),), "deny", {}),
    "work": ((turn(patch("new.txt", "hello")), turn(shell("cat new.txt; exit 3")), DONE), "deny", {}),
    "declined": ((OUTSIDE, DONE), lambda question: False, {}),
    "question": ((turn(call("request_user_input", questions=[QUESTION])), DONE), lambda question: "Blue", {}),
    "mcp": ((turn(call("add", "tiny", a=1, b=2)), DONE), lambda question: True, {"mcp_servers": SERVERS, "model": "x"}),
    "recovers": ((Turn(status=503), Turn(status=503), Turn(status=503), DONE), "deny", {}),
    "fails": ((Turn(status=400, message="bad input"),), "deny", {}),
}


def cleaned(line: str) -> str:
    """A line without what differs from machine to machine and from time to time."""
    line = re.sub(r"/tmp/[a-z]+-[0-9a-f]+", "/trial", line)
    line = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", line)
    line = re.sub(r'("(?:serverName|installationId|userAgent)":)"([^"/]*/[\w.-]+)?[^"]*"', r'\1"\2"', line)
    line = re.sub(r'("(?:createdAt|updatedAt|recencyAt|\w+At|\w+AtMs)":)\d+', r"\g<1>1", line)
    return re.sub(r'("path":)"/trial/home[^"]*"', r"\1null", line)


async def record(program: str, version: str) -> None:
    """Record all situations."""
    for name, (turns, answerer, config) in SITUATIONS.items():
        with serving(in_order(*turns), Responses()) as models, tempfile.TemporaryDirectory() as store:
            providers = {"model_providers": {"endpoint": {"request_max_retries": 1, "stream_max_retries": 2}}}
            chosen = {"model": "gpt-5.5", "base_url": f"{models.url}/v1", "config": providers, **config}
            result = await run(
                [Case("recorded", "Do it.")],
                driver=codex_driver(executable=program, **chosen),
                store=store,
                answerer=answerer,
                limits=Limits(total_s=30),
                retry=Retry(attempts=1),
            )
            (report,) = result.reports()
            stored = RunStore(result.directory)
            lines = [json.loads(line) for line in stored.raw(report.trial, 1)]
            stored.close()
        said = [cleaned(line["text"]) for line in lines if line["dir"] == "out"]
        (FOLDER / version).mkdir(parents=True, exist_ok=True)
        (FOLDER / version / f"{name}.jsonl").write_text("\n".join(said) + "\n")
        print(version, name, report.outcome.kind, len(said))


if __name__ == "__main__":
    os.environ["OPENAI_API_KEY"] = "sk-test-no-key-at-all"
    asyncio.run(record(sys.argv[1], sys.argv[2]))
