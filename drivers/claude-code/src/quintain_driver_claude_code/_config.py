"""What a user says about Claude Code, and what follows from it before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

from attrs import field, frozen
from quintain import Capability, Executable, ExperimentPolicy, ModelEndpoint, Runtime

from quintain_driver_claude_code._experiment import identity, prepare

BASE_URL = "ANTHROPIC_BASE_URL"
INSTALL = "install it with `npm install -g @anthropic-ai/claude-code`, or name it with `executable`"

PermissionMode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto"]
Isolation = Literal["clean", "user"]
Credentials = Literal["key", "token", "login"]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "permission_mode": ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto"),
    "isolation": ("clean", "user"),
    "credentials": ("key", "token", "login"),
}
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "key": ("ANTHROPIC_API_KEY",),
    "token": ("CLAUDE_CODE_OAUTH_TOKEN",),
    "login": (),
}
"""Host variables that hold the credentials."""

_OURS: Mapping[str, str] = {
    "-p": "it is always given",
    "--print": "it is always given",
    "--input-format": "it is always given",
    "--output-format": "it is always given",
    "--permission-prompt-tool": "write `questions` and an answerer",
    "--model": "write `model`",
    "--effort": "write `effort`",
    "--permission-mode": "write `permission_mode`",
    "--strict-mcp-config": "it is always given",
}
_EXACT = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic[./])?claude-|[/:@]|^[a-z]+-.*\d")
_BASE_TOOLS = ("Read", "Write", "Edit", "Bash", "Glob", "Grep")


def _texts(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        raise ValueError("a list of texts is wanted, not one text")
    return tuple(value)


def _maybe_texts(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else _texts(value)


@frozen
class ClaudeCodeConfig:
    """How to run Claude Code as an agent.

    Attributes:
        model: its id or one of Claude Code's short names; Claude Code's own default if not given.
        effort: how hard the model thinks, as Claude Code knows it (`low`, `medium`, `high`, ...).
        permission_mode: what needs permission: "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto".
        tools: the only tools that there are; None for all.
        allowed_tools: tools, or rules such as `Bash(git *)`, that are used without asking.
        denied_tools: those that can't be used.
        questions: let the model ask its user.
        system_prompt: in the place of Claude Code's own.
        append_system_prompt: added to what the model is told.
        agent: which of the agents runs.
        agents: subagents by name, each as a table with `description`, `prompt` and more.
        skills: directories with a `SKILL.md`, absolute; they are copied into the trial's home.
        plugins: directories of plugins, absolute; copied likewise.
        mcp_servers: tool servers by name, each as a table with `command` and `args`, or `type` and `url`. A trial in
            which one can't be started is a failure of the infrastructure.
        settings: other settings, as in Claude Code's `settings.json`.
        hooks: hooks of settings and plugins may run.
        workspace_settings: settings, instructions, skills, agents and commands that lie in the workspace are heeded.
        commands: a prompt that begins with a slash runs a command or a skill; otherwise it is told as it stands.
        background: commands and subagents may go on in the background.
        max_turns: model calls at most.
        max_budget_usd: money at most, as Claude Code counts it.
        max_retries: how often an error of the model's server is tried again; Claude Code's own default if not given.
        isolation: "clean": nothing of the user's; "user": a copy of the user's settings, instructions, rules, output
            styles, agents, commands, skills, enabled plugins and tool servers. Both in a private home.
        credentials: "key" is ANTHROPIC_API_KEY, "token" CLAUDE_CODE_OAUTH_TOKEN, "login" the user's login.
        base_url: of a server that speaks the messages protocol, instead of the default one.
        env: variables on top of the trial's environment.
        extra_args: more arguments.
        executable: a path, or a name to search for on PATH.
    """

    model: str | None = None
    effort: str | None = None
    permission_mode: PermissionMode = "default"
    tools: tuple[str, ...] | None = field(default=None, converter=_maybe_texts)
    allowed_tools: tuple[str, ...] = field(default=_BASE_TOOLS, converter=_texts)
    denied_tools: tuple[str, ...] = field(default=(), converter=_texts)
    questions: bool = True
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    agent: str | None = None
    agents: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    skills: tuple[str, ...] = field(default=(), converter=_texts)
    plugins: tuple[str, ...] = field(default=(), converter=_texts)
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    settings: Mapping[str, Any] = field(factory=dict)
    hooks: bool = True
    workspace_settings: bool = True
    commands: bool = False
    background: bool = True
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_retries: int | None = None
    isolation: Isolation = "clean"
    credentials: Credentials = "key"
    base_url: str | None = None
    env: Mapping[str, str] = field(factory=dict)
    extra_args: tuple[str, ...] = field(default=(), converter=_texts)
    executable: str = "claude"

    def __attrs_post_init__(self) -> None:
        for problem in _problems(self):
            raise ValueError(problem)

    @property
    def exact_model(self) -> str | None:
        """The model, unless it is a short name that stands for another each month."""
        return self.model if self.model is not None and _EXACT.search(self.model) else None


def _problems(config: ClaudeCodeConfig) -> Iterator[str]:
    """What can't be meant, in words that name the key."""
    for key, allowed in _CHOICES.items():
        if getattr(config, key) not in allowed:
            yield f"`{key}` is {getattr(config, key)!r}; it can be {' or '.join(map(repr, allowed))}"
    for key in ("model", "effort", "executable", "base_url", "agent"):
        if getattr(config, key) == "":
            yield f"`{key}` is empty; leave it out"
    for key in ("max_turns", "max_budget_usd"):
        value = getattr(config, key)
        if value is not None and not value > 0:
            yield f"`{key}` is {value}; it must be more than 0"
    if config.max_retries is not None and config.max_retries < 0:
        yield f"`max_retries` is {config.max_retries}; it must be at least 0"
    for key in ("skills", "plugins"):
        paths = getattr(config, key)
        for path in paths:
            if not PurePath(path).is_absolute():
                yield f"`{key}` names {path!r}, which is no absolute path; `{{project}}` stands for the project's folder"
        if len({PurePath(path).name for path in paths}) < len(paths):
            yield f"`{key}` has two directories of one name"
    for argument in config.extra_args:
        if (instead := _OURS.get(argument.partition("=")[0])) is not None:
            yield f"`extra_args` has `{argument}`: {instead}"
    if "CLAUDE_CONFIG_DIR" in config.env:
        yield "`env.CLAUDE_CONFIG_DIR` can't be set: each trial has a private one; see `isolation`"
    if "hooks" in config.settings and not config.hooks:
        yield "`settings.hooks` is set and `hooks` is false"


_ALWAYS = frozenset(
    {
        Capability.APPROVALS,
        Capability.TOOL_EVENTS,
        Capability.SUBAGENTS,
        Capability.USAGE,
        Capability.COST,
        Capability.INTERRUPT,
        Capability.MODEL_ENDPOINT,
        Capability.SANDBOX,
    }
)


def runtime(config: ClaudeCodeConfig) -> Runtime:
    """What will run and what it can do."""
    capabilities = set(_ALWAYS)
    if config.questions:
        capabilities.add(Capability.QUESTIONS)
    if config.permission_mode in ("bypassPermissions", "dontAsk"):
        capabilities.discard(Capability.APPROVALS)
    return Runtime(
        executables=(Executable(config.executable, install=INSTALL),),
        capabilities=frozenset(capabilities),
        host_environment=VARIABLES[config.credentials],
        endpoints=(ModelEndpoint("anthropic-messages", BASE_URL),),
        model=config.exact_model,
    )


policy = ExperimentPolicy[ClaudeCodeConfig](version="1", prepare=prepare, identity=identity)
