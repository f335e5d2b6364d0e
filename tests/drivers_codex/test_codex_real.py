"""The real Codex, from its start to its end, with a model that says what the test wants it to say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from drivers_codex.conftest import VERSION, Try, settings
from models.responses import call, failed, patch, prompts, results, say, shell, think, turn
from models.server import ModelServer, Request, Turn, by_turn
from quintain import (
    Answer,
    Asked,
    Case,
    Done,
    Failure,
    Isolation,
    Limits,
    Message,
    OutcomeKind,
    Progress,
    Question,
    Ready,
    Reasoning,
    Retry,
    ToolCall,
    ToolResult,
    run,
)
from quintain_driver_codex import codex_driver

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop here and the other with broken programs: each trial takes a second."""
    return "asyncio"


DONE = turn(say("All done."))
TOOLS = Path(__file__).with_name("tools.py")
SERVERS = {"tiny": {"command": sys.executable, "args": ["-S", str(TOOLS)]}}


def escalated(command: str) -> Turn:
    return turn(shell(command, sandbox_permissions="require_escalated", justification="it lies outside"))


async def test_it_says_who_it_is_and_finishes(attempt: Try) -> None:
    tried = await attempt(turn(think("Simple."), say("All done.")), prompt="Say it.")
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    ready = tried.only(Ready)
    assert (ready.agent, ready.version, ready.model) == ("codex", VERSION, "gpt-5.5")
    assert ready.session
    assert tried.report.last.answer == "All done."
    assert [event.text for event in tried.of(Reasoning)] == ["Simple."]
    assert "Say it." in prompts(tried.models.asked[0])


async def test_a_run_says_which_program_it_was(attempt: Try) -> None:
    tried = await attempt(DONE)
    lock = (tried.directory / "identity.lock").read_text()
    assert f"codex-cli {VERSION}" in lock
    assert "binary" in lock
    assert "sk-test" not in lock


async def test_tokens_are_counted_once_and_money_is_unknown(attempt: Try) -> None:
    tried = await attempt(turn(shell("true")), turn(shell("true")), DONE)
    spend = tried.report.spend.agent
    assert spend.complete
    assert spend.calls == 3
    assert spend.tokens is not None
    assert (spend.tokens.input, spend.tokens.cache_read, spend.tokens.output, spend.tokens.reasoning) == (
        300,
        60,
        90,
        15,
    )
    assert spend.cost.usd is None


async def test_files_are_edited_and_commands_run(attempt: Try) -> None:
    tried = await attempt(turn(patch("new.txt", "hello")), turn(shell("cat new.txt > copy.txt; exit 3")), DONE)
    assert tried.files == {"new.txt", "copy.txt"}
    patched, ran = tried.of(ToolResult)
    assert (patched.name, patched.error) == ("apply_patch", False)
    assert (ran.name, ran.error, ran.output["exitCode"]) == ("shell", True, 3)
    assert [event.id for event in tried.of(ToolCall)] == [patched.id, ran.id]


async def test_the_sandbox_keeps_a_command_in_the_workspace(attempt: Try, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    tried = await attempt(turn(shell(f"echo x > {outside}; echo y > inside.txt; echo z > $TMPDIR/temp.txt")), DONE)
    assert not outside.exists()
    assert tried.files == {"inside.txt"}


async def test_the_key_is_not_among_the_variables_of_a_command(attempt: Try) -> None:
    tried = await attempt(turn(shell("env")), DONE)
    told = str(results(tried.models.asked[-1]))
    assert "CODEX_HOME" in told
    assert "OPENAI_API_KEY" not in told


@pytest.mark.parametrize("approved", [True, False])
async def test_a_command_outside_the_sandbox_runs_only_if_it_is_approved(
    attempt: Try, tmp_path: Path, approved: bool
) -> None:
    outside = tmp_path / "outside.txt"
    tried = await attempt(
        escalated(f"touch {outside}"), DONE, answerer=lambda question: Answer.decide(question, approved)
    )
    question = tried.only(Asked).question
    assert question.kind == "approve"
    assert f"touch {outside}" in question.text
    assert "it lies outside" in question.text
    assert outside.exists() is approved
    result = tried.only(ToolResult)
    assert (result.denied, result.error) == (not approved, not approved)
    assert tried.only(Done).denials == (0 if approved else 1)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED


@pytest.mark.parametrize("approved", [True, False])
async def test_a_change_of_files_needs_approval_where_nothing_may_be_written(attempt: Try, approved: bool) -> None:
    tried = await attempt(
        turn(patch("new.txt", "hello")), DONE, sandbox="read-only", answerer=lambda question: approved
    )
    assert "new.txt" in tried.only(Asked).question.text
    assert tried.files == ({"new.txt"} if approved else set())
    assert tried.only(ToolResult).denied is not approved


async def test_nobody_there_means_no(attempt: Try, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    tried = await attempt(escalated(f"touch {outside}"), DONE)
    assert not outside.exists()
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED


async def test_questions_are_answered_while_it_works(attempt: Try) -> None:
    colours = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asks = call(
        "request_user_input",
        questions=[
            {"id": "colour", "header": "Colour", "question": "Which colour?", "options": colours},
            {"id": "name", "header": "Name", "question": "Which name?", "options": colours},
        ],
    )

    def answer(question: Question) -> Answer:
        if "colour" in question.text:
            return Answer.say(question, "Blue", chosen=("Blue",))
        return Answer.say(question, "naïve ☕")

    tried = await attempt(turn(asks), DONE, answerer=answer)
    questions = [event.question for event in tried.of(Asked)]
    assert [question.kind for question in questions] == ["ask", "ask"]
    assert [option.label for option in questions[0].options] == ["Red", "Blue"]
    (told,) = results(tried.models.asked[-1]).values()
    assert re.search(r'"colour":\{"answers":\["Blue"\]\}', told)
    assert re.search(r'"name":\{"answers":\["naïve ☕"\]\}', told)


async def test_a_refused_question_tells_why(attempt: Try) -> None:
    options = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
    asks = call("request_user_input", questions=[{"id": "q", "header": "Q", "question": "Which?", "options": options}])
    tried = await attempt(turn(asks), DONE, answerer=lambda question: Answer.refuse(question, "ask somebody else"))
    assert "ask somebody else" in str(results(tried.models.asked[-1]))
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED


@pytest.mark.parametrize("approved", [True, False])
async def test_a_tool_server_is_used_if_it_is_approved(attempt: Try, approved: bool) -> None:
    tried = await attempt(
        turn(call("add", "tiny", a=2, b=3)),
        DONE,
        mcp_servers=SERVERS,
        model="other",
        answerer=lambda question: approved,
    )
    used = tried.only(ToolCall)
    assert (used.name, used.server, used.input) == ("add", "tiny", {"a": 2, "b": 3})
    result = tried.only(ToolResult)
    assert (result.text == "5", result.error, result.denied) == (approved, not approved, not approved)


async def test_what_a_tool_server_asks_reaches_the_answerer(attempt: Try) -> None:
    def answer(question: Question) -> str | bool:
        return True if question.kind == "approve" else "7" if "count" in question.text else "yes"

    tried = await attempt(turn(call("ask", "tiny")), DONE, mcp_servers=SERVERS, model="other", answerer=answer)
    assert [event.question.kind for event in tried.of(Asked)] == ["approve", "ask", "ask"]
    assert '"count": 7, "sure": true' in tried.only(ToolResult).text


async def test_a_tool_server_that_does_not_start_is_a_broken_setup(attempt: Try) -> None:
    tried = await attempt(DONE, mcp_servers={"gone": {"command": "/nowhere/at/all"}})
    assert tried.report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert tried.report.outcome.failure is Failure.MISSING
    assert "gone" in tried.report.outcome.reason
    assert tried.models.asked == []


async def test_instructions_skills_and_settings_reach_the_model(attempt: Try, tmp_path: Path) -> None:
    skill = tmp_path / "greet"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: how to greet in Quintain\n---\nSay hello.\n")
    tried = await attempt(
        DONE,
        instructions="Answer in verse.",
        skills=[str(skill)],
        effort="high",
        config={"web_search": "disabled", "model_providers": {"endpoint": {"query_params": {"a": "b"}}}},
    )
    (request,) = tried.models.asked
    told = "\n".join(prompts(request))
    assert "Answer in verse." in told
    assert "how to greet in Quintain" in told
    assert request.data["reasoning"]["effort"] == "high"
    assert request.path.endswith("?a=b")
    assert "web_search" not in [tool["type"] for tool in request.data["tools"]]


async def test_the_users_own_settings_are_read_only_if_that_is_asked_for(
    attempt: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "AGENTS.md").write_text("word of the user")
    (home / ".codex" / "config.toml").write_text('developer_instructions = "word of the settings"\n')
    monkeypatch.setenv("HOME", str(home))
    clean = await attempt(DONE)
    user = await attempt(DONE, isolation="user")
    told = ["\n".join(prompts(tried.models.asked[0])) for tried in (clean, user)]
    assert [("word of the user" in text, "word of the settings" in text) for text in told] == [
        (False, False),
        (True, True),
    ]


async def test_a_model_error_that_passes_is_only_a_sign_of_life(attempt: Try) -> None:
    busy = Turn(status=503, message="try later")
    tried = await attempt(busy, busy, busy, DONE)
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert any("trying again" in event.text for event in tried.of(Progress))


@pytest.mark.parametrize(
    ("wrong", "failure"),
    [
        (Turn(status=400, message="bad input"), Failure.CRASH),
        (Turn(status=401, message="wrong key"), Failure.AUTH),
        (Turn(status=404, message="The model `gpt-5.5` does not exist"), Failure.MISSING),
        (Turn(status=429, message="slow down"), Failure.RATE_LIMIT),
        (Turn(status=503, message="overloaded"), Failure.OVERLOAD),
        (failed("insufficient_quota", "none left"), Failure.RATE_LIMIT),
        (turn(say("half"), cut_after=2), Failure.NETWORK),
    ],
    ids=["400", "401", "404", "429", "503", "quota", "cut"],
)
async def test_a_model_error_that_stays_is_no_fault_of_the_agent(attempt: Try, wrong: Turn, failure: Failure) -> None:
    tried = await attempt(wrong)
    outcome = tried.report.outcome
    assert (outcome.kind, outcome.failure) == (OutcomeKind.INFRASTRUCTURE, failure), outcome
    assert outcome.reason
    assert not tried.report.spend.agent.complete


async def test_a_context_that_is_too_long_is_its_own_fault(attempt: Try) -> None:
    tried = await attempt(turn(shell("true")), failed("context_length_exceeded", "too long"))
    assert tried.report.outcome.kind is OutcomeKind.AGENT_FAILED, tried.report.outcome
    spend = tried.report.spend.agent
    assert spend.tokens is not None
    assert spend.tokens.output == 30


async def test_a_model_that_hangs_ends_with_the_time_and_keeps_what_was_spent(attempt: Try) -> None:
    limits = Limits(total_s=4, linger_s=0.5, grace_s=1)
    tried = await attempt(turn(shell("true")), Turn(hang=True), limits=limits)
    assert tried.report.outcome.kind is OutcomeKind.TIMED_OUT
    spend = tried.report.spend.agent
    assert spend.tokens is not None
    assert (spend.tokens.output, spend.complete) == (30, False)


async def test_a_command_that_hangs_is_gone_after_the_trial(attempt: Try, tmp_path: Path) -> None:
    limits = Limits(total_s=2, linger_s=0.5, grace_s=1)
    mark = "601.37"
    tried = await attempt(turn(shell(f"sleep {mark}", yield_time_ms=30000)), DONE, limits=limits)
    assert tried.report.outcome.kind is OutcomeKind.TIMED_OUT
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [words for words in running if words == f"sleep\0{mark}\0".encode()]


@pytest.mark.parametrize("history", ["none", "all"])
async def test_what_a_subagent_does_has_its_name_and_is_counted(attempt: Try, history: str) -> None:
    threads: list[str] = []
    spawn = call("spawn_agent", message="sub task", task_name="helper", fork_turns=history)
    waits = call("wait_agent", timeout_ms=10000)

    def script(request: Request) -> Turn:
        thread = request.headers["thread-id"]
        if thread not in threads:
            threads.append(thread)
        if thread == threads[0]:
            spoken = [
                {**spawn, "namespace": "collaboration"},
                {**waits, "namespace": "collaboration"},
                say("main done"),
            ]
            return turn(spoken[min(request.turns, 2)])
        return turn(say("sub done") if results(request).get("sub") else {**shell("echo sub"), "call_id": "sub"})

    settings = {"features": {"multi_agent_v2": True}}
    tried = await attempt(script, config=settings, ephemeral=history == "none")
    assert tried.report.outcome.kind is OutcomeKind.COMPLETED, tried.report.outcome
    assert [(event.agent, event.text) for event in tried.of(Message)] == [
        ("/root/helper", "sub done"),
        (None, "main done"),
    ]
    assert [event.agent for event in tried.of(ToolCall) if event.name == "shell"] == ["/root/helper"]
    spend = tried.report.spend.agent
    assert spend.calls == len(tried.models.asked)
    assert spend.tokens is not None
    assert spend.tokens.total == 150 * spend.calls


@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write"])
@pytest.mark.parametrize("trust", [True, False])
async def test_instructions_and_settings_of_the_workspace_count_if_they_are_trusted(
    codex: str, serve: Callable[..., ModelServer], store: Path, tmp_path: Path, sandbox: str, trust: bool
) -> None:
    skill = tmp_path / "fixtures" / ".agents" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: skill of the project\n---\n")
    (tmp_path / "fixtures" / "AGENTS.md").write_text("word of the project")
    (tmp_path / "fixtures" / ".codex").mkdir()
    (tmp_path / "fixtures" / ".codex" / "config.toml").write_text('developer_instructions = "setting of the project"')
    models = serve(DONE)
    case = Case("real", "Do it.", fixtures=tmp_path / "fixtures")
    driver = codex_driver(**settings(models, codex, sandbox=sandbox, trust=trust))
    await run([case], driver=driver, store=store, retry=Retry(attempts=1))
    told = "\n".join(prompts(models.asked[0]))
    assert "skill of the project" in told
    assert ("word of the project" in told, "setting of the project" in told) == (trust, trust)


async def test_an_endpoint_of_the_environment_is_used(attempt: Try, serve: Callable[..., ModelServer]) -> None:
    models = serve(turn(say("from elsewhere")))
    tried = await attempt(DONE, base_url=None, env={"OPENAI_BASE_URL": f"{models.url}/v1"})
    assert tried.report.last.answer == "from elsewhere"
    assert tried.models.asked == []


async def test_a_prompt_is_no_option_and_may_be_long(attempt: Try) -> None:
    prompt = "--help; rm -rf \"$HOME\" `id`\n'quoted' \\ end " + "x" * 300_000
    tried = await attempt(DONE, prompt=prompt)
    assert prompt in prompts(tried.models.asked[0])


async def test_eight_at_once_each_have_their_own(codex: str, serve: Callable[..., ModelServer], store: Path) -> None:
    def script(request: Request) -> Turn:
        number = next(text.split()[-1] for text in prompts(request) if text.startswith("Number"))
        return by_turn(turn(shell(f"echo {number} > n.txt; cat n.txt")), turn(say(f"It is {number}.")))(request)

    cases = [Case(f"case-{number}", f"Number {number}") for number in range(8)]
    driver = codex_driver(**settings(serve(script), codex))
    with anyio.fail_after(120):
        result = await run(cases, driver=driver, store=store, concurrency=8, retry=Retry(attempts=1))
    answers = {report.case: (report.outcome.kind, report.last.answer) for report in result.reports()}
    assert answers == {f"case-{n}": (OutcomeKind.COMPLETED, f"It is {n}.") for n in range(8)}


@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
async def test_it_works_inside_the_sandbox_of_the_core(
    codex: str, serve: Callable[..., ModelServer], store: Path, bubblewrap: str, sandbox: str
) -> None:
    models = serve(turn(shell("echo hi > new.txt; cat new.txt")), DONE)
    readable = (Path(codex).resolve().parents[3],)
    result = await run(
        [Case("real", "Do it.")],
        driver=codex_driver(**settings(models, codex, sandbox=sandbox)),
        store=store,
        isolation=Isolation(sandbox="bwrap", network=True, readable=readable),
        retry=Retry(attempts=1),
    )
    (report,) = result.reports()
    assert report.outcome.kind is OutcomeKind.COMPLETED, report.outcome
    assert "hi" in str(results(models.asked[-1]))


async def test_messages_come_whole_however_they_are_cut(attempt: Try) -> None:
    text = "naïve ☕ 你好 🎉 " * 40
    tried = await attempt(turn(say(text)))
    assert [event.text for event in tried.of(Message)] == [text]
