"""Stands in for Cursor's command line, which can't be had for tests: its options, its stream and its quirks as they are
publicly described. What it does is the name of the model that is asked for; see `SITUATIONS`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

VERSION = "2026.09.18-9a7762b"
SESSION = str(uuid.uuid4())
UNTRUSTED = """
⚠ Workspace Trust Required

  Cursor Agent can execute code and access files in this directory.

  To proceed, you can either:
    • Run 'agent' interactively to decide
    • Pass --trust, --yolo, or -f if you trust this directory
"""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="cursor-agent", allow_abbrev=False)
    found.add_argument("-v", "--version", action="version", version=VERSION)
    found.add_argument("-p", "--print", action="store_true")
    found.add_argument("--output-format", choices=["text", "json", "stream-json"], default="text")
    found.add_argument("--stream-partial-output", action="store_true")
    found.add_argument("-f", "--force", "--yolo", action="store_true")
    found.add_argument("--trust", action="store_true")
    found.add_argument("--approve-mcps", action="store_true")
    found.add_argument("--model", default="auto")
    found.add_argument("--mode", choices=["plan", "ask"])
    found.add_argument("--sandbox", choices=["enabled", "disabled"])
    found.add_argument("--api-key")
    found.add_argument("--resume")
    found.add_argument("--workspace")
    found.add_argument("prompt", nargs="*")
    return found


class Stream:
    """What it writes, one JSON object a line."""

    def __init__(self, options: argparse.Namespace, prompt: str) -> None:
        self.options, self.prompt = options, prompt
        self.said: list[str] = []

    def emit(self, type: str, **fields: Any) -> None:
        self.write(json.dumps({"type": type, **fields, "session_id": SESSION}, ensure_ascii=False).encode() + b"\n")

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def begin(self) -> None:
        model = {"auto": "Auto"}.get(self.options.model, self.options.model.title())
        init = {"subtype": "init", "apiKeySource": "env", "cwd": str(Path.cwd()), "model": model}
        self.emit("system", **init, permissionMode="default")
        self.emit("user", message={"role": "user", "content": [{"type": "text", "text": self.prompt}]})

    def think(self, text: str) -> None:
        for part in (text[: len(text) // 2], text[len(text) // 2 :]):
            self.emit("thinking", subtype="delta", text=part, timestamp_ms=1)
        self.emit("thinking", subtype="completed", timestamp_ms=2)

    def say(self, text: str, *, before_tool: bool = False) -> None:
        def told(part: str, **more: Any) -> None:
            self.emit("assistant", message={"role": "assistant", "content": [{"type": "text", "text": part}]}, **more)

        self.said.append(text)
        if self.options.stream_partial_output:
            half = len(text) // 2
            told(text[:half], timestamp_ms=1)
            told(text[half:], timestamp_ms=2)
        told(text, **({"model_call_id": "m", "timestamp_ms": 3} if before_tool else {}))

    def tool(self, kind: str, args: dict[str, Any], result: dict[str, Any] | None, id: str | None = None) -> None:
        # Real ids have been seen with a line end in them.
        call = id or f"tool_{uuid.uuid4()}\nfc_1"
        beside = {"toolCallId": call, "startedAtMs": "1000", "hookAdditionalContexts": []}
        body = {**beside, f"{kind}ToolCall": {"args": args}}
        self.emit("tool_call", subtype="started", call_id=call, tool_call=body, model_call_id="m", timestamp_ms=4)
        if result is not None:
            done = {**beside, "completedAtMs": "1500", f"{kind}ToolCall": {"args": args, "result": result}}
            self.emit("tool_call", subtype="completed", call_id=call, tool_call=done, model_call_id="m", timestamp_ms=5)

    def shell(self, command: str) -> None:
        args = {"command": command, "workingDirectory": "", "timeout": 30000}
        if not self.options.force or f"Shell({command.split()[0]})" in denied():
            self.tool("shell", args, {"rejected": {"command": command, "reason": "not allowed in print mode"}})
            return
        ran = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
        result = {"exitCode": ran.returncode, "stdout": ran.stdout, "stderr": ran.stderr, "executionTime": 12}
        self.tool("shell", args, {"success": {**result, "command": command}})

    def file(self, path: str, text: str) -> None:
        Path(path).write_text(text)
        args = {"path": path, "fileText": text, "toolCallId": "c"}
        self.tool("write", args, {"success": {"path": path, "linesCreated": 1, "fileSize": len(text)}})

    def end(self, **more: Any) -> None:
        fields = {"subtype": "success", "is_error": False, "duration_ms": 1234, "duration_api_ms": 1200}
        self.emit("result", **{**fields, "result": "".join(self.said), "request_id": str(uuid.uuid4()), **more})


USAGE = {"inputTokens": 100, "outputTokens": 30, "cacheReadTokens": 20, "cacheWriteTokens": 10}


def denied() -> list[str]:
    settings = Path(os.environ.get("CURSOR_CONFIG_DIR") or Path.home() / ".cursor") / "cli-config.json"
    found: list[str] = json.loads(settings.read_text())["permissions"]["deny"] if settings.exists() else []
    return found


def works(stream: Stream) -> None:
    stream.think("I should look first.")
    stream.say("Let me see.", before_tool=True)
    stream.shell("echo hi")
    stream.file("new.txt", "hello\n")
    stream.say("All done.")
    stream.end()


def obeys(stream: Stream) -> None:
    """Does what a preflight asks for."""
    for path in re.findall(r"write a file (\S+)", stream.prompt):
        stream.file(path, "ready")
    for command in re.findall(r"`([^`]+)`", stream.prompt):
        stream.shell(command)
    stream.say("ready")
    stream.end()


def echoes(stream: Stream) -> None:
    stream.say(stream.prompt)
    stream.end()


def counts(stream: Stream) -> None:
    stream.say("ok")
    stream.end(usage=USAGE)


def runs(stream: Stream) -> None:
    """The command is in the environment."""
    stream.shell(os.environ["STAND_IN_COMMAND"])
    stream.say("done")
    stream.end()


def servers(stream: Stream) -> None:
    place = Path(os.environ["CURSOR_CONFIG_DIR"]) / "mcp.json"
    stream.say(json.dumps({"approved": stream.options.approve_mcps, "servers": json.loads(place.read_text())}))
    mcp = {"name": "tiny-add", "toolName": "add", "providerIdentifier": "tiny", "args": {"a": 1}}
    stream.tool("mcp", mcp, {"success": {"content": "2"}})
    stream.tool("mcp", mcp, {"error": {"error": "no such number"}})
    stream.end()


def hangs(stream: Stream) -> None:
    time.sleep(600)


def lingers(stream: Stream) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stream.say("ok")
    stream.end()
    time.sleep(600)


def grandchild(stream: Stream) -> None:
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    stream.say("ok")
    stream.end()


def fails(stream: Stream) -> None:
    """With words on its error output and a stream that just ends."""
    stream.say("I will")
    sys.stderr.write("Error: something broke\n")
    sys.exit(1)


def silent(stream: Stream) -> None:
    """Ends well and says no result."""
    stream.say("I will")


def limited(stream: Stream) -> None:
    """With a bare line among its JSON."""
    stream.write(b"T: You've hit your usage limit\n")
    sys.exit(1)


def wrong(stream: Stream) -> None:
    """Success and error at once."""
    stream.end(is_error=True, result="Connection error: 429 Too Many Requests")


def errors(stream: Stream) -> None:
    stream.end(subtype="error", is_error=True, result="the task can't be done")


def noisy(stream: Stream) -> None:
    stream.write(b'Update available\r\n\r\n\x1b[?25l[1]\n"text"\n7\n')
    stream.write(b'{"type": "hologram", "x": NaN}\n{"type": "assistant"\n{"type": "tool_call", "subtype": "started"}\n')
    stream.emit("interaction_query", subtype="request", query={"id": 1})
    stream.write(
        b'\xef\xbb\xbf\x1b[0m{"type": "assistant", "message": {"content": [{"type": "text", "text": "caf\xe9"}]}}\x1b[K\r\n'
    )
    stream.say("All done.")
    stream.end()


def huge(stream: Stream) -> None:
    before = "A" * 12_000_000
    stream.tool("edit", {"path": "a"}, {"success": {"path": "a", "beforeFullFileContent": before, "diffString": "+"}})
    stream.say("All done.")
    stream.end()


def cut(stream: Stream) -> None:
    stream.say("partial")
    stream.tool("read", {"path": "a"}, None)
    stream.write(b'{"type":"assistant","message":{"content":[{"type":"text","text":"I was sa')
    os.kill(os.getpid(), signal.SIGKILL)


def parallel(stream: Stream) -> None:
    for id in ("a", "b"):
        stream.tool("read", {"path": id}, None, id)
    for id in ("b", "a"):
        stream.tool("read", {"path": id}, {"success": {"content": id.upper(), "totalLines": 1}}, id)
    stream.tool("read", {"path": "z"}, {"error": {"errorMessage": "no such file"}}, "z")
    stream.emit(
        "tool_call",
        subtype="started",
        call_id="f",
        tool_call={"function": {"name": "lookup", "arguments": '{"a": 1}'}},
    )
    stream.say("ok")
    stream.end()


def talks_on(stream: Stream) -> None:
    stream.say("ok")
    stream.end()
    stream.say("PS")
    stream.end(result="another")


def prints(stream: Stream, variable: str) -> None:
    secret = os.environ[variable]
    stream.shell(f'echo "${variable}" | tee left.txt')
    stream.write(secret.encode() + b"\n")
    sys.stderr.write(secret)
    stream.say(secret)
    stream.end()


SITUATIONS: dict[str, Callable[[Stream], None]] = {
    one.__name__: one
    for one in (
        works,
        obeys,
        echoes,
        counts,
        runs,
        servers,
        hangs,
        lingers,
        grandchild,
        fails,
        silent,
        limited,
        wrong,
        errors,
        noisy,
        huge,
        cut,
        parallel,
        talks_on,
    )
}


def main() -> None:
    options = parser().parse_args()
    # An open input that says nothing keeps it waiting, as it does the real one.
    prompt = " ".join(options.prompt) if options.prompt else sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    if not options.print:
        sys.exit("this stand-in has no windows")
    if not (options.trust or options.force):
        print(UNTRUSTED)
        sys.exit(0)
    if not (os.environ.get("CURSOR_API_KEY") or options.api_key):
        sys.stderr.write("Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY.\n")
        print("Authentication required")
        sys.exit(1)
    if options.output_format != "stream-json":
        sys.exit("this stand-in has no other format")
    stream = Stream(options, prompt)
    name, _, rest = options.model.partition(":")
    if name == "nope":
        print("Cannot use this model: nope. Available models: auto, gpt-5.5")
        sys.exit(1)
    stream.begin()
    if name == "prints":
        prints(stream, rest)
    else:
        SITUATIONS.get(name, works)(stream)


main()
