"""What a user says about Codex, and what follows from it before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

from attrs import field, frozen
from quintain import Capability, Executable, ExperimentPolicy, ModelEndpoint, Runtime

from quintain_driver_codex._experiment import identity, prepare

BASE_URL = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"
"""The host variable that holds the key, unless a provider names another."""

INSTALL = "install it with `npm install -g @openai/codex`, or name it with `executable`"

Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
Approval = Literal["on-request", "untrusted", "never"]
Isolation = Literal["clean", "user"]
Credentials = Literal["key", "login"]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "sandbox": ("read-only", "workspace-write", "danger-full-access"),
    "approval": ("on-request", "untrusted", "never"),
    "isolation": ("clean", "user"),
    "credentials": ("key", "login"),
}
_OURS = ("model", "model_reasoning_effort", "approval_policy", "sandbox_mode", "developer_instructions", "mcp_servers")
"""Settings of Codex that have a key of their own here."""


def _texts(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        raise ValueError("a list of texts is wanted, not one text")
    return tuple(value)


@frozen
class CodexConfig:
    """How to run Codex as an agent.

    Attributes:
        model: asked for exactly; Codex's own default if not given.
        effort: reasoning effort, as the model knows it (`low`, `medium`, `high`, ...).
        sandbox: what Codex lets commands do: "read-only", "workspace-write" or "danger-full-access".
        network: commands in the sandbox "workspace-write" may reach the network.
        approval: when Codex asks for permission: "on-request", "untrusted" or "never".
        questions: let the model ask its user (Codex calls the feature under development).
        trust: instructions, settings, hooks and rules of the workspace count; its skills always do.
        instructions: added to what the model is told about its task.
        mcp_servers: tool servers by name, each as a table of Codex's own `config.toml`; a server is `required` unless
            its table says otherwise, so that the first turn waits for it.
        skills: directories with a `SKILL.md`, absolute; they are copied into the trial's home.
        ephemeral: Codex keeps no file of the session. Subagents that begin with their parent's history need the file.
        config: other settings of Codex, as in its `config.toml`.
        isolation: "clean": nothing of the user's but the credentials; "user": a copy of the user's settings,
            instructions, prompts, skills and rules. Both in a private home.
        credentials: "key" is OPENAI_API_KEY or the variable that a provider in `config` names, "login" a copy of the
            user's login.
        base_url: of a server that speaks the responses protocol, instead of the default provider.
        env: variables on top of the trial's environment.
        extra_args: arguments after `codex app-server`.
        executable: a path, or a name to search for on PATH.
    """

    model: str | None = None
    effort: str | None = None
    sandbox: Sandbox = "workspace-write"
    network: bool = False
    approval: Approval = "on-request"
    questions: bool = True
    trust: bool = True
    instructions: str | None = None
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    skills: tuple[str, ...] = field(default=(), converter=_texts)
    ephemeral: bool = True
    config: Mapping[str, Any] = field(factory=dict)
    isolation: Isolation = "clean"
    credentials: Credentials = "key"
    base_url: str | None = None
    env: Mapping[str, str] = field(factory=dict)
    extra_args: tuple[str, ...] = field(default=(), converter=_texts)
    executable: str = "codex"

    def __attrs_post_init__(self) -> None:
        for problem in _problems(self):
            raise ValueError(problem)

    @property
    def provider(self) -> Mapping[str, Any] | None:
        """The model provider that `config` defines and chooses, if it does."""
        providers = self.config.get("model_providers")
        name = self.config.get("model_provider")
        chosen = providers.get(name) if isinstance(providers, Mapping) else None
        return chosen if isinstance(chosen, Mapping) else None

    @property
    def key_variable(self) -> str | None:
        """The variable that the key is in; None if none is needed."""
        if self.provider is not None:
            key = self.provider.get("env_key")
            return key if isinstance(key, str) else None
        return KEY if self.credentials == "key" or self.base_url is not None else None


def _problems(config: CodexConfig) -> Iterator[str]:
    """What can't be meant, in words that name the key."""
    for key, allowed in _CHOICES.items():
        if getattr(config, key) not in allowed:
            yield f"`{key}` is {getattr(config, key)!r}; it can be {' or '.join(map(repr, allowed))}"
    for key in ("model", "effort", "executable", "base_url"):
        if getattr(config, key) == "":
            yield f"`{key}` is empty; leave it out"
    for key in _OURS:
        if key in config.config:
            yield f"`config.{key}` has a key of its own: {_instead(key)}"
    if config.base_url is not None and "model_provider" in config.config:
        yield "`base_url` and `config.model_provider` say two things; keep one"
    if "CODEX_HOME" in config.env:
        yield "`env.CODEX_HOME` can't be set: each trial has a private one; see `isolation`"
    for path in config.skills:
        if not PurePath(path).is_absolute():
            yield f"`skills` names {path!r}, which is no absolute path; `{{project}}` stands for the project's folder"


def _instead(key: str) -> str:
    names = {"model_reasoning_effort": "effort", "approval_policy": "approval", "sandbox_mode": "sandbox"}
    return f"`{names.get(key, 'instructions' if key == 'developer_instructions' else key)}`"


_ALWAYS = frozenset(
    {
        Capability.APPROVALS,
        Capability.TOOL_EVENTS,
        Capability.SUBAGENTS,
        Capability.USAGE,
        Capability.INTERRUPT,
        Capability.MODEL_ENDPOINT,
        Capability.SANDBOX,
    }
)


def runtime(config: CodexConfig) -> Runtime:
    """What will run and what it can do. It reports tokens and no money."""
    capabilities = set(_ALWAYS)
    if config.questions:
        capabilities.add(Capability.QUESTIONS)
    if config.approval == "never":
        capabilities.discard(Capability.APPROVALS)
    return Runtime(
        executables=(Executable(config.executable, install=INSTALL),),
        capabilities=frozenset(capabilities),
        host_environment=() if config.key_variable is None else (config.key_variable,),
        endpoints=(ModelEndpoint("openai-responses", BASE_URL),),
        model=config.model,
    )


policy = ExperimentPolicy[CodexConfig](version="1", prepare=prepare, identity=identity)
