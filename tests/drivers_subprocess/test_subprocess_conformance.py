"""The driver passes the suite that every driver passes: in JSON lines, in the older protocol and in plain text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from quintain import Bound
from quintain.testing._driver import DriverConformance
from quintain_driver_subprocess import subprocess_driver

START = "import os, sys, time, quintain_agent\nagent = quintain_agent.start(name='kit', version='1')\n"
DONE = "agent.use(input=10, output=2, cost_usd=0.001)\n"


class _Scripts:
    """Agents of a few lines of Python."""

    settings: dict[str, Any]
    prelude: str

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.place: Path = tmp_path_factory.mktemp("agents")

    def agent(self, code: str) -> Bound[Any]:
        path = self.place / "agent.py"
        path.write_text(self.prelude + code)
        return subprocess_driver(command=(sys.executable, str(path)), **self.settings)


class TestJsonLines(_Scripts, DriverConformance):
    settings: dict[str, Any] = {}  # noqa: RUF012  # never changed
    prelude = START

    def completing(self) -> Bound[Any]:
        return self.agent(DONE + "agent.say('hi')\nagent.done('ok')")

    def echoing(self) -> Bound[Any]:
        return self.agent(DONE + "agent.done(agent.prompt)")

    def asking(self) -> Bound[Any]:
        return self.agent(DONE + "agent.done(agent.ask('which?'))")

    def approving(self) -> Bound[Any]:
        return self.agent(DONE + "agent.done(str(agent.approve('may I?')))")

    def hanging(self) -> Bound[Any]:
        return self.agent("time.sleep(600)")

    def failing(self) -> Bound[Any]:
        return self.agent("agent.fail('no way')")

    def dying_while_asking(self) -> Bound[Any]:
        return self.agent("agent.send('question', id='q', text='?')\nos._exit(1)")

    def using_tools(self) -> Bound[Any]:
        code = "for n in range(3):\n    with agent.tool('sh', {'n': n}) as tool: tool.result(str(n))\n"
        return self.agent(code + DONE + "agent.done()")

    def printing(self, variable: str) -> Bound[Any]:
        code = f"secret = os.environ[{variable!r}]\nprint(secret)\nprint(secret, file=sys.stderr)\nagent.say(secret)\n"
        code += "agent.send(secret, **{secret: secret})\nopen('left.txt', 'w').write(secret)\n"
        return self.agent(code + DONE + "agent.done(secret)")


OLDER = """
import json, os, sys, time
def say(**fields): print(json.dumps(fields), flush=True)
def tell(kind, payload): say(type="progress", id="p", kind=kind, payload=payload)
def hear(): return json.loads(sys.stdin.readline())
say(type="ready", agentId="old")
tell("usage", {"input": 10, "output": 2})
"""
OLDER_DONE = 'say(type="done", summary={"usage": {"input": 10, "output": 2}, "cost": 0.001})\n'


class TestOlderProtocol(_Scripts, DriverConformance):
    settings: dict[str, Any] = {"protocol": 1}  # noqa: RUF012  # never changed
    prelude = OLDER

    def completing(self) -> Bound[Any]:
        return self.agent(OLDER_DONE)

    def asking(self) -> Bound[Any]:
        code = "say(type='interrupt', kind='ask', id='1', question='which?')\n"
        return self.agent(code + "tell('agent-message', {'text': hear()['text']})\n" + OLDER_DONE)

    def approving(self) -> Bound[Any]:
        code = "say(type='interrupt', kind='approve', id='1', request='may I?')\nhear()\n"
        return self.agent(code + OLDER_DONE)

    def failing(self) -> Bound[Any]:
        return self.agent("say(type='error', reason='no way')")

    def dying_while_asking(self) -> Bound[Any]:
        return self.agent("say(type='interrupt', kind='ask', id='1', question='which?')\nos._exit(1)")

    def using_tools(self) -> Bound[Any]:
        code = "tell('tool-call', {'name': 'sh', 'input': 1, 'toolUseId': 't'})\n"
        code += "tell('tool-result', {'name': 'sh', 'content': 'x', 'isError': False, 'toolUseId': 't'})\n"
        return self.agent(code + OLDER_DONE)


class TestPlainText(_Scripts, DriverConformance):
    settings: dict[str, Any] = {"mode": "text"}  # noqa: RUF012  # never changed
    prelude = "import os, sys, time\n"

    def completing(self) -> Bound[Any]:
        return self.agent("print('ok')")

    def hanging(self) -> Bound[Any]:
        return self.agent("time.sleep(600)")

    def failing(self) -> Bound[Any]:
        return self.agent("print('half'); sys.exit('no way')")

    def printing(self, variable: str) -> Bound[Any]:
        return self.agent(f"print(os.environ[{variable!r}]); print(os.environ[{variable!r}], file=sys.stderr)")
