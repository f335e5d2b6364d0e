"""The real Claude Code passes the suite that every driver passes, talking to a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drivers_claude_code import wrapper
from models.anthropic import call, prompts, results, say, turn
from models.server import ModelServer, Request, Turn, by_turn
from quintain import Bound
from quintain.testing import DriverConformance

QUESTION = {"question": "Which one?", "header": "One", "multiSelect": False}
OPTIONS = [{"label": "a", "description": "the first"}, {"label": "b", "description": "the second"}]


class TestClaudeCode(DriverConformance):
    @pytest.fixture(autouse=True)
    def _bound(
        self,
        bind: Callable[..., Bound[Any]],
        server: ModelServer,
        claude: Path,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        self.bind = bind
        self.server = server
        self.claude = claude
        self.place = tmp_path_factory.mktemp("wrappers")

    def says(self, *turns: Turn, **config: Any) -> Bound[Any]:
        self.server.script = by_turn(*turns)
        return self.bind(**config)

    def completing(self) -> Bound[Any]:
        return self.says(turn(say("done")))

    def echoing(self) -> Bound[Any]:
        def echo(request: Request) -> Turn:
            return turn(say(prompts(request)[-1]))

        self.server.script = echo
        return self.bind()

    def asking(self) -> Bound[Any]:
        def script(request: Request) -> Turn:
            answers = [str(result["content"]) for result in results(request).values()]
            asks = call("AskUserQuestion", questions=[{**QUESTION, "options": OPTIONS}])
            return turn(say(answers[0])) if answers else turn(asks)

        self.server.script = script
        return self.bind()

    def approving(self) -> Bound[Any]:
        return self.says(turn(call("Bash", command="touch made")), turn(say("ok")), allowed_tools=())

    def hanging(self) -> Bound[Any]:
        return self.says(Turn(hang=True))

    def failing(self) -> Bound[Any]:
        return self.says(Turn(status=400, message="no way"))

    def dying_while_asking(self) -> Bound[Any]:
        program = wrapper.write(self.place, self.claude, 'put(relay(b"can_use_tool")); die()')
        asks = call("AskUserQuestion", questions=[{**QUESTION, "options": OPTIONS}])
        return self.says(turn(asks), executable=str(program))

    def using_tools(self) -> Bound[Any]:
        return self.says(turn(call("Bash", command="echo a"), call("Bash", command="echo b")), turn(say("done")))

    def printing(self, variable: str) -> Bound[Any]:
        command = f"echo ${variable}; echo ${variable} >&2; echo ${variable} > left.txt"
        return self.says(turn(call("Bash", command=command)), turn(say("done")), allowed_tools=("Bash",))


def test_the_program_is_the_pinned_one(claude: Path) -> None:
    assert claude.resolve().name == "claude.exe"
