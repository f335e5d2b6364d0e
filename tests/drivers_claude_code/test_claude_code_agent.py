"""The real Claude Code works on trials end to end, talking to a scripted model that also fails as real ones do."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from drivers_claude_code import wrapper
from models.anthropic import USAGE, call, prompts, results, say, think, turn
from models.server import ModelServer, Request, Turn, by_turn, in_order
from quintain import (
    Answer,
    Asked,
    Done,
    Failure,
    Limits,
    Message,
    OutcomeKind,
    Question,
    Ready,
    Reasoning,
    ToolCall,
    ToolResult,
    Used,
)

pytestmark = pytest.mark.anyio

TOOL_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {}
    if asked["method"] == "initialize":
        answer = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        answer["serverInfo"] = {"name": "sums", "version": "1"}
    elif asked["method"] == "tools/list":
        schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
        answer = {"tools": [{"name": "add", "description": "Adds.", "inputSchema": schema}]}
    elif asked["method"] == "tools/call":
        given = asked["params"]["arguments"]
        answer = {"content": [{"type": "text", "text": "the sum is %d" % (given["a"] + given["b"])}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


@pytest.fixture
def anyio_backend() -> str:
    # The conformance suite runs the real program on both loops; what it does here does not depend on them.
    return "asyncio"


async def test_it_edits_files_runs_commands_and_reports_all_of_it(server: ModelServer, trial: Any) -> None:
    def script(request: Request) -> Turn:
        steps = (
            turn(think("let me see"), say("I write."), call("Write", "t1", file_path="PLACE/a.txt", content="one\n")),
            turn(call("Edit", "t2", file_path="PLACE/a.txt", old_string="one", new_string="two")),
            turn(call("Bash", "t3", command="cat a.txt; exit 3")),
            turn(say("finished"), usage={**USAGE, "output_tokens": 50}),
        )
        return in_place(request, steps[request.turns])

    server.script = script
    ran = await trial()
    assert ran.report.outcome.kind is OutcomeKind.COMPLETED, ran.report.outcome
    assert ran.files == {"a.txt": "two\n"}
    assert ran.report.last.answer == "finished"
    assert [(one.name, one.id) for one in ran.of(ToolCall)] == [("Write", "t1"), ("Edit", "t2"), ("Bash", "t3")]
    shell = ran.of(ToolResult)[-1]
    assert (shell.id, shell.name, shell.error, shell.denied) == ("t3", "Bash", True, False)
    assert "two" in shell.text
    assert [one.text for one in ran.of(Reasoning)] == ["let me see"]
    assert [one.text for one in ran.of(Message)] == ["I write.", "finished"]
    (ready,) = ran.of(Ready)
    assert (ready.agent, ready.version, ready.model) == ("claude-code", "2.1.197", "claude-sonnet-4-5")
    assert ready.session
    spend = ran.report.spend.agent
    assert (spend.tokens.input, spend.tokens.output, spend.calls) == (400, 71, 4)
    assert spend.complete
    assert not spend.problems
    assert spend.cost.usd > 0


def in_place(request: Request, one: Turn) -> Turn:
    """The turn with the workspace, as the agent has told it to the model, in the place of PLACE."""
    told = re.search(r"orking directory: ([^\\\s]+)", request.body.decode())
    assert told is not None
    blocks = json.loads(json.dumps(list(one.content.blocks)).replace("PLACE", told[1]))
    return turn(*blocks, usage=one.content.usage)


async def test_usage_of_each_call_is_its_final_figure(server: ModelServer, trial: Any) -> None:
    server.script = by_turn(turn(say("a"), say("b"), call("Bash", command="true")), turn(say("c")))
    ran = await trial()
    last = {one.usage.id: one.usage.tokens.output for one in ran.of(Used) if one.usage.scope == "call"}
    assert sorted(last.values()) == [7, 7]


async def test_a_subagent_is_attributed_and_its_tokens_are_in_the_total(server: ModelServer, trial: Any) -> None:
    def script(request: Request) -> Turn:
        if not any("MAIN" in text for text in prompts(request)):
            return by_turn(turn(call("Bash", "inner", command="echo sub")), turn(say("sub done")))(request)
        task = call("Agent", "outer", description="d", prompt="SUBTASK", subagent_type="general-purpose")
        return by_turn(turn(task), turn(say("all done")))(request)

    server.script = script
    ran = await trial("MAIN task")
    assert {one.id: one.agent for one in ran.of(ToolCall)} == {"outer": None, "inner": "outer"}
    assert {one.id: one.agent for one in ran.of(ToolResult)} == {"outer": None, "inner": "outer"}
    spend = ran.report.spend.agent
    assert spend.tokens.total == 4 * sum(USAGE.values())
    assert not spend.problems


async def test_each_of_several_questions_is_answered(server: ModelServer, trial: Any) -> None:
    asks = [
        {"question": "Colour?", "header": "c", "multiSelect": False, "options": _options("red", "blue")},
        {"question": "Sizes?", "header": "s", "multiSelect": True, "options": _options("S", "M", "L")},
    ]
    server.script = by_turn(turn(call("AskUserQuestion", "q", questions=asks)), turn(say("ok")))

    def answer(question: Question) -> Answer:
        chosen = ("S", "L") if question.several else ("blue",)
        return Answer.say(question, "", chosen=chosen)

    ran = await trial(options={"answerer": answer})
    questions = [one.question for one in ran.of(Asked)]
    assert [(one.text, one.kind, [option.label for option in one.options]) for one in questions] == [
        ("Colour?", "ask", ["red", "blue"]),
        ("Sizes?", "ask", ["S", "M", "L"]),
    ]
    told = results(server.asked[-1])["q"]["content"]
    assert '"Colour?"="blue"' in told
    assert '"Sizes?"="S, L"' in told


def _options(*labels: str) -> list[dict[str, str]]:
    return [{"label": label, "description": label} for label in labels]


@pytest.mark.parametrize("approved", [True, False])
async def test_what_is_refused_does_not_happen(server: ModelServer, trial: Any, approved: bool) -> None:
    server.script = by_turn(turn(call("Bash", "t", command="echo x > made.txt")), turn(say("ok")))
    ran = await trial(
        allowed_tools=(), options={"answerer": lambda question: Answer.decide(question, approved, "not today")}
    )
    (asked,) = ran.of(Asked)
    assert asked.question.kind == "approve"
    assert asked.question.payload["input"]["command"] == "echo x > made.txt"
    assert ("made.txt" in ran.files) is approved
    (result,) = ran.of(ToolResult)
    assert result.denied is not approved
    (done,) = ran.of(Done)
    assert done.denials == (0 if approved else 1)
    if not approved:
        assert "not today" in result.text


async def test_a_tool_of_a_server_is_used(server: ModelServer, trial: Any, tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(TOOL_SERVER)
    server.script = by_turn(turn(call("mcp__sums__add", "t", a=2, b=3)), turn(say("ok")))
    ran = await trial(
        mcp_servers={"sums": {"command": sys.executable, "args": [str(tmp_path / "sums.py")]}},
        allowed_tools=("mcp__sums__add",),
    )
    (called,), (result,) = ran.of(ToolCall), ran.of(ToolResult)
    assert called.server == "sums"
    assert "the sum is 5" in result.text


async def test_a_tool_server_that_fails_is_no_fault_of_the_agent(trial: Any) -> None:
    ran = await trial(mcp_servers={"broken": {"command": "/bin/false"}})
    outcome = ran.report.outcome
    assert (outcome.kind, outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.MISSING)
    assert "`broken`" in outcome.reason


@pytest.mark.parametrize(
    "trouble",
    [
        Turn(status=529, kind="overloaded_error", headers={"retry-after": "0"}),
        Turn(status=429, headers={"retry-after": "0"}),
        turn(say("half"), cut_after=3),
    ],
    ids=["overload", "rate limit", "cut"],
)
async def test_it_recovers_from_an_error_of_its_model(server: ModelServer, trial: Any, trouble: Turn) -> None:
    server.script = in_order(trouble, turn(say("after all")))
    ran = await trial(max_retries=3)
    assert ran.report.outcome.kind is OutcomeKind.COMPLETED, ran.report.outcome
    assert ran.report.last.answer == "after all"
    assert len(server.asked) >= 2


async def test_after_a_malformed_event_it_takes_what_its_model_has_said(server: ModelServer, trial: Any) -> None:
    """That is what the program does; the driver tells it as it is."""
    server.script = in_order(turn(say("half"), malformed_after=3), turn(say("after all")))
    ran = await trial(max_retries=3)
    assert ran.report.outcome.kind is OutcomeKind.COMPLETED, ran.report.outcome
    assert ran.report.last.answer == "half"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("trouble", "failure"),
    [
        (Turn(status=529), Failure.OVERLOAD),
        (Turn(status=429), Failure.RATE_LIMIT),
        (Turn(status=401), Failure.AUTH),
        (Turn(status=404, message="model: nonesuch"), Failure.MISSING),
        (Turn(status=400, message="malformed"), Failure.CRASH),
    ],
    ids=["overload", "rate limit", "auth", "model", "request"],
)
async def test_an_error_that_stays_is_of_its_class(
    server: ModelServer, trial: Any, trouble: Turn, failure: Failure
) -> None:
    server.script = in_order(trouble)
    ran = await trial()
    outcome = ran.report.outcome
    assert (outcome.kind, outcome.failure) == (OutcomeKind.INFRASTRUCTURE, failure), outcome


async def test_credentials_that_are_refused_cost_no_minutes(server: ModelServer, trial: Any) -> None:
    server.script = in_order(Turn(status=401))
    ran = await trial(max_retries=None)
    assert ran.report.outcome.failure is Failure.AUTH
    assert len(server.asked) <= 4


async def test_too_many_turns_are_the_agents_own_fault(server: ModelServer, trial: Any) -> None:
    server.script = in_order(turn(call("Bash", command="true")))
    ran = await trial(max_turns=2)
    assert ran.report.outcome.kind is OutcomeKind.AGENT_FAILED
    assert "limit of turns" in ran.report.outcome.reason
    assert ran.report.spend.agent.tokens.output > 0


async def test_a_command_that_hangs_ends_with_the_trial(server: ModelServer, trial: Any) -> None:
    server.script = by_turn(turn(call("Bash", command="echo $$ > pid; sleep 987")), turn(say("never")))
    ran = await trial(options={"limits": Limits(total_s=4, grace_s=2)})
    assert ran.report.outcome.kind is OutcomeKind.TIMED_OUT
    assert not (Path("/proc") / ran.files["pid"].strip()).exists()
    assert ran.report.spend.agent.tokens.total == sum(USAGE.values())


async def test_lines_of_12_megabytes_are_kept(server: ModelServer, trial: Any) -> None:
    size = 12_000_000

    def script(request: Request) -> Turn:
        write = call("Write", "t", file_path="PLACE/big.txt", content="x" * size)
        return turn(say("after the big one")) if request.turns else in_place(request, turn(write))

    server.script = script
    ran = await trial()
    assert ran.report.last.answer == "after the big one", ran.report.outcome
    assert len(ran.files["big.txt"]) == size
    assert [one.error for one in ran.of(ToolResult)] == [False]


async def test_a_prompt_that_begins_with_a_slash_is_told_as_it_stands(server: ModelServer, trial: Any) -> None:
    ran = await trial("/help me with `ls`")
    assert ran.report.last.answer == "hello"
    assert "/help me with `ls`" in prompts(server.asked[0])


async def test_what_was_begun_in_the_background_is_waited_for(server: ModelServer, trial: Any) -> None:
    begin = call("Bash", command="sleep 0.5; echo late > late.txt", run_in_background=True)
    server.script = by_turn(turn(begin), turn(say("first")), turn(say("second")))
    ran = await trial()
    assert ran.report.last.answer == "second"
    assert ran.files == {"late.txt": "late\n"}
    assert not ran.report.spend.agent.problems


# isolation


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with settings of their own."""
    place = tmp_path / "user" / ".claude"
    (place / "skills" / "theirs").mkdir(parents=True)
    (place / "skills" / "theirs" / "SKILL.md").write_text("---\nname: theirs\ndescription: MARK-SKILL\n---\nx\n")
    (place / "CLAUDE.md").write_text("MARK-USER\n")
    plugin = tmp_path / "installed" / "more"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "more", "version": "1.0.0"}')
    (plugin / "skills" / "extra").mkdir(parents=True)
    (plugin / "skills" / "extra" / "SKILL.md").write_text("---\nname: extra\ndescription: MARK-PLUGIN\n---\nx\n")
    (place / "plugins").mkdir()
    records = {"version": 2, "plugins": {"more@market": [{"scope": "user", "installPath": str(plugin)}]}}
    (place / "plugins" / "installed_plugins.json").write_text(json.dumps(records))
    settings = {"enabledPlugins": {"more@market": True}, "env": {"MARK_VARIABLE": "set"}}
    (place / "settings.json").write_text(json.dumps(settings))
    (tmp_path / "sums.py").write_text(TOOL_SERVER)
    servers = {"theirs": {"command": sys.executable, "args": [str(tmp_path / "sums.py")]}}
    (place / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place))
    return place


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """A workspace with instructions."""
    folder = tmp_path / "fixtures"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("MARK-WORKSPACE\n")
    return folder


MARKS = ("MARK-USER", "MARK-SKILL", "MARK-PLUGIN", "MARK-WORKSPACE", "mcp__theirs__add")


@pytest.mark.parametrize(
    ("isolation", "workspace_settings", "seen"),
    [
        ("clean", True, {"MARK-WORKSPACE"}),
        ("clean", False, set()),
        ("user", True, set(MARKS)),
        ("user", False, set(MARKS) - {"MARK-WORKSPACE"}),
    ],
)
async def test_it_reads_what_its_isolation_lets_it(
    server: ModelServer,
    trial: Any,
    user: Path,
    fixtures: Path,
    isolation: str,
    workspace_settings: bool,
    seen: set[str],
) -> None:
    before = {path: path.read_bytes() for path in user.rglob("*") if path.is_file()}
    server.script = by_turn(turn(call("Bash", "t", command="echo is ${MARK_VARIABLE:-unset}")), turn(say("ok")))
    ran = await trial(
        isolation=isolation,
        workspace_settings=workspace_settings,
        allowed_tools=("Bash", "Bash(echo *)"),
        options={"fixtures": fixtures, "answerer": lambda question: True},
    )
    assert ran.report.outcome.kind is OutcomeKind.COMPLETED, ran.report.outcome
    body = server.asked[0].body.decode()
    assert {mark for mark in MARKS if mark in body} == seen
    assert ("is set" in ran.of(ToolResult)[0].text) is (isolation == "user")
    assert {path: path.read_bytes() for path in user.rglob("*") if path.is_file()} == before


async def test_skills_and_plugins_of_the_configuration_are_there(
    server: ModelServer, trial: Any, user: Path, tmp_path: Path
) -> None:
    await trial(skills=(str(user / "skills" / "theirs"),), plugins=(str(tmp_path / "installed" / "more"),))
    body = server.asked[0].body.decode()
    assert "MARK-SKILL" in body
    assert "MARK-PLUGIN" in body


async def test_additions_to_the_system_prompt_and_denied_tools_arrive(server: ModelServer, trial: Any) -> None:
    await trial(append_system_prompt="MARK-SYSTEM", denied_tools=("WebFetch",), questions=False, effort="low")
    body = server.asked[0].data
    assert "MARK-SYSTEM" in json.dumps(body["system"])
    names = {tool["name"] for tool in body["tools"]}
    assert not {"WebFetch", "AskUserQuestion"} & names
    assert "Bash" in names


# the program


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("relay(); time.sleep(600)", OutcomeKind.COMPLETED),
        (
            "subprocess.Popen(['sleep', '600'], start_new_session=True); relay(); os._exit(0)",
            OutcomeKind.COMPLETED,
        ),
        ("relay(); os._exit(3)", OutcomeKind.COMPLETED),
        ('relay(b\'"type":"result"\'); os._exit(0)', OutcomeKind.AGENT_FAILED),
        ('relay(b\'"type":"result"\'); put(b\'{"type":"result","sub\'); die(9)', OutcomeKind.AGENT_FAILED),
    ],
    ids=["lingers", "leaves a child behind", "fails after its result", "never says its result", "is cut"],
)
async def test_what_it_said_counts_however_it_ends(
    trial: Any, claude: Path, tmp_path: Path, code: str, kind: OutcomeKind
) -> None:
    program = wrapper.write(tmp_path, claude, code)
    ran = await trial(executable=str(program))
    assert ran.report.outcome.kind is kind, ran.report.outcome
    assert ran.report.last.answer == "hello"


async def test_a_version_that_is_too_old_is_named(trial: Any, tmp_path: Path) -> None:
    program = tmp_path / "old-claude"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "1.0.3 (Claude Code)" && exit 0\nexit 1\n')
    program.chmod(0o755)
    ran = await trial(executable=str(program))
    assert ran.report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert "1.0.3" in ran.report.outcome.reason
    assert "2.0.0" in ran.report.outcome.reason


async def test_a_program_that_is_not_there_is_named(trial: Any) -> None:
    ran = await trial(executable="no-such-claude")
    assert ran.report.outcome.failure is Failure.MISSING
    assert "no-such-claude" in ran.report.outcome.reason


async def test_without_a_key_nothing_is_started(server: ModelServer, trial: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    ran = await trial()
    assert ran.report.outcome.failure is Failure.AUTH
    assert "ANTHROPIC_API_KEY" in ran.report.outcome.reason
    assert server.requests == []


async def test_an_argument_that_it_does_not_know_is_no_fault_of_the_agent(trial: Any) -> None:
    ran = await trial(extra_args=("--no-such-flag",))
    assert ran.report.outcome.failure is Failure.CRASH
    assert "before it began" in ran.report.outcome.reason
    assert "no-such-flag" in ran.report.last.stderr
