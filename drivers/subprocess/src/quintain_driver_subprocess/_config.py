"""What a user says about their program, what follows from it, and what an experiment demands of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

from attrs import field, frozen
from quintain import Capability, Executable, ExperimentPolicy, IdentityContext, PolicyViolation, Runtime

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


def _prepare(config: SubprocessConfig) -> SubprocessConfig:
    wrapper = "write a small executable script that does it, and name that script by its absolute path"
    program = config.command[0]
    if not PurePath(program).is_absolute():
        raise PolicyViolation(
            f"`command` names the program `{program}`; an experiment needs its absolute path, so that always the same "
            "file is run and its digest can be taken",
            hint=f'write `command = ["/path/to/{PurePath(program).name}"]`',
        )
    if len(config.command) > 1:
        raise PolicyViolation(
            f"`command` has arguments ({' '.join(config.command[1:])}), and what they name is in no digest",
            hint=wrapper,
        )
    if config.cwd is not None:
        raise PolicyViolation(
            "`cwd` makes the agent start elsewhere than in the workspace",
            hint="take `cwd` out and lay out the fixtures as the agent should find them",
        )
    if config.env:
        raise PolicyViolation(
            f"`env` sets {', '.join(sorted(config.env))}, which is in no digest",
            hint=f"{wrapper}; pass credentials by the profile's `secrets`",
        )
    return config


async def _identity(config: SubprocessConfig, context: IdentityContext) -> dict[str, Any]:
    """The files that arguments name: the script of an interpreter is as good as a program."""
    named = [part for part in config.command[1:] if PurePath(part).is_absolute() and Path(part).is_file()]
    return {"arguments": {part: context.digest_file(Path(part)) for part in named}} if named else {}


policy = ExperimentPolicy[SubprocessConfig](version="1", prepare=_prepare, identity=_identity)
