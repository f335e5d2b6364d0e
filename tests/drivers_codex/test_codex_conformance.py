"""The driver passes the suite that every driver passes, with the real Codex."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drivers_codex.conftest import settings
from models.responses import call, prompts, results, say, shell, turn
from models.server import ModelServer, Request, Turn
from quintain import Bound
from quintain.testing import DriverConformance
from quintain_driver_codex import codex_driver
from quintain_driver_codex._binary import behind

OPTIONS = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
QUESTION = {"id": "q", "header": "Q", "question": "Which?", "options": OPTIONS}


def script(request: Request) -> Turn:
    """What the model does is the name of the model."""
    behaviour, _, rest = request.data["model"].partition(":")
    told = list(results(request).values())
    if behaviour == "hangs":
        return Turn(hang=True)
    if behaviour == "fails":
        return Turn(status=400, message="no way")
    if behaviour == "echoes":
        return turn(say(prompts(request)[-1]))
    if told:
        asked = behaviour == "asks"
        return turn(say(json.loads(told[-1])["answers"]["q"]["answers"][0] if asked else str(told[-1])))
    first = {
        "asks": call("request_user_input", questions=[QUESTION]),
        "approves": shell("true", sandbox_permissions="require_escalated", justification="may I?"),
        "works": shell("echo hi"),
        "prints": shell(f'echo "${rest}"; echo "${rest}" > left.txt'),
    }
    return turn(first[behaviour] if behaviour in first else say("ok"))


class TestCodex(DriverConformance):
    @pytest.fixture(autouse=True)
    def _ready(
        self, codex: str, faulty: Callable[[str], str], serve: Callable[..., ModelServer], tmp_path: Path
    ) -> None:
        self.faulty, self.models = faulty, serve(script)
        # A few words in front of the real program, or each test would take the digest of its 300 MB again.
        wrapper = tmp_path / "codex"
        wrapper.write_text(f'#!/bin/sh\nexec {behind(Path(codex).resolve())} "$@"\n')
        wrapper.chmod(0o755)
        self.codex = str(wrapper)

    def _bound(self, model: str, **config: Any) -> Bound[Any]:
        return codex_driver(**settings(self.models, config.pop("executable", self.codex), model=model, **config))

    def completing(self) -> Bound[Any]:
        return self._bound("finishes")

    def echoing(self) -> Bound[Any]:
        return self._bound("echoes")

    def asking(self) -> Bound[Any]:
        return self._bound("asks")

    def approving(self) -> Bound[Any]:
        return self._bound("approves")

    def hanging(self) -> Bound[Any]:
        return self._bound("hangs")

    def failing(self) -> Bound[Any]:
        return self._bound("fails")

    def dying_while_asking(self) -> Bound[Any]:
        return self._bound("asks", executable=self.faulty("dies_asking"))

    def using_tools(self) -> Bound[Any]:
        return self._bound("works")

    def printing(self, variable: str) -> Bound[Any]:
        return self._bound(f"prints:{variable}")
