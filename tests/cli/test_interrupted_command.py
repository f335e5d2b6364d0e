"""Ctrl-C before a run has begun is no fault of anybody's."""

from __future__ import annotations

import pytest
from quintain.cli import list_command
from quintain.cli.main import run


def test_a_command_that_is_interrupted_says_so_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(list_command, "run", interrupted)
    assert run(["list"]) == 130
    assert capsys.readouterr().err == "quintain: interrupted\n"
