"""What lies in the private home of a trial, and what doesn't."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quintain import Failure, QuintainError
from quintain.driving import HomeError
from quintain_driver_codex import CodexConfig
from quintain_driver_codex._home import NoCredentials, lay_out


@pytest.fixture
def user(tmp_path: Path) -> Path:
    place = tmp_path / "user"
    for folder in ("prompts", "skills/s", "sessions", "log"):
        (place / folder).mkdir(parents=True)
    (place / "config.toml").write_text('model = "m"\n[projects."/somewhere"]\ntrust_level = "trusted"\n')
    (place / "AGENTS.md").write_text("be good")
    (place / "prompts" / "p.md").write_text("p")
    (place / "skills" / "s" / "SKILL.md").write_text("s")
    (place / "history.jsonl").write_text("what was said")
    (place / "auth.json").write_text('{"tokens": "of the user"}')
    return place


def laid_out(tmp_path: Path, user: Path, environment: dict[str, str] | None = None, **config: Any) -> Path:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    launch: Any = SimpleNamespace(home=home, workspace=tmp_path / "work", environment=environment or {})
    env = lay_out(CodexConfig(**{"credentials": "login"} | config), launch, user)
    return Path(env["CODEX_HOME"])


def test_a_clean_one_has_settings_and_the_login_and_nothing_else(tmp_path: Path, user: Path) -> None:
    place = laid_out(tmp_path, user)
    assert sorted(path.name for path in place.iterdir()) == ["auth.json", "config.toml"]
    assert json.loads((place / "auth.json").read_text()) == {"tokens": "of the user"}
    assert "model" not in tomllib.loads((place / "config.toml").read_text())


def test_nobody_else_can_read_it(tmp_path: Path, user: Path) -> None:
    place = laid_out(tmp_path, user)
    assert [path.stat().st_mode & 0o077 for path in (place, *place.iterdir())] == [0, 0, 0]


def test_a_key_is_no_login(tmp_path: Path, user: Path) -> None:
    place = laid_out(tmp_path, user, {"OPENAI_API_KEY": "k"}, credentials="key")
    assert json.loads((place / "auth.json").read_text()) == {"OPENAI_API_KEY": "k"}


def test_a_provider_of_ones_own_gets_no_login(tmp_path: Path, user: Path) -> None:
    providers = {"model_provider": "p", "model_providers": {"p": {"name": "p", "env_key": "P_KEY"}}}
    assert not (laid_out(tmp_path, user, {"OPENAI_API_KEY": "k"}, config=providers) / "auth.json").exists()


def test_a_login_may_be_a_link(tmp_path: Path, user: Path) -> None:
    (user / "auth.json").rename(user / "elsewhere.json")
    (user / "auth.json").symlink_to("elsewhere.json")
    assert json.loads((laid_out(tmp_path, user) / "auth.json").read_text()) == {"tokens": "of the user"}


@pytest.mark.parametrize(
    ("kind", "words"), [("missing", "nobody is logged in"), ("pipe", "is no file"), ("key", "has no OPENAI_API_KEY")]
)
def test_without_credentials_nothing_starts(tmp_path: Path, user: Path, kind: str, words: str) -> None:
    (user / "auth.json").unlink()
    if kind == "pipe":
        os.mkfifo(user / "auth.json")
    with pytest.raises(NoCredentials, match=words) as raised:
        laid_out(tmp_path, user, credentials="key" if kind == "key" else "login")
    assert raised.value.failure is Failure.AUTH


def test_that_of_the_user_has_what_steers_it_and_neither_sessions_nor_trust(tmp_path: Path, user: Path) -> None:
    place = laid_out(tmp_path, user, isolation="user")
    assert sorted(path.name for path in place.iterdir()) == [
        "AGENTS.md",
        "auth.json",
        "config.toml",
        "prompts",
        "skills",
    ]
    found = tomllib.loads((place / "config.toml").read_text())
    assert found["model"] == "m"
    assert found["projects"] == {str(tmp_path / "work"): {"trust_level": "trusted"}}


def test_a_skill_that_is_not_there_is_told(tmp_path: Path, user: Path) -> None:
    with pytest.raises(QuintainError, match="no directory"):
        laid_out(tmp_path, user, skills=[str(tmp_path / "nothing")])


def test_a_home_that_cannot_be_made_is_no_fault_of_the_agent(tmp_path: Path, user: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".codex").write_text("a file in the way")
    with pytest.raises(HomeError, match="can't be made") as raised:
        laid_out(tmp_path, user)
    assert raised.value.failure is Failure.CRASH
    assert HomeError("Codex", OSError(28, "No space left on device", "x")).failure is Failure.DISK
