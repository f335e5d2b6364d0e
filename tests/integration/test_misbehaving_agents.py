"""What goes wrong with real agents, as small programs, each with its right outcome."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import quintain
from quintain import (
    Case,
    CostState,
    Failure,
    Isolation,
    Limits,
    Log,
    Message,
    OutcomeKind,
    ProtocolError,
    Retry,
    Tokens,
)
from quintain.model.events import Unknown

pytestmark = pytest.mark.anyio

DONE = 'emit("ready"); open("ok.txt", "w").close(); emit("done", text="ok")\n'
OK = quintain.check(lambda evidence: evidence.files.entry("ok.txt") is not None, id="ok")
GRADED = Case("one", "Do it.", assertions=(OK,))

Alive = Callable[[str], list[int]]


async def test_a_twelve_megabyte_line_is_kept_whole(lab: Any) -> None:
    report = await lab.run('emit("ready"); emit("message", text="A" * 12_000_000)\n' + DONE, case=GRADED)
    assert report.passed
    assert len(lab.events(Message)[0].text) == 12_000_000


async def test_a_line_beyond_the_limit_is_cut_marked_and_the_trial_goes_on(lab: Any) -> None:
    limits = Limits(line_bytes=1_000_000, linger_s=1, grace_s=0.5)
    report = await lab.run('emit("message", text="A" * 3_000_000)\n' + DONE, case=GRADED, limits=limits)
    assert report.passed
    assert any(
        "3000" in event.message or "dropped" in event.message or event.line for event in lab.events(ProtocolError)
    )


async def test_half_a_character_at_a_time_is_joined(lab: Any) -> None:
    program = """
line = json.dumps({"type": "done", "text": "naïve ☕ 你好 🎉"}, ensure_ascii=False).encode() + b"\\n"
emit("ready")
for at in range(len(line)):
    raw(line[at:at + 1])
"""
    report = await lab.run(program)
    assert report.last.answer == "naïve ☕ 你好 🎉"


async def test_megabytes_of_stderr_block_nothing_and_are_bounded(lab: Any) -> None:
    program = 'for _ in range(20): os.write(2, b"trace " * 174763)\n' + DONE
    report = await lab.run(program, case=GRADED)
    assert report.passed
    assert len(report.last.stderr) < 200_000
    assert report.last.stderr.startswith("trace")


async def test_closing_stdout_is_not_being_finished(lab: Any) -> None:
    program = 'emit("ready"); emit("message", text="working"); os.close(1); os.close(2); time.sleep(3600)'
    report = await lab.run(program)
    assert report.outcome.kind is OutcomeKind.AGENT_FAILED
    assert report.outcome.reason


async def test_a_result_stands_when_the_process_never_exits(lab: Any, alive: Alive) -> None:
    word = uuid.uuid4().hex
    report = await lab.run(DONE + f"time.sleep(3600)  # {word}", case=GRADED)
    assert report.passed
    assert "killed-after-result" in [finding.kind for finding in report.last.findings]
    assert alive(word) == []


async def test_an_agent_that_ignores_sigterm_is_killed(lab: Any, alive: Alive) -> None:
    word = uuid.uuid4().hex
    program = f"""
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
emit("ready"); emit("message", text="{word}")
while True: time.sleep(1)
"""
    report = await lab.run(program, limits=Limits(total_s=1.5, grace_s=0.5, linger_s=0.5))
    assert report.outcome.kind is OutcomeKind.TIMED_OUT
    assert report.last.exit is not None
    assert report.last.exit.stop == "killed"
    assert [event.text for event in lab.events(Message)] == [word]
    assert alive(word) == []


async def test_a_grandchild_that_holds_stdout_delays_nothing_and_dies(lab: Any, alive: Alive) -> None:
    word = uuid.uuid4().hex
    program = (
        DONE
        + f'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{word}"], start_new_session=True)'
    )
    with anyio.fail_after(30):
        report = await lab.run(program, case=GRADED)
    assert report.passed
    assert alive(word) == []


async def test_exit_status_0_without_a_word_is_no_success(lab: Any) -> None:
    report = await lab.run('emit("ready"); emit("message", text="I am about to")')
    assert report.outcome.kind is OutcomeKind.AGENT_FAILED
    assert "exit status 0" in report.outcome.reason


async def test_right_work_with_exit_status_1_passes_with_the_conflict_on_record(lab: Any) -> None:
    report = await lab.run(DONE + 'os.write(2, b"a server needs auth\\n"); sys.exit(1)', case=GRADED)
    assert report.passed
    assert "exit status 1" in report.outcome.conflicts[0]


async def test_a_fragment_at_the_end_is_kept_and_marked(lab: Any) -> None:
    program = """
emit("ready"); emit("usage", input=10, output=2); raw(b'{"type":"message","text":"I was sa')
os.kill(os.getpid(), signal.SIGKILL)
"""
    report = await lab.run(program)
    assert report.outcome.kind is OutcomeKind.AGENT_FAILED
    assert "signal 9" in report.outcome.reason
    assert report.spend.agent.tokens == Tokens(input=10, output=2)
    assert not report.spend.agent.complete


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"progress"',
        b'{"type":"dnoe"}',
        b'{"type":"usage","input":NaN}',
        b'{"type":"done","text":"A","text":"B"}',
        b"[" * 5000 + b"]" * 5000,
        b'{"type":"usage","input":1e400}',
        b"[1, 2]",
        b"7",
        b'"text"',
    ],
    ids=range(9),
)
async def test_a_line_that_is_no_message_is_on_record_and_kills_nothing(lab: Any, line: bytes) -> None:
    report = await lab.run(f'emit("ready"); raw({line!r} + b"\\n")\n' + DONE, case=GRADED)
    assert report.passed
    counts = report.last.counts
    assert counts.protocol_errors + counts.unknown_events + counts.noise_lines >= 1


async def test_a_message_of_an_unknown_type_is_kept(lab: Any) -> None:
    report = await lab.run('emit("ready"); emit("hologram", x=[1])\n' + DONE, case=GRADED)
    assert report.passed
    assert [event.kind for event in lab.events(Unknown)] == ["hologram"]


async def test_banners_colours_and_a_byte_order_mark_change_nothing(lab: Any) -> None:
    program = r"""
raw(b'\xef\xbb\xbfNow using node v20\n\x1b[?2004h\x1b[32mnotice\x1b[0m new version\n')
raw(b'\x1b[0m{"type":"ready"}\x1b[K\r\n\r\n   \r\n'); raw(b"Update available\n")
open("ok.txt", "w").close(); raw(b'{"type":"done","text":"ok\\r\\nok"}\r\n')
"""
    report = await lab.run(program, case=GRADED)
    assert report.passed
    assert report.last.answer == "ok\r\nok"
    assert report.last.counts.noise_lines == 3


async def test_bytes_that_are_no_text_and_lone_surrogates_survive_the_store(lab: Any) -> None:
    program = r"""
raw(b"\x00\xff\xfe\x80 binary \x00\n"); emit("ready")
open("ok.txt", "w").close(); raw(b'{"type":"done","text":"half \\ud83d and \\udcb2"}\n')
"""
    report = await lab.run(program, case=GRADED)
    assert report.passed
    assert report.last.answer == "half \ud83d and \udcb2"
    assert lab.events(Log)


async def test_no_bare_nan_is_written_anywhere(lab: Any) -> None:
    await lab.run('raw(b\'{"type":"usage","input":NaN,"output":Infinity,"cost_usd":NaN}\\n\')\n' + DONE)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in the store")

    for path in lab.store.rglob("*.jsonl"):
        for line in path.read_text().splitlines():
            json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize(
    "fields", ["input=-5, output=2", 'input="12"', "input=9e15, output=1", "cost_usd=-0.5", "input=1.5"]
)
async def test_absurd_usage_is_unknown_with_a_reason(lab: Any, fields: str) -> None:
    report = await lab.run(f'emit("ready"); emit("usage", {fields})\n' + DONE)
    spend = report.spend.agent
    assert spend.problems or report.last.counts.protocol_errors
    assert spend.cost.state is CostState.UNKNOWN
    assert spend.tokens is None or spend.tokens.total >= 0


async def test_cached_tokens_in_two_dialects_are_the_same_tokens(lab: Any) -> None:
    beside = 'emit("usage", input=700, cache_read=300, output=80)\n'
    among = 'emit("usage", input=1000, cache_read=300, output=80)\n'
    first = await lab.run('emit("ready")\n' + beside + DONE)
    second = await lab.run('emit("ready")\n' + among + DONE, config={"usage_dialect": "inclusive"})
    assert first.spend.agent.tokens == second.spend.agent.tokens == Tokens(input=700, cache_read=300, output=80)


async def test_a_silent_agent_that_works_is_quiet_and_one_that_sleeps_is_stalled(lab: Any) -> None:
    limits = Limits(idle_s=1.0, total_s=60, linger_s=0.5, grace_s=0.5)
    works = 'emit("ready")\nt = time.time()\nwhile time.time() - t < 3: sum(range(10000))\n' + DONE
    sleeps = 'emit("ready"); time.sleep(30)\n' + DONE
    assert (await lab.run(works, limits=limits)).outcome.kind is OutcomeKind.COMPLETED
    assert (await lab.run(sleeps, limits=limits)).outcome.kind is OutcomeKind.STALLED


async def test_there_is_no_terminal_and_nothing_to_read(lab: Any) -> None:
    program = """
sys.stdin.close()
try:
    open("/dev/tty").readline(); tty = "a terminal"
except OSError:
    tty = "no terminal"
emit("ready"); emit("done", text=tty)
"""
    assert (await lab.run(program)).last.answer == "no terminal"


@pytest.mark.parametrize("prompt", ["- [ ] fix --help; rm -rf \"$HOME\" `id`\n'quoted' \\ end ", "x" * 300_000])
async def test_the_exact_prompt_arrives(lab: Any, prompt: str) -> None:
    program = """
import hashlib
start = json.loads(sys.stdin.buffer.readline())
emit("ready"); emit("done", text=hashlib.sha256(start["prompt"].encode()).hexdigest())
"""
    report = await lab.run(program, case=Case("one", prompt))
    assert report.last.answer == hashlib.sha256(prompt.encode()).hexdigest()


async def test_the_environment_is_an_allow_list_and_all_places_are_the_trials_own(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "SOME_AGENT_SETTING", "PYTHONPATH", "FORCE_COLOR"):
        monkeypatch.setenv(name, "canary-env-1")
    monkeypatch.setenv("PWD", "/somewhere/host")
    program = 'emit("ready"); emit("done", text=json.dumps([dict(os.environ), os.getcwd()]))'
    environment, here = json.loads((await lab.run(program)).last.answer or "")
    assert "canary-env-1" not in json.dumps(environment)
    assert environment["PWD"] == here
    for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        assert Path(environment[name]).is_relative_to(Path(here).parent), name
    assert environment["NO_COLOR"] == "1"
    assert not any(word in here.lower() for word in ("eval", "test", "hidden", "quintain"))


async def test_repetitions_share_nothing(lab: Any) -> None:
    program = """
places = [os.environ["HOME"], os.environ["TMPDIR"], "..", "."]
found = [place for place in places if os.path.exists(os.path.join(place, "mark"))]
for place in places: open(os.path.join(place, "mark"), "w").close()
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", PORT)); s.listen()
if os.fork() == 0:
    os.setsid(); os.close(1); os.close(2); time.sleep(600); os._exit(0)
emit("ready"); emit("done", text=str(found))
"""
    with __import__("socket").socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = await quintain.run(
        [Case("one", "x")],
        driver=lab.driver(program.replace("PORT", str(port))),
        repeat=3,
        concurrency=1,
        store=lab.store,
        limits=Limits(linger_s=0.5, grace_s=0.5),
        retry=Retry(attempts=1),
    )
    assert [report.last.answer for report in result.reports()] == ["[]"] * 3


SECRET = "s3cr3t/+CANARY=="


async def test_a_secret_is_nowhere_in_the_store(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", SECRET)
    program = """
import base64, urllib.parse
k = os.environ["API_KEY"]
emit("ready"); emit("message", text="key: " + k); emit("message", text=base64.b64encode(k.encode()).decode())
emit("message", text=urllib.parse.quote(k, safe="")); emit("message", text=json.dumps({"k": json.dumps(k)}))
os.write(2, k.encode() + b"\\n"); raw(('{"type":"done","broken": ' + k + "\\n").encode())
open("log.txt", "w").write(k); os.makedirs("art"); open("art/dump.json", "w").write(json.dumps({"k": k}))
emit("fail_" + k); emit("done", text=k)
"""
    report = await lab.run(program, isolation=Isolation(secrets=("API_KEY",)))
    assert "[redacted:API_KEY]" in (report.last.answer or "")
    forms = [SECRET.encode(), b"czNjcjN0LytDQU5BUlk9PQ", b"s3cr3t%2F%2BCANARY"]
    for path in lab.store.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(form in data for form in forms), path


async def test_a_program_that_is_not_there_is_missing_and_named(lab: Any) -> None:
    from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

    result = await quintain.run(
        [Case("one", "x")], driver=subprocess_driver(SubprocessConfig(command=("no-such-agent",))), store=lab.store
    )
    (report,) = result.reports()
    assert (report.outcome.kind, report.outcome.failure) == (OutcomeKind.INFRASTRUCTURE, Failure.MISSING)
    assert "no-such-agent" in report.outcome.reason


async def test_a_retry_begins_with_clean_files(lab: Any) -> None:
    program = """
left = [name for name in os.listdir(".") if name.startswith("try")]
open("try%d" % len(left), "w").close()
emit("ready"); emit("error", reason="529 overloaded " + str(left), failure="overload")
"""
    report = await lab.run(program, retry=Retry(attempts=3, base_s={"overload": 0.01}))
    assert report.outcome.kind is OutcomeKind.INFRASTRUCTURE
    assert [attempt.outcome.reason for attempt in report.attempts] == ["529 overloaded []"] * 3


async def test_disk_and_processes_are_bounded(lab: Any) -> None:
    disk = 'emit("ready")\nopen("big", "wb").write(b"x" * 5_000_000); time.sleep(30)'
    limits = Limits(disk_bytes=1_000_000, linger_s=0.5, grace_s=0.5, total_s=40)
    report = await lab.run(disk, limits=limits)
    assert report.outcome.kind is OutcomeKind.BUDGET_STOPPED
    assert "bytes of disk" in report.outcome.reason
    forks = 'emit("ready")\nfor _ in range(9): subprocess.Popen(["sleep", "30"])\ntime.sleep(30)'
    report = await lab.run(forks, limits=Limits(processes=4, linger_s=0.5, grace_s=0.5, total_s=40))
    assert report.outcome.kind is OutcomeKind.BUDGET_STOPPED
    assert "processes at once" in report.outcome.reason


async def test_a_killed_agent_leaves_its_usage_as_a_lower_bound(lab: Any) -> None:
    program = """
emit("ready")
for i in range(500):
    emit("usage", id=str(i), input=1000, output=100); time.sleep(0.02)
"""
    report = await lab.run(program, limits=Limits(total_s=1.5, grace_s=0.5, linger_s=0.5))
    assert report.outcome.kind is OutcomeKind.TIMED_OUT
    spend = report.spend.agent
    assert spend.tokens is not None
    assert spend.tokens.input == 1000 * spend.calls > 0
    assert not spend.complete
    assert spend.cost.state is CostState.UNKNOWN


async def test_agents_that_exit_at_once_all_complete(lab: Any) -> None:
    from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

    script = """printf '{"type":"ready"}\\n{"type":"message","text":"hi"}\\n{"type":"done","text":"ok"}\\n'"""
    count = int(os.environ.get("QUINTAIN_FAST_EXITS", "400"))
    result = await quintain.run(
        [Case("fast", "x", assertions=(quintain.check(lambda e: e.answer == "ok", id="answer"),))],
        driver=subprocess_driver(SubprocessConfig(command=("/bin/sh", "-c", script))),
        repeat=count,
        concurrency=8,
        store=lab.store,
    )
    assert result.summary.tally.passed == count, result.summary.tally
