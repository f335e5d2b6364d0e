"""What a user may say about their program, and what an experiment demands."""

from __future__ import annotations

from typing import Any

import pytest
from quintain import Capability, Plugins, PolicyViolation
from quintain.errors import RecordError
from quintain.model.codec import from_plain, to_plain
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

POLICY = subprocess_driver.experiment


def test_the_driver_is_found_by_its_entry_point() -> None:
    assert Plugins.from_entry_points().driver("subprocess") is subprocess_driver


def test_a_file_says_it_as_plain_data() -> None:
    plain = {"command": ["agent", "-x"], "mode": "text", "env": {"A": "b"}, "cwd": "sub/dir"}
    config = from_plain(plain, SubprocessConfig)
    assert config == SubprocessConfig(("agent", "-x"), "text", env={"A": "b"}, cwd="sub/dir")
    assert from_plain(to_plain(config), SubprocessConfig) == config


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({}, "command"),
        ({"command": []}, "`command` names no program"),
        ({"command": [""]}, "`command` names no program"),
        ({"command": "agent -x"}, "list"),
        ({"command": ["{prompt}"]}, "place of the program"),
        ({"command": ["a"], "comand": 1}, "did you mean `command`"),
        ({"command": ["a"], "mode": "xml"}, "mode"),
        ({"command": ["a"], "protocol": 3}, "protocol"),
        ({"command": ["a"], "usage_dialect": "both"}, "usage_dialect"),
        ({"command": ["a"], "mode": "text", "protocol": 1}, '`protocol` is for mode "jsonl"'),
        ({"command": ["a"], "mode": "text", "model": "m"}, "`model` is told only by protocol 2"),
        ({"command": ["a"], "cwd": "/tmp"}, "`cwd`"),
        ({"command": ["a"], "cwd": "../x"}, "`cwd`"),
        ({"command": ["a"], "cwd": ""}, "`cwd`"),
        ({"command": ["a"], "env": {"A": 1}}, "env"),
        ({"command": ["a"], "helper": "no"}, "helper"),
    ],
)
def test_what_can_not_be_meant_is_refused(plain: dict[str, Any], words: str) -> None:
    with pytest.raises(RecordError) as caught:
        from_plain(plain, SubprocessConfig)
    assert words in str(caught.value)


def test_one_text_is_no_command_in_code_either() -> None:
    with pytest.raises(ValueError, match="no shell"):
        SubprocessConfig("agent -x")


def test_the_mode_decides_what_can_be_reported() -> None:
    def can(**settings: Any) -> frozenset[Capability]:
        return subprocess_driver.runtime(SubprocessConfig(("a",), **settings)).capabilities

    assert Capability.QUESTIONS in can()
    assert Capability.INTERRUPT in can()
    assert can() - can(protocol=1) == {Capability.INTERRUPT}
    assert can(mode="text") == {Capability.SANDBOX}


def test_an_unknown_program_is_never_asked_for_its_version() -> None:
    runtime = subprocess_driver.runtime(SubprocessConfig(("a", "b"), model="m"))
    assert [(executable.name, executable.version_args) for executable in runtime.executables] == [("a", None)]
    assert (runtime.model, runtime.host_environment) == ("m", ())


def test_an_experiment_takes_an_absolute_wrapper_as_it_is() -> None:
    config = SubprocessConfig(("/opt/agent",), mode="text")
    assert POLICY.prepare(config) == config
    assert POLICY.version == "1"


@pytest.mark.parametrize(
    ("settings", "words", "instead"),
    [
        ({"command": ("agent",)}, "absolute path", 'command = ["/path/to/agent"]'),
        ({"command": ("./agent",)}, "absolute path", "/path/to/agent"),
        ({"command": ("/opt/agent", "-x")}, "arguments (-x)", "small executable script"),
        ({"command": ("/opt/agent",), "cwd": "sub"}, "`cwd`", "fixtures"),
        ({"command": ("/opt/agent",), "env": {"KEY": "s3cret"}}, "`env` sets KEY", "`secrets`"),
    ],
)
def test_an_experiment_refuses_what_is_in_no_digest(settings: dict[str, Any], words: str, instead: str) -> None:
    with pytest.raises(PolicyViolation) as caught:
        POLICY.prepare(SubprocessConfig(**settings))
    assert words in str(caught.value)
    assert caught.value.where in settings
    assert instead in str(caught.value)
    assert "s3cret" not in str(caught.value)
