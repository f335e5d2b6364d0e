"""Agents that give away the secret they were given: it is in nothing that is kept."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import quintain
from quintain import Case, Event, Isolation, Launch, Limits, Plugins, Ready, Retry, TrialReport
from quintain.runs.store import RunStore
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

pytestmark = pytest.mark.anyio

KEY = "s3cr3t/+CANARY=="
FORMS = (KEY, base64.b64encode(KEY.encode()).decode(), quote(KEY, safe=""), quote(KEY), KEY.replace("/", "_"), "CANARY")

TELLS_ALL = """
import base64, json, os, urllib.parse
k = os.environ["API_KEY"]
def emit(type, **fields): print(json.dumps({"type": type, **fields}), flush=True)
emit("ready")
emit("message", text="key: " + k)
emit("message", text=base64.b64encode(b"user:" + k.encode()).decode())
emit("message", text=urllib.parse.quote(k, safe=""))
emit("tool_call", id="1", name="sh", input={"env": {k: [k]}, "line": json.dumps({"k": k})})
emit("something-new", nested=[k])
print("banner", k, flush=True)
os.write(2, k.encode() + b"\\n")
open("log.txt", "w").write(k)
open("n_" + k.replace("/", "_"), "w").close()
os.makedirs("art")
open("art/dump.json", "w").write(json.dumps({"k": k}))
open("art/binary", "wb").write(bytes(range(256)) + k.encode() + b"\\xff")
os.symlink(k, "link")
emit("done", text=k)
"""

BREAKS = """
import os, sys
k = os.environ["API_KEY"]
print('{"type":"ready"}', flush=True)
print('{"type":"done","broken": ' + k, flush=True)
print('{"type":"message","text":{"' + k + '":1}}', flush=True)
sys.stderr.write("Traceback: ValueError: bad key " + k + "\\n")
sys.exit(3)
"""


@pytest.fixture(autouse=True)
def the_host_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", KEY)


async def run(driver: Any, store: Path) -> TrialReport:
    result = await quintain.run(
        [Case("one", "Do it.")],
        driver=driver,
        store=store,
        plugins=Plugins(),
        isolation=Isolation(secrets=("API_KEY",)),
        retry=Retry(attempts=1),
        limits=Limits(total_s=60, linger_s=1.0, grace_s=0.5),
    )
    (report,) = result.reports()
    return report


def program(text: str) -> Any:
    return subprocess_driver(SubprocessConfig(command=(sys.executable, "-c", text), helper=False))


def kept(store: Path) -> dict[str, bytes]:
    """Everything under the store: names and contents."""
    found = {}
    for folder, _, names in os.walk(store):
        for name in names:
            path = Path(folder, name)
            found[str(path.relative_to(store))] = path.read_bytes()
    return found


def assert_nothing_given_away(store: Path, report: TrialReport) -> None:
    files = kept(store)
    assert files
    for form in FORMS:
        assert form not in str(report)
        for name, content in files.items():
            assert form not in name
            assert form.encode() not in content, f"{form} in {name}"
            assert form.encode("utf-16-le") not in content


async def test_a_key_that_an_agent_tells_in_every_way_is_in_nothing_that_is_kept(tmp_path: Path) -> None:
    report = await run(program(TELLS_ALL), tmp_path)
    assert report.outcome.kind == "completed"
    assert report.last.answer == "[redacted:API_KEY]"
    assert report.last.stderr == "[redacted:API_KEY]\n"
    assert_nothing_given_away(tmp_path, report)
    assert b'{"k": "[redacted:API_KEY]"}' in kept(tmp_path).values(), "the content of a file, still JSON"


async def test_a_trace_with_a_key_in_it_is_still_a_trace(tmp_path: Path) -> None:
    report = await run(program(TELLS_ALL), tmp_path)
    (directory,) = (tmp_path / "runs").iterdir()
    store = RunStore(directory)
    text = "\n".join(str(line.event) for line in store.trace(report.trial, 1))
    raw = [json.loads(line) for line in store.raw(report.trial, 1)]
    store.close()
    assert text.count("[redacted:API_KEY]") >= 7
    protocol = [json.loads(line["text"]) for line in raw if line.get("text", "").startswith("{")]
    assert {"type": "message", "text": "key: [redacted:API_KEY]"} in protocol, "what was JSON is JSON"


async def test_a_key_in_errors_and_broken_lines_is_in_nothing_that_is_kept(tmp_path: Path) -> None:
    report = await run(program(BREAKS), tmp_path)
    assert report.outcome.kind == "agent_failed"
    assert "[redacted:API_KEY]" in report.last.stderr
    assert_nothing_given_away(tmp_path, report)


@pytest.mark.parametrize("error", [ValueError, quintain.LaunchError, OSError])
async def test_a_key_in_what_a_driver_raises_is_in_nothing_that_is_kept(tmp_path: Path, error: type[Exception]) -> None:
    async def agent(launch: Launch) -> AsyncIterator[Event]:
        yield Ready("fake")
        raise error(f"401 for key {os.environ['API_KEY']}")

    report = await run(quintain.driver_of(agent), tmp_path)
    assert report.outcome.kind == "infrastructure"
    assert "401 for key [redacted:API_KEY]" in report.outcome.reason
    assert_nothing_given_away(tmp_path, report)
