"""Real programs under the driver."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import quintain_agent
from quintain import (
    Answer,
    Artifact,
    Asked,
    Done,
    Failed,
    Log,
    Message,
    ProcessGone,
    Progress,
    ProtocolError,
    Question,
    QuintainError,
    Ready,
    Tokens,
    ToolCall,
    ToolResult,
    Unknown,
    Used,
)
from quintain.process import Limits
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver
from quintain_driver_subprocess._text import KEPT

pytestmark = pytest.mark.anyio

Play = Callable[..., Any]
Script = Callable[..., SubprocessConfig]

HARD_PROMPT = (
    '- [ ] fix --help; rm -rf "$HOME" `id` $(id)\n--model other\n'
    "'q' \\ {prompt_file} {prompt} naïve ☕\u2028 \x1b[1m end "
)
HELPER = str(quintain_agent.__file__)
LONG_PROMPT = "x" * 300_000


# told


async def test_the_host_says_first_what_there_is_to_do(play: Play, script: Script, tmp_path: Path) -> None:
    agent = script("emit(type='ready', detail=hear()); emit(type='done', text=os.getcwd())", model="m1")
    played = await play(agent, prompt=HARD_PROMPT)
    ready, done = played.events
    assert ready.detail == {
        "type": "start",
        "protocol": 2,
        "prompt": HARD_PROMPT,
        "workspace": str(tmp_path / "workspace"),
        "case": "a/case",
        "trial": "a/case@profile#2",
        "attempt": 1,
        "seed": 7,
        "deadline_s": 60.0,
        "max_usd": 0.5,
        "max_tokens": None,
        "subject": None,
        "model": "m1",
    }
    assert done == Done(str(tmp_path / "workspace"))


@pytest.mark.parametrize("mode", ["jsonl", "text"])
async def test_an_agent_is_told_where_what_is_under_test_lies(
    play: Play, script: Script, tmp_path: Path, mode: str
) -> None:
    told = "os.environ['QUINTAIN_SUBJECT']"
    said = f"emit(type='done', text={told} + hear()['subject'])" if mode == "jsonl" else f"raw({told}.encode())"
    played = await play(script(said, mode=mode), subject=tmp_path / "subject")
    place = str(tmp_path / "subject")
    assert played.last.text == (place * 2 if mode == "jsonl" else place)


WAYS = {
    "standard input": ("sys.stdin.buffer.read()",),
    "argument": ("os.fsencode(sys.argv[2])[2:]", "--", "p={prompt}"),
    "file": ("open(sys.argv[1], 'rb').read()", "{prompt_file}"),
}


@pytest.mark.parametrize("prompt", [HARD_PROMPT, "", "\r\n"], ids=["hard", "empty", "line end"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_prompt_arrives_byte_for_byte(play: Play, script: Script, way: str, prompt: str) -> None:
    read, *arguments = WAYS[way]
    played = await play(script(f"raw({read}.hex().encode())", *arguments, mode="text"), prompt=prompt)
    assert bytes.fromhex(played.last.text) == prompt.encode()


@pytest.mark.parametrize("way", ["standard input", "file"])
async def test_a_prompt_may_be_longer_than_an_argument(play: Play, script: Script, way: str) -> None:
    read, *arguments = WAYS[way]
    played = await play(script(f"raw({read})", *arguments, mode="text"), prompt=LONG_PROMPT)
    assert played.last == Done(LONG_PROMPT)


async def test_a_prompt_that_no_argument_can_hold_is_refused_before_anything_runs(
    play: Play, script: Script, tmp_path: Path
) -> None:
    with pytest.raises(QuintainError) as caught:
        await play(script("open('ran', 'w')", "{prompt}", mode="text"), prompt=LONG_PROMPT)
    assert "300000 bytes" in str(caught.value)
    assert "131072" in str(caught.value)
    assert "{prompt_file}" in str(caught.value)
    assert list((tmp_path / "workspace").iterdir()) == []


async def test_the_longest_argument_that_the_system_allows_is_passed(play: Play, script: Script) -> None:
    agent = script("raw(str(len(sys.argv[1])).encode())", "{prompt}", mode="text")
    assert (await play(agent, prompt="x" * 131_071)).last == Done("131071")
    with pytest.raises(QuintainError, match="131072"):
        await play(agent, prompt="x" * 131_072)


async def test_a_long_prompt_does_not_lock_up_with_an_agent_that_talks_first(play: Play, script: Script) -> None:
    agent = script(
        "for n in range(200): emit(type='message', text='x' * 10_000)\n"
        "task = hear()\n"
        "emit(type='done', text=str(len(task['prompt'])))"
    )
    played = await play(agent, prompt="y" * 1_000_000)
    assert len(played.of(Message)) == 200
    assert played.last == Done("1000000")


async def test_an_agent_may_ignore_what_it_is_told(play: Play, script: Script) -> None:
    played = await play(script("os.close(0); emit(type='ready'); emit(type='done')"), prompt="y" * 1_000_000)
    assert played.events == [Ready(), Done()]
    assert played.exit.clean


async def test_an_agent_that_reads_its_input_to_the_end_is_not_kept_waiting(play: Play, script: Script) -> None:
    argument = script("sys.stdin.read(); raw(b'ok')", "--", "{prompt}", mode="text")
    assert (await play(argument)).last == Done("ok")
    after_done = script("emit(type='done'); sys.stdin.read(); emit(type='progress', text='read it all')")
    assert (await play(after_done)).events == [Ready(), Done(), Progress("read it all")]


async def test_the_agent_sees_what_it_was_given_and_nothing_else(
    play: Play, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    (tmp_path / "workspace" / "sub").mkdir(parents=True)
    agent = script(
        "emit(type='ready', detail=dict(os.environ)); emit(type='done', text=os.getcwd())", env={"A": "b"}, cwd="sub"
    )
    ready, done = (await play(agent)).events
    assert ready.detail["A"] == "b"
    assert "AWS_SECRET_ACCESS_KEY" not in ready.detail
    assert ready.detail["PYTHONPATH"] == str(tmp_path / "home" / ".quintain-agent")
    assert done.text == str(tmp_path / "workspace" / "sub")
    bare = script("emit(type='ready', detail=dict(os.environ))", helper=False)
    assert "PYTHONPATH" not in (await play(bare)).events[0].detail


async def test_a_program_that_is_not_there_is_said_to_be_missing(play: Play) -> None:
    with pytest.raises(QuintainError, match="no program `no-such-agent`"):
        await play(SubprocessConfig(("no-such-agent",)))


# said


async def test_an_agent_that_ends_at_once_has_said_it_all(play: Play, script: Script) -> None:
    agent = script('raw(b\'{"type":"ready"}\\n{"type":"message","text":"hi"}\\n{"type":"done"}\'); os._exit(0)')
    for _ in range(20):
        assert (await play(agent)).events == [Ready(), Message("hi"), Done()]


async def test_it_stays_in_step_with_half_characters(play: Play, script: Script) -> None:
    agent = script(
        "line = json.dumps(dict(type='message', text='naïve ☕ 你好 🎉'), ensure_ascii=False).encode() + b'\\n'\n"
        "for byte in line: raw(bytes([byte])); time.sleep(0.001)\n"
        "emit(type='done')"
    )
    assert (await play(agent)).of(Message) == [Message("naïve ☕ 你好 🎉")]


async def test_damage_in_the_middle_is_told_and_the_trial_goes_on(play: Play, script: Script) -> None:
    agent = script(
        "emit(type='ready'); raw(b'Loading...\\n'); emit(type='dnoe'); raw(b'[' * 5000 + b'\\n')\n"
        'raw(b\'{"type":"message","text":"\' + b\'x\' * 2_000_000 + b\'"}\\n\')\n'
        "emit(type='hologram'); emit(type='done')"
    )
    events = (await play(agent)).events
    assert [type(event) for event in events] == [Ready, Log, ProtocolError, ProtocolError, ProtocolError, Unknown, Done]
    assert "longer than the limit" in events[4].message


async def test_a_cut_stream_leaves_its_fragment(play: Play, script: Script) -> None:
    agent = script('emit(type=\'ready\'); raw(b\'{"type":"message","text":"I was sa\'); os.kill(os.getpid(), 9)')
    played = await play(agent)
    assert isinstance(played.last, ProtocolError)
    assert played.exit.signal == 9


async def test_what_comes_after_done_is_still_heard(play: Play, script: Script) -> None:
    agent = script("emit(type='done', text='final'); time.sleep(0.1); emit(type='message', text='one more thing')")
    assert (await play(agent)).events == [Ready(), Done("final"), Message("one more thing")]


@pytest.mark.parametrize("code", ["sys.exit(0)", "sys.exit(3)", "os.kill(os.getpid(), 9)"])
async def test_an_end_without_done_is_just_an_end(play: Play, script: Script, code: str) -> None:
    played = await play(script(f"emit(type='ready'); emit(type='message', text='soon'); {code}"))
    assert played.events == [Ready(), Message("soon")]
    assert played.exit is not None


async def test_an_agent_that_closes_its_output_and_lives_on_ends_the_session(play: Play, script: Script) -> None:
    played = await play(script("emit(type='ready'); os.close(1); time.sleep(600)"))
    assert played.events == [Ready()]
    assert played.exit.stop != "none"


# asked


async def test_questions_are_answered_in_their_own_form(play: Play, script: Script) -> None:
    agent = script(
        "hear()\n"
        "for kind in ('ask', 'approve', 'custom'):\n"
        "    emit(type='question', id=kind, kind=kind, text='?', payload=1)\n"
        "    emit(type='progress', text=kind, detail=hear())\n"
        "emit(type='done')"
    )

    def answer(question: Question) -> Answer:
        if question.kind == "ask":
            return Answer.say(question, "blue ☕", chosen=("blue ☕",))
        return (
            Answer.decide(question, True, "fine") if question.kind == "approve" else Answer.give(question, {"x": [1]})
        )

    played = await play(agent, answer=answer)
    common = {"type": "answer", "refused": False, "reason": None}
    assert [event.detail for event in played.of(Progress)] == [
        {**common, "id": "ask", "kind": "ask", "text": "blue ☕", "chosen": ["blue ☕"]},
        {**common, "id": "approve", "kind": "approve", "approved": True, "reason": "fine"},
        {**common, "id": "custom", "kind": "custom", "payload": {"x": [1]}},
    ]
    assert played.last == Done()


async def test_a_refusal_is_told_as_one(play: Play, script: Script) -> None:
    agent = script(
        "hear()\n"
        "for kind in ('ask', 'approve'):\n"
        "    emit(type='question', id=kind, kind=kind, text='?')\n"
        "    emit(type='progress', text=kind, detail=hear())\n"
    )
    played = await play(agent, answer=lambda question: Answer.refuse(question, "nobody is here"))
    ask, approve = (event.detail for event in played.of(Progress))
    assert (ask["text"], ask["refused"], ask["reason"]) == (None, True, "nobody is here")
    assert (approve["approved"], approve["refused"]) == (False, True)


async def test_an_answer_to_an_agent_that_has_gone_says_so(play: Play, script: Script) -> None:
    agent = script("hear(); os.close(0); emit(type='question', id='q', text='?'); time.sleep(600)")
    with pytest.raises(ProcessGone):
        await play(agent, answer=lambda question: Answer.say(question, "x" * 1_000_000))


async def test_an_answer_to_a_dead_agent_says_so(script: Script, stand_in: Callable[..., Any]) -> None:
    launch = stand_in()
    agent = script("hear(); emit(type='question', id='q', text='?')")
    async with subprocess_driver.open(agent, launch) as session:
        questions = [event.question async for event in session if isinstance(event, Asked)]
        with pytest.raises(ProcessGone):
            await session.answer(questions[0], Answer.say(questions[0], "too late"))


async def test_an_interrupted_agent_is_told(script: Script, stand_in: Callable[..., Any]) -> None:
    agent = script("hear(); emit(type='ready'); emit(type='error', reason=hear()['type'])")
    with anyio.fail_after(60):
        async with subprocess_driver.open(agent, stand_in()) as session:
            events = []
            async for event in session:
                events.append(event)
                if isinstance(event, Ready):
                    await session.interrupt()
    assert events == [Ready(), Failed("cancel")]


@pytest.mark.parametrize("settings", [{"protocol": 1}, {"mode": "text"}])
async def test_an_interrupt_that_can_not_be_told_is_harmless(
    script: Script, stand_in: Callable[..., Any], settings: dict[str, Any]
) -> None:
    with anyio.fail_after(60):
        async with subprocess_driver.open(script("time.sleep(600)", **settings), stand_in()) as session:
            await session.interrupt()


async def test_leaving_a_session_ends_its_agent_whatever_is_going_on(
    script: Script, stand_in: Callable[..., Any]
) -> None:
    launch = stand_in(prompt="y" * 1_000_000)
    with anyio.fail_after(60):
        async with subprocess_driver.open(script("emit(type='ready'); time.sleep(600)"), launch) as session:
            async for _ in session:
                break
    assert launch.spawned[0].exit is not None


async def test_what_is_raised_inside_a_session_comes_out_as_it_is(script: Script, stand_in: Callable[..., Any]) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with subprocess_driver.open(script("time.sleep(600)"), stand_in()):
            raise LookupError("mine")


# plain text


async def test_what_a_plain_program_prints_is_its_answer(play: Play) -> None:
    played = await play(
        SubprocessConfig(("/bin/sh", "-c", "read x; echo Hello; echo; printf '  %s' \"$x\""), mode="text")
    )
    ready, progress, message, done = played.events
    assert ready == Ready("sh")
    assert progress == Progress("Hello")
    assert message == Message("Hello\n\n  Do it.")
    assert done == Done("Hello\n\n  Do it.")


async def test_a_plain_program_that_fails_has_no_answer(play: Play) -> None:
    played = await play(SubprocessConfig(("/bin/sh", "-c", "echo half; echo why >&2; exit 3"), mode="text"))
    assert played.events[1:] == [Progress("half"), Message("half")]
    assert played.exit.code == 3


async def test_a_silent_program_answers_with_nothing(play: Play) -> None:
    assert (await play(SubprocessConfig(("/bin/true",), mode="text"))).events == [Ready("true"), Done("")]


async def test_the_answer_of_a_talkative_program_is_bounded(play: Play, script: Script) -> None:
    code = f"raw(b'a' * 999_999 + b'\\n')\nfor n in range(9): raw(b'x' * 999_999 + b'\\n')\nassert {KEPT} < 10_000_000"
    played = await play(script(code, mode="text"))
    (log,) = played.of(Log)
    (message,) = played.of(Message)
    assert len(message.text) == KEPT
    assert message.text.startswith("a" * 100)
    assert log.dropped == 9_999_999 - KEPT


async def test_a_line_that_is_too_long_is_cut_in_the_answer(play: Play, script: Script) -> None:
    played = await play(script("raw(b'x' * 1_000 + b'\\nlast\\n')", mode="text"), limits=Limits(line_bytes=100))
    assert played.of(Log)[0].dropped == 900 + len("\nlast")
    assert played.of(Message) == [Message("x" * 100)]


async def test_binary_output_is_replaced_and_told(play: Play, script: Script) -> None:
    played = await play(script("raw(b'fine\\n\\xff\\xfe\\n\\xff')", mode="text"))
    (error,) = played.of(ProtocolError)
    assert error.number == 2
    assert played.last == Done("fine\n\ufffd\ufffd\n\ufffd")


async def test_a_shell_is_never_involved(play: Play, tmp_path: Path) -> None:
    prompt = f"$(touch {tmp_path}/owned) `touch {tmp_path}/owned`; touch {tmp_path}/owned"
    played = await play(SubprocessConfig(("/bin/echo", "{prompt}"), mode="text"), prompt=prompt)
    assert played.last == Done(prompt)
    assert not (tmp_path / "owned").exists()


# the older protocol


OLDER = """
def progress(kind, payload): emit(type="progress", id="p", kind=kind, payload=payload)
emit(type="ready", agentId="old", agentVersion="0.9")
progress("agent-message", {"text": os.environ["LUX_PROMPT"]})
emit(type="interrupt", kind="ask", id="i1", question="which?")
progress("agent-message", {"text": hear()["text"]})
emit(type="interrupt", kind="approve", id="i2", request="may I?")
progress("agent-message", {"text": hear()["type"]})
open(os.path.join(os.environ["LUX_ARTIFACTS_DIR"], "out.txt"), "w").close()
emit(type="done", summary={"usage": {"input": 5, "output": 2, "cacheRead": 0, "cacheCreation": 0}, "cost": 0.5})
"""


async def test_an_agent_of_the_older_protocol_runs_as_it_is(play: Play, script: Script, tmp_path: Path) -> None:
    def answer(question: Question) -> Answer:
        return Answer.say(question, "that") if question.kind == "ask" else Answer.decide(question, False, "no")

    played = await play(script(OLDER, protocol=1), prompt=HARD_PROMPT, answer=answer)
    assert played.events[0] == Ready("old", "0.9")
    assert [event.text for event in played.of(Message)] == [HARD_PROMPT, "that", "deny"]
    (used,) = played.of(Used)
    assert used.usage.tokens == Tokens(5, 0, 0, 2)
    assert isinstance(played.last, Done)
    assert (tmp_path / "workspace" / "out.txt").exists()


async def test_a_prompt_that_no_variable_can_hold_is_refused(play: Play, script: Script) -> None:
    longest = "x" * (131_072 - len("LUX_PROMPT=") - 1)
    echo = "emit(type='ready', agentId='a', agentVersion=str(len(os.environ['LUX_PROMPT'])))"
    assert (await play(script(echo, protocol=1), prompt=longest)).events == [Ready("a", str(len(longest)))]
    with pytest.raises(QuintainError, match=r"131061 bytes.*LUX_PROMPT.*131072"):
        await play(script(echo, protocol=1), prompt=longest + "x")


# agents in Python


HELPED = """
import subprocess, sys
import quintain_agent

agent = quintain_agent.start(name="helped", version="1", tools=["sh"])
print("noise from print")
subprocess.run([sys.executable, "-c", "import sys; print('noise', repr(sys.stdin.read()))"], check=True)
agent.think("hm")
agent.say("part 1", id="m1")
with agent.tool("sh", {"command": "ls"}) as tool:
    tool.result("a\\nb", output={"files": 2})
try:
    with agent.tool("boom"):
        raise ValueError("no")
except ValueError:
    pass
agent.use(input=700, output=80, cache_read=300, cost_usd=0.01, id="c1")
agent.progress("half")
agent.artifact("out.txt", name="Out")
said = [agent.ask("which?", options=["a", "b"]), agent.ask("really?"), agent.approve("rm?"), agent.request({"n": 1})]
agent.done(repr((agent.prompt, agent.seed, agent.attempt, said)), usage={"input": 700, "output": 80, "cache_read": 300})
"""


async def test_a_python_agent_needs_install_nothing(play: Play, script: Script) -> None:
    def answer(question: Question) -> Answer:
        match question.text:
            case "which?":
                assert [option.label for option in question.options] == ["a", "b"]
                return Answer("q1", "ask", chosen=("b",))
            case "really?":
                return Answer.refuse(question, "nobody")
            case "rm?":
                return Answer.decide(question, True)
        return Answer.give(question, {"n": question.payload["n"] + 1})

    agent = script(HELPED, bare=True)
    played = await play(agent, prompt=HARD_PROMPT, answer=answer)
    assert not played.of(ProtocolError, Log), "what it prints does not get into the protocol"
    assert played.events[0] == Ready("helped", "1", detail={"tools": ["sh"]})
    assert [(call.name, call.input) for call in played.of(ToolCall)] == [("sh", {"command": "ls"}), ("boom", None)]
    ok, broken = played.of(ToolResult)
    assert (ok.text, ok.output, ok.error) == ("a\nb", {"files": 2}, False)
    assert (broken.text, broken.error) == ("ValueError: no", True)
    assert ok.duration_s is not None
    assert played.of(Artifact) == [Artifact("out.txt", "Out")]
    call, total = played.of(Used)
    assert call.usage.tokens == total.usage.tokens == Tokens(700, 300, 0, 80)
    assert played.last == Done(repr((HARD_PROMPT, 7, 1, ["b", None, True, {"n": 2}])))
    assert played.exit.clean


async def test_a_python_agent_that_fails_ends_there(play: Play, script: Script, tmp_path: Path) -> None:
    code = "import quintain_agent\nagent = quintain_agent.start()\nagent.fail('no way', failure='network')\n"
    code += "open('on', 'w')"
    played = await play(script(code, bare=True))
    assert played.events[0] == Ready()
    assert isinstance(played.last, Failed)
    assert (played.last.reason, played.last.failure) == ("no way", "network")
    assert played.exit.code == 1
    assert list((tmp_path / "workspace").iterdir()) == []


async def test_a_python_agent_that_is_told_to_stop_while_it_asks_stops(
    script: Script, stand_in: Callable[..., Any]
) -> None:
    agent = script("import quintain_agent\nagent = quintain_agent.start()\nagent.ask('?')\nagent.done()", bare=True)
    with anyio.fail_after(60):
        async with subprocess_driver.open(agent, stand_in()) as session:
            events = []
            async for event in session:
                events.append(event)
                if isinstance(event, Asked):
                    await session.interrupt()
    assert [type(event) for event in events] == [Ready, Asked]


async def test_an_agent_that_nobody_runs_says_what_it_is(stand_in: Callable[..., Any]) -> None:
    launch = stand_in()
    argv = [sys.executable, "-c", "import quintain_agent; quintain_agent.start()"]
    async with launch.spawn(argv, env={"PYTHONPATH": str(Path(HELPER).parents[1])}) as process:
        lines = [line.text async for line in process.lines()]
        assert (await process.wait()).code == 1
    assert lines == []
    assert "let Quintain run it" in process.stderr.text()


async def test_the_helper_that_an_agent_imports_is_a_copy_in_its_trial(
    play: Play, script: Script, tmp_path: Path
) -> None:
    code = "import quintain_agent\nagent = quintain_agent.start()\nagent.done(quintain_agent.__file__)"
    place = Path((await play(script(code, bare=True))).last.text)
    assert place == tmp_path / "home" / ".quintain-agent" / "quintain_agent.py"
    assert place.read_bytes() == Path(HELPER).read_bytes()


@pytest.mark.parametrize(
    ("helper", "shebang", "wanted"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
async def test_the_helper_is_laid_out_only_where_it_may_be_of_use(
    play: Play, tmp_path: Path, helper: bool | None, shebang: bool, wanted: bool
) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text("#!/bin/sh\nexit 0\n")
    wrapper.chmod(0o755)
    command = ("wrapper",) if shebang else ("/bin/sh", "-c", "exit 0")
    await play(SubprocessConfig(command, helper=helper), environment={"PATH": str(tmp_path)})
    assert (tmp_path / "home" / ".quintain-agent").exists() is wanted


def test_the_helper_runs_on_old_pythons_and_needs_nothing() -> None:
    source = Path(HELPER).read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
