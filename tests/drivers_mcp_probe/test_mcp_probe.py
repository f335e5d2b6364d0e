"""The probe asks a server what it is told to ask, and says at which step a bad one went wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from quintain import Bound, Case, Event, Failed, IdentityContext, Log, PolicyViolation, Ready, ToolResult
from quintain.api import run
from quintain.model.case import Assertion
from quintain.model.limits import Limits, Retry
from quintain.runs.store import RunStore
from quintain.testing._driver import DriverConformance
from quintain_driver_mcp_probe import ProbeConfig, Step, mcp_probe

pytestmark = pytest.mark.anyio

PRELUDE = """
import json, os, sys, threading, time
def rd():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    return json.loads(line)
def wr(id, result): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
def hello():
    r = rd()
    wr(r["id"], {"protocolVersion": r["params"]["protocolVersion"], "capabilities": {"tools": {}},
                 "serverInfo": {"name": "fake", "version": "1"}})
def serve(call, tools={"tools": [TOOL]}):
    hello()
    while True:
        r = rd()
        if "id" not in r: continue
        if r["method"] == "tools/list": wr(r["id"], tools)
        else: wr(r["id"], call(r))
def text(said): return {"content": [{"type": "text", "text": said}]}
"""
ECHO = "serve(lambda r: text(r['params']['arguments'].get('text', 'ok')))"

WRITTEN_WITH_MCP = """
from mcp.server import MCPServer
server = MCPServer("real", version="3")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
@server.tool()
def broken() -> str:
    raise ValueError("no")
@server.resource("note://one")
def note() -> str:
    return "a note"
@server.prompt()
def greet(who: str) -> str:
    return "hello " + who
server.run()
"""


def server(place: Path, code: str, *steps: Step, **settings: Any) -> Bound[ProbeConfig]:
    path = place / "server.py"
    path.write_text(code)
    return mcp_probe(command=(sys.executable, str(path)), steps=steps, **settings)


async def probed(bound: Bound[ProbeConfig], place: Path) -> Sequence[Event]:
    limits = Limits(total_s=60.0, linger_s=1.0, grace_s=0.5)
    result = await run([Case("c", "-")], driver=bound, store=place / "store", retry=Retry(attempts=1), limits=limits)
    (report,) = result.reports()
    store = RunStore(result.directory)
    try:
        return [line.event for line in store.trace(report.trial, report.last.number)]
    finally:
        store.close()


def only(kind: type[Any], events: Sequence[Event]) -> Any:
    (found,) = [event for event in events if isinstance(event, kind)]
    return found


async def reason(bound: Bound[ProbeConfig], place: Path) -> str:
    return str(only(Failed, await probed(bound, place)).reason)


CALL = Step("call", tool="echo")
ASK = """
def request(method, params):
    print(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}), flush=True)
def elicit():
    schema = {"type": "object", "properties": {"it": {"type": "string"}}}
    request("elicitation/create", {"message": "which?", "requestedSchema": schema})
"""


class TestProbe(DriverConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.place: Path = tmp_path_factory.mktemp("servers")

    def completing(self) -> Bound[Any]:
        return server(self.place, PRELUDE + ECHO, CALL)

    def using_tools(self) -> Bound[Any]:
        return server(self.place, PRELUDE + ECHO, CALL, CALL)

    def hanging(self) -> Bound[Any]:
        return server(self.place, "import time; time.sleep(600)")

    def failing(self) -> Bound[Any]:
        return server(self.place, PRELUDE + "serve(lambda r: os._exit(3))", CALL)

    def asking(self) -> Bound[Any]:
        code = "def call(r):\n    elicit()\n    return text(rd()['result']['content']['it'])\nserve(call)"
        return server(self.place, PRELUDE + ASK + code, CALL)

    def dying_while_asking(self) -> Bound[Any]:
        return server(self.place, PRELUDE + ASK + "def call(r):\n    elicit()\n    os._exit(1)\nserve(call)", CALL)

    def printing(self, variable: str) -> Bound[Any]:
        code = f"secret = os.environ[{variable!r}]\nprint(secret, flush=True)\nprint(secret, file=sys.stderr)\n"
        return server(self.place, PRELUDE + code + "serve(lambda r: text(secret))", CALL)


async def test_a_server_written_with_the_official_package_answers_every_kind_of_step(tmp_path: Path) -> None:
    steps = (
        Step("list-tools"),
        Step("list-resources"),
        Step("list-templates"),
        Step("list-prompts"),
        Step("call", tool="add", args={"a": 1, "b": 2}, name="sum"),
        Step("call", tool="add", args={"a": {"$from": "sum", "$at": "/structuredContent/result"}, "b": 4}),
        Step("read", uri="note://one"),
        Step("get-prompt", prompt="greet", args={"who": "you"}),
        Step("ping"),
        Step("call", tool="broken", fails=True),
        Step("read", uri="note://none", fails=True),
    )
    events = await probed(server(tmp_path, WRITTEN_WITH_MCP, *steps), tmp_path)
    results = [event for event in events if isinstance(event, ToolResult)]
    assert not [event for event in events if isinstance(event, Failed)]
    assert [result.text for result in results[4:7]] == ["3", "7", "a note"]
    assert [result.error for result in results] == [False] * 9 + [True] * 2
    mcp = only(Ready, events).detail["mcp"]
    assert mcp["server"]["name"] == "real"
    assert [tool["name"] for tool in mcp["tools"]] == ["add", "broken"]


async def test_steps_of_one_group_run_at_the_same_time(tmp_path: Path) -> None:
    code = PRELUDE + (
        "hello(); waiting = []\nwhile True:\n    r = rd()\n    if 'id' not in r: continue\n"
        "    if r['method'] == 'tools/list': wr(r['id'], {'tools': [TOOL]}); continue\n"
        "    waiting.append(r['id'])\n"
        "    if len(waiting) == 2: [wr(id, text('both')) for id in waiting]\n"
    )
    steps = [Step("call", tool="echo", together="pair")] * 2
    events = await probed(server(tmp_path, code, *steps, step_s=20.0), tmp_path)
    assert [event.text for event in events if isinstance(event, ToolResult)] == ["both", "both"]


async def test_what_a_server_prints_beside_the_protocol_is_noted_and_does_no_harm(tmp_path: Path) -> None:
    events = await probed(server(tmp_path, PRELUDE + "print('[INFO] ready')\n" + ECHO, CALL), tmp_path)
    assert "[INFO] ready" in [event.text for event in events if isinstance(event, Log)]
    assert only(ToolResult, events).text == "ok"


async def test_the_workspace_is_the_root(tmp_path: Path) -> None:
    code = (
        ASK
        + "def call(r):\n    request('roots/list', {})\n    return text(rd()['result']['roots'][0]['name'])\nserve(call)"
    )
    assert only(ToolResult, await probed(server(tmp_path, PRELUDE + code, CALL), tmp_path)).text == "workspace"


async def test_a_server_that_never_answers_is_given_up_at_the_first_request(tmp_path: Path) -> None:
    bound = server(tmp_path, "import time; time.sleep(600)", initialize_s=0.5)
    assert await reason(bound, tmp_path) == "initialize: no answer within 0.5 s"


async def test_a_server_that_ends_at_once_is_not_waited_for(tmp_path: Path) -> None:
    said = await reason(server(tmp_path, "import sys; sys.exit('no licence')"), tmp_path)
    assert said == "initialize: the server ended (exit status 1)"


async def test_a_server_that_dies_inside_a_call_is_named_with_the_step(tmp_path: Path) -> None:
    said = await reason(server(tmp_path, PRELUDE + "serve(lambda r: os._exit(3))", CALL), tmp_path)
    assert said == "step 1 (call echo): the server ended (exit status 3)"


async def test_an_answer_of_fifty_megabytes_is_bounded(tmp_path: Path) -> None:
    said = await reason(server(tmp_path, PRELUDE + "serve(lambda r: text('x' * 50_000_000))", CALL), tmp_path)
    assert said.startswith("step 1 (call echo): the answer has 50,000,")


async def test_a_cursor_that_does_not_move_is_noticed(tmp_path: Path) -> None:
    code = PRELUDE + "serve(None, {'tools': [TOOL], 'nextCursor': 'same'})"
    assert await reason(server(tmp_path, code), tmp_path) == "tools/list: tools/list gave the cursor 'same' twice"


async def test_a_call_that_overruns_and_a_server_that_will_not_die_are_ended(tmp_path: Path) -> None:
    code = PRELUDE + "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve(lambda r: time.sleep(600))"
    said = await reason(server(tmp_path, code, CALL, step_s=0.5), tmp_path)
    assert said == "step 1 (call echo): no answer within 0.5 s"


async def test_a_step_that_should_fail_and_does_not_fails_the_probe(tmp_path: Path) -> None:
    said = await reason(server(tmp_path, PRELUDE + ECHO, Step("call", tool="echo", fails=True)), tmp_path)
    assert said == "step 1 (call echo): it was to fail and did not"


async def test_a_reference_to_nothing_is_named(tmp_path: Path) -> None:
    step = Step("call", tool="echo", args={"text": {"$from": "none"}})
    said = await reason(server(tmp_path, PRELUDE + ECHO, step), tmp_path)
    assert said == "step 1 (call echo): no earlier step is named 'none'"


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"command": ("server",)}, "command"),
        ({"command": ("/bin/server", "x")}, "command"),
        ({"command": ("/bin/server",), "env": {"A": "b"}}, "env"),
    ],
)
def test_an_experiment_refuses_what_is_in_no_digest(settings: dict[str, Any], where: str) -> None:
    with pytest.raises(PolicyViolation) as refused:
        mcp_probe.experiment.prepare(ProbeConfig(**settings))
    assert refused.value.where == where


async def test_the_interpreter_of_a_script_is_part_of_the_identity(tmp_path: Path) -> None:
    script = tmp_path / "server.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    context = IdentityContext(tmp_path, {"PATH": "/bin"}, lambda path: str(path), lambda path: str(path))
    found = await mcp_probe.experiment.identity(ProbeConfig((str(script),)), context)
    assert found == {"interpreter": {"sh": "/bin/sh"}}


@pytest.mark.parametrize("op", ["call", "read", "get-prompt", "complete", "set-level"])
def test_a_step_without_its_subject_is_refused(op: Any) -> None:
    with pytest.raises(ValueError, match=f"a step `{op}` needs"):
        Step(op)


@pytest.mark.parametrize(
    ("kind", "config", "passes"),
    [
        ("mcp_server", {"name": "fake"}, True),
        ("mcp_server", {"name": "other"}, False),
        ("mcp_tool_listed", {"name": "echo"}, True),
        ("mcp_tool_count", {"min": 2}, False),
        ("mcp_capability_absent", {"capability": "prompts"}, True),
        ("mcp_capability_absent", {"capability": "tools"}, False),
    ],
)
async def test_the_assertions_on_tool_servers_see_what_the_probe_saw(
    tmp_path: Path, kind: str, config: dict[str, str | int], passes: bool
) -> None:
    case = Case("c", "-", assertions=(Assertion(kind, config),))
    result = await run([case], driver=server(tmp_path, PRELUDE + ECHO), store=tmp_path / "store")
    (report,) = result.reports()
    assert report.grade is not None
    assert report.grade.passed is passes
