"""What a user says about their server and what to ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen
from quintain import Capability, Executable, Runtime

Op = Literal[
    "list-tools",
    "list-resources",
    "list-templates",
    "list-prompts",
    "call",
    "read",
    "get-prompt",
    "complete",
    "ping",
    "set-level",
]

NEEDS: Mapping[str, tuple[str, ...]] = {
    "call": ("tool",),
    "read": ("uri",),
    "get-prompt": ("prompt",),
    "complete": ("ref", "argument"),
    "set-level": ("level",),
}
"""Keys without which an operation means nothing."""


@frozen
class Step:
    """One thing to ask of the server.

    Attributes:
        op: what to ask.
        name: under which later steps find the result.
        tool: for `call`.
        args: for `call` and `get-prompt`. A table `{ "$from" = "NAME", "$at" = "/json/pointer" }` anywhere in it
            stands for a part of the result of an earlier step.
        uri: for `read`.
        prompt: for `get-prompt`.
        ref: for `complete`: what is completed, as the protocol writes it.
        argument: for `complete`: `{ name, value }`.
        level: for `set-level`.
        fails: True: it must fail; False: it must not; if not given, a tool may report an error of its own, and an
            error of the protocol ends the probe.
        together: steps next to each other with one name here run in parallel.
    """

    op: Op
    name: str | None = None
    tool: str | None = None
    args: Mapping[str, Any] = field(factory=dict)
    uri: str | None = None
    prompt: str | None = None
    ref: Mapping[str, str] | None = None
    argument: Mapping[str, str] | None = None
    level: str | None = None
    fails: bool | None = None
    together: str | None = None

    def __attrs_post_init__(self) -> None:
        for key in NEEDS.get(self.op, ()):
            if getattr(self, key) is None:
                raise ValueError(f"a step `{self.op}` needs `{key}`")

    @property
    def title(self) -> str:
        """What it is called in messages."""
        subject = self.tool or self.uri or self.prompt
        return self.op if subject is None else f"{self.op} {subject}"


def _arguments(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        raise ValueError("`command` is a list, the program and its arguments; no shell splits one text into them")
    return tuple(value)


@frozen
class ProbeConfig:
    """How to start a server and what to ask of it.

    Attributes:
        command: the program and its arguments, given to no shell.
        steps: what to ask, in order. Its tools are listed before, if it has any.
        env: variables on top of the trial's environment.
        initialize_s: seconds that it may take to answer the first request.
        step_s: seconds that it may take for one step, with the answers to what it asks meanwhile.
        max_pages: pages that one list may have.
        max_answer_bytes: bytes that one message of the server may have.
    """

    command: tuple[str, ...] = field(converter=_arguments)
    steps: tuple[Step, ...] = field(default=(), converter=tuple)
    env: Mapping[str, str] = field(factory=dict)
    initialize_s: float = 30.0
    step_s: float = 60.0
    max_pages: int = 100
    max_answer_bytes: int = 10_000_000

    def __attrs_post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError("`command` names no program")
        for key in ("initialize_s", "step_s", "max_pages", "max_answer_bytes"):
            if not getattr(self, key) > 0:
                raise ValueError(f"`{key}` must be more than 0")


def runtime(config: ProbeConfig) -> Runtime:
    """What will run; asked for its version, an unknown program might start to serve, so it isn't asked."""
    program = Executable(config.command[0], version_args=None)
    capabilities = frozenset({Capability.TOOL_EVENTS, Capability.QUESTIONS, Capability.SANDBOX})
    return Runtime(executables=(program,), capabilities=capabilities)
