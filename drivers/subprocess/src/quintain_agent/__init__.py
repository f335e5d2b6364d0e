"""Write an agent in Python that Quintain can run. This one file needs nothing but Python 3.8.

    agent = quintain_agent.start(name="my-agent")
    with agent.tool("write", {"path": "hello.txt"}) as tool:
        open("hello.txt", "w").write("hello")
        tool.result("5 characters")
    agent.done("Written.")

From `start` on standard output and input belong to the protocol: what the program or its children print goes to
standard error, and whoever reads standard input finds it at its end.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn


class Tool:
    """One use of a tool, as a context: its result is reported when it is given, at the end if it isn't."""

    def __init__(self, agent: Agent, id: str, name: str) -> None:
        self._agent, self.id, self.name = agent, id, name
        self._began = time.monotonic()
        self._open = True

    def result(self, text: str = "", *, output: Any = None, error: bool = False, denied: bool = False) -> None:
        """Report what came of it."""
        self._open = False
        said = {"text": text, "output": output, "error": error, "denied": denied}
        took = round(time.monotonic() - self._began, 6)
        self._agent.send("tool_result", id=self.id, name=self.name, duration_s=took, **said)

    def __enter__(self) -> Tool:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._open:
            self.result("" if error is None else f"{kind.__name__}: {error}", error=error is not None)


class Agent:
    """The agent's end of the conversation; made by `start`. What the host said is in its attributes."""

    def __init__(self, start: dict[str, Any], reader: IO[bytes], writer: IO[bytes]) -> None:
        self.prompt: str = start["prompt"]
        self.workspace: str = start["workspace"]
        self.case: str = start["case"]
        self.trial: str = start["trial"]
        self.attempt: int = start["attempt"]
        self.seed: int = start["seed"]
        self.deadline_s: float | None = start["deadline_s"]
        self.max_usd: float | None = start["max_usd"]
        self.max_tokens: int | None = start["max_tokens"]
        self.subject: str | None = start.get("subject")
        self.model: str | None = start["model"]  # the one that is asked for
        self._reader, self._writer = reader, writer
        self._ids = itertools.count(1)
        self._sending, self._asking = threading.Lock(), threading.Lock()

    def send(self, type: str, **fields: Any) -> None:
        """Send any message; fields that are None are left out."""
        message = {"type": type, **{name: value for name, value in fields.items() if value is not None}}
        with self._sending:
            self._writer.write(json.dumps(message, allow_nan=False).encode() + b"\n")
            self._writer.flush()

    def say(self, text: str, *, id: str | None = None) -> None:
        """Say something; parts with one id are one message."""
        self.send("message", text=text, id=id)

    def think(self, text: str) -> None:
        """Think aloud."""
        self.send("reasoning", text=text)

    def progress(self, text: str) -> None:
        """Give a sign of life."""
        self.send("progress", text=text)

    def artifact(self, path: str, *, name: str | None = None) -> None:
        """Point at a file of the workspace that matters."""
        self.send("artifact", path=path, name=name)

    def tool(self, name: str, input: Any = None) -> Tool:
        """Say that a tool is used: `with agent.tool("shell", {"command": "ls"}) as tool: tool.result("...")`."""
        tool = Tool(self, f"t{next(self._ids)}", name)
        self.send("tool_call", id=tool.id, name=name, input=input)
        return tool

    def use(self, *, input: int | None = None, output: int | None = None, **more: Any) -> None:
        """Report usage: `cache_read`, `cache_write`, `reasoning`, `cost_usd`, `model`, `id` and `scope` as well."""
        self.send("usage", input=input, output=output, **more)

    def ask(self, text: str, *, options: Sequence[str] = (), payload: Any = None) -> str | None:
        """Ask and wait for the answer; None if it is refused."""
        answer = self._ask("ask", text=text, options=list(options), payload=payload)
        return None if answer["refused"] else answer["text"]

    def approve(self, text: str, *, payload: Any = None) -> bool:
        """Ask for permission and wait."""
        return bool(self._ask("approve", text=text, payload=payload)["approved"])

    def request(self, payload: Any, *, text: str = "") -> Any:
        """Ask something of another form and wait for whatever comes back."""
        return self._ask("custom", text=text, payload={} if payload is None else payload)["payload"]

    def done(self, text: str = "", **more: Any) -> None:
        """Say that the work is finished, and what the answer is. Then end."""
        self.send("done", text=text, **more)

    def fail(self, reason: str, **more: Any) -> NoReturn:
        """Say that it can't go on, and end the program."""
        self.send("error", reason=reason, **more)
        raise SystemExit(1)

    def _ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        with self._asking:
            id = f"q{next(self._ids)}"
            self.send("question", id=id, kind=kind, **fields)
            for line in iter(self._reader.readline, b""):
                answer: dict[str, Any] = json.loads(line)
                if answer["type"] == "cancel":
                    raise SystemExit("the host asked to stop")
                if answer.get("id") == id:
                    return answer
        raise SystemExit("the host has gone without an answer")


def start(*, name: str | None = None, version: str | None = None, model: str | None = None, **detail: Any) -> Agent:
    """Read the task, once and at the beginning, and say who the agent is and what else is worth recording of it."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    atexit.register(reader.close)
    atexit.register(writer.close)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        agent = Agent(json.loads(reader.readline()), reader, writer)
    except (ValueError, KeyError, TypeError):
        sys.exit("this program is an agent: let Quintain run it")
    agent.send("ready", agent=name, version=version, model=model, detail=detail or None)
    return agent
