"""What a user says about Cursor, and what follows from it before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen
from quintain import Capability, Executable, ExperimentPolicy, Runtime

from quintain_driver_cursor._experiment import identity, prepare

VARIABLES: Mapping[str, str] = {"key": "CURSOR_API_KEY", "token": "CURSOR_AUTH_TOKEN"}
"""Host variables that hold the credentials."""

INSTALL = "install Cursor's command line from its makers, or name it with `executable`"

Mode = Literal["agent", "plan", "ask"]
Isolation = Literal["clean", "user"]
Sandbox = Literal["enabled", "disabled"]
Prompt = Literal["stdin", "argument"]
Credentials = Literal["key", "token"]


def _texts(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        raise ValueError("a list of texts is wanted, not one text")
    return tuple(value)


@frozen
class CursorConfig:
    """How to run Cursor's command line as an agent.

    Attributes:
        model: asked for; Cursor says a display name in return, so that it can't be held against this one.
        mode: "agent" works, "plan" and "ask" only read.
        force: run commands that are not denied; without it Cursor refuses what it would have to ask for.
        allow: permissions that are granted, such as `Shell(ls)` or `Write(src/**)`.
        deny: permissions that are refused, also with `force`.
        sandbox: Cursor's own sandbox; what Cursor does by itself if not given.
        mcp_servers: tool servers by name, each as an object of Cursor's own `mcp.json`.
        partial: have messages told in parts; a sign of life in long answers.
        prompt_by: how it is told its task: "stdin", or "argument" for versions that don't read their input.
        isolation: "clean": nothing of the user's; "user": a copy of the user's settings. Both in a private home.
        credentials: "key" is CURSOR_API_KEY, "token" CURSOR_AUTH_TOKEN; a login of the user is not copied.
        env: variables on top of the trial's environment.
        extra_args: arguments before the prompt.
        executable: a path, or a name to search for on PATH; newer versions are called `agent`, too.
    """

    model: str | None = None
    mode: Mode = "agent"
    force: bool = True
    allow: tuple[str, ...] = field(default=(), converter=_texts)
    deny: tuple[str, ...] = field(default=(), converter=_texts)
    sandbox: Sandbox | None = None
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    partial: bool = False
    prompt_by: Prompt = "stdin"
    isolation: Isolation = "clean"
    credentials: Credentials = "key"
    env: Mapping[str, str] = field(factory=dict)
    extra_args: tuple[str, ...] = field(default=(), converter=_texts)
    executable: str = "cursor-agent"

    def __attrs_post_init__(self) -> None:
        for problem in _problems(self):
            raise ValueError(problem)


_CHOICES: Mapping[str, tuple[str | None, ...]] = {
    "mode": ("agent", "plan", "ask"),
    "sandbox": (None, "enabled", "disabled"),
    "prompt_by": ("stdin", "argument"),
    "isolation": ("clean", "user"),
    "credentials": ("key", "token"),
}


def _problems(config: CursorConfig) -> Iterator[str]:
    """What can't be meant, in words that name the key."""
    for key, allowed in _CHOICES.items():
        if getattr(config, key) not in allowed:
            known = " or ".join(repr(one) for one in allowed if one is not None)
            yield f"`{key}` is {getattr(config, key)!r}; it can be {known}"
    for key in ("model", "executable"):
        if getattr(config, key) == "":
            yield f"`{key}` is empty; leave it out"
    if "CURSOR_CONFIG_DIR" in config.env:
        yield "`env.CURSOR_CONFIG_DIR` can't be set: each trial has a private one; see `isolation`"
    if config.mode != "agent" and (config.allow or config.deny):
        yield f"`mode` is {config.mode!r}, in which nothing is done; leave out `allow` and `deny`"


def runtime(config: CursorConfig) -> Runtime:
    """What will run and what it can do.

    Its public interface has no way to answer a question or a request for permission, says no price, and tells tokens
    only in newer versions; so nothing of that is claimed.
    """
    return Runtime(
        executables=(Executable(config.executable, install=INSTALL),),
        capabilities=frozenset({Capability.TOOL_EVENTS, Capability.SANDBOX}),
        host_environment=(VARIABLES[config.credentials],),
    )


policy = ExperimentPolicy[CursorConfig](version="1", prepare=prepare, identity=identity)
