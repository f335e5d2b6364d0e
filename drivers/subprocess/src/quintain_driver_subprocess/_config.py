"""What a user says about their program, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from attrs import field, frozen
from quintain import Capability, Executable, ExperimentPolicy, Runtime

from quintain_driver_subprocess._experiment import identity, prepare

PROMPT = "{prompt}"
PROMPT_FILE = "{prompt_file}"

Dialect = Literal["disjoint", "inclusive"]


def _arguments(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        raise ValueError("`command` is a list, the program and its arguments; no shell splits one text into them")
    return tuple(value)


@frozen
class SubprocessConfig:
    """How to run a program as an agent.

    Attributes:
        command: the program and its arguments, given to no shell. A program without a slash is searched for on PATH;
            relative paths start at the directory where it runs. In an argument `{prompt}` stands for the prompt and
            `{prompt_file}` for the path of a file with it.
        mode: "jsonl" for a program that speaks the protocol; "text" for one that is told its prompt, by standard input
            unless an argument names it, and whose standard output is its answer.
        protocol: version of the protocol in mode "jsonl"; 1 is the older `lux-jsonl`.
        env: variables on top of the trial's environment.
        cwd: working directory inside the workspace; the workspace itself if not given.
        model: told to the agent in its start message; a trial in which it says that it runs another is invalid.
        usage_dialect: "disjoint" if the agent counts cached tokens beside its input tokens, "inclusive" if among them.
        helper: let Python agents `import quintain_agent`. If not given, wherever there may be one: the program is a
            script, or an argument has `py` in it.
    """

    command: tuple[str, ...] = field(converter=_arguments)
    mode: Literal["jsonl", "text"] = "jsonl"
    protocol: Literal[1, 2] = 2
    env: Mapping[str, str] = field(factory=dict)
    cwd: str | None = None
    model: str | None = None
    usage_dialect: Dialect = "disjoint"
    helper: bool | None = None

    def __attrs_post_init__(self) -> None:
        for problem in _problems(self):
            raise ValueError(problem)

    @property
    def speaks(self) -> bool:
        """It speaks the protocol of this driver, in its newest version."""
        return self.mode == "jsonl" and self.protocol == 2

    def mentions(self, placeholder: str) -> bool:
        """An argument has the placeholder in it."""
        return any(placeholder in part for part in self.command)


def _problems(config: SubprocessConfig) -> list[str]:
    """What can't be meant, in words that name the key."""
    problems = []
    for key, allowed in {
        "mode": ("jsonl", "text"),
        "protocol": (1, 2),
        "usage_dialect": ("disjoint", "inclusive"),
    }.items():
        if getattr(config, key) not in allowed:
            problems.append(f"`{key}` is {getattr(config, key)!r}; it can be {' or '.join(map(repr, allowed))}")
    if not config.command or not config.command[0]:
        problems.append("`command` names no program")
    elif PROMPT in config.command[0] or PROMPT_FILE in config.command[0]:
        problems.append("`command` has the prompt in the place of the program")
    if config.cwd is not None and not _inside(config.cwd):
        problems.append(f"`cwd` is {config.cwd!r}; it must be a relative path that stays inside the workspace")
    if config.mode == "text" and config.protocol != 2:
        problems.append('`protocol` is for mode "jsonl"; a program in mode "text" speaks none')
    if config.model is not None and not config.speaks:
        problems.append('`model` is told only by protocol 2 in mode "jsonl"; write it into `command` instead')
    return problems


def _inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(pure.parts) and not pure.is_absolute() and ".." not in pure.parts


_EVERY_MODE = frozenset({Capability.SANDBOX})
_OLDER = _EVERY_MODE | {
    Capability.QUESTIONS,
    Capability.APPROVALS,
    Capability.TOOL_EVENTS,
    Capability.SUBAGENTS,
    Capability.USAGE,
    Capability.COST,
}


def runtime(config: SubprocessConfig) -> Runtime:
    """What will run and what it can report; whether a particular agent does is its own affair."""
    capabilities = _EVERY_MODE if config.mode == "text" else _OLDER
    if config.speaks:
        capabilities |= {Capability.INTERRUPT}
    # Asked for its version, an unknown program might start to work: it isn't asked.
    program = Executable(config.command[0], version_args=None)
    return Runtime(executables=(program,), capabilities=capabilities, model=config.model)


policy = ExperimentPolicy[SubprocessConfig](version="1", prepare=prepare, identity=identity)
