"""The driver contract: how one kind of agent is run and its protocol turned into events.

The core calls, for each attempt of a trial: `spec.open(config, launch)`, enters it, iterates the session until `Done`
or `Failed` (and a little longer, for what comes late), leaves it. Leaving means: every process of the agent is dead and
nobody writes to the workspace any more. Drivers never call `subprocess`; they call `launch.spawn`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from attrs import field, frozen

from quintain.contracts.configs import NoConfig
from quintain.model.case import Case
from quintain.model.events import Event
from quintain.model.exit import Exit
from quintain.model.plain import Json
from quintain.model.question import Answer, Question
from quintain.model.trial import Allowance

C = TypeVar("C")


class Capability(StrEnum):
    """What a driver can do under a configuration. A plan refuses a campaign that needs one that isn't there."""

    QUESTIONS = "questions"
    """The agent's questions arrive as `Asked` while it runs."""
    APPROVALS = "approvals"
    """So do its requests for permission."""
    TOOL_EVENTS = "tool_events"
    """Tool calls and results are reported, paired by id."""
    SUBAGENTS = "subagents"
    """Events say which subagent they belong to."""
    USAGE = "usage"
    """Tokens are reported."""
    COST = "cost"
    """Money is reported."""
    INTERRUPT = "interrupt"
    """`Session.interrupt` is understood by the agent."""
    MODEL_ENDPOINT = "model_endpoint"
    """The agent can be pointed at another base URL."""
    SANDBOX = "sandbox"
    """The agent can run inside the core's sandbox."""


@runtime_checkable
class Line(Protocol):
    """One line of a process's standard output."""

    @property
    def data(self) -> bytes:
        """Its bytes without the line end; the head of them if `dropped` is not 0."""

    @property
    def text(self) -> str:
        """Decoded as UTF-8, with replacement where it is not."""

    @property
    def exact(self) -> bool:
        """Its bytes were valid UTF-8."""

    @property
    def dropped(self) -> int:
        """Bytes beyond the limit that were counted and left out."""

    @property
    def complete(self) -> bool:
        """It ended with a newline; False for a fragment at the end of the stream."""


class AgentProcess(Protocol):
    """A process of the agent, in a session of its own, that can't outlive its trial."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""

    def lines(self) -> AsyncIterator[Line]:
        """Its standard output. Ends when the process has ended and all it wrote has been read, whoever else still
        holds the pipe; or when it closed its output and did not end within the linger limit."""

    async def send(self, data: bytes) -> None:
        """Write to its standard input, as fast as it reads. Raises ProcessGone if it doesn't listen any more."""

    async def close_stdin(self) -> None:
        """No more input; harmless if repeated."""

    async def wait(self) -> Exit:
        """Wait for the process itself, not for its pipes."""

    async def stop(self) -> Exit:
        """Ask it to end, and kill its whole tree after the grace period."""


class Launch(Protocol):
    """What a driver needs to start its agent for one attempt; everything in it is private to that attempt."""

    @property
    def case(self) -> Case:
        """The task. An agent must be told no more of it than the prompt."""

    @property
    def prompt(self) -> str:
        """What to tell the agent, byte for byte."""

    @property
    def trial(self) -> str:
        """Name of the trial."""

    @property
    def attempt(self) -> int:
        """Number of the attempt, from 1."""

    @property
    def seed(self) -> int:
        """For agents that take one."""

    @property
    def deadline_s(self) -> float | None:
        """The total limit, for agents that like to know it."""

    @property
    def allowance(self) -> Allowance:
        """What the trial may spend, for agents that can limit themselves."""

    @property
    def workspace(self) -> Path:
        """The agent's working directory with the fixtures in it."""

    @property
    def home(self) -> Path:
        """A private home directory, empty at first; a driver puts the agent's configuration there."""

    @property
    def temp(self) -> Path:
        """A private directory for temporary files, outside the workspace."""

    @property
    def subject(self) -> Path | None:
        """A private directory with what is under test, such as prompts and skills, for the driver to hand to its
        agent; None if there is none, or if it is part of the workspace. An agent that writes there is reported."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What `spawn` gives to a process unless told more: a few of the host's, by name, HOME, TMPDIR, NO_COLOR."""

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: Literal["pipe", "null"] = "null",
    ) -> AbstractAsyncContextManager[AgentProcess]:
        """Start a process; leaving the context kills whatever is left of its tree.

        Args:
            argv: the program and its arguments. A program without a slash is searched for on PATH.
            env: variables on top of `environment`.
            cwd: working directory, the workspace by default.
            stdin: "pipe" for a protocol that needs it, otherwise the process finds its input at the end.

        Raises:
            QuintainError: the program can't be found or started, or an argument is longer than the system allows.
        """

    def raw(self, direction: Literal["in", "out"], line: str) -> None:
        """Keep one line of raw protocol, secrets redacted; `spawn`ed output is kept without being asked."""


class Session(Protocol):
    """One conversation with one agent."""

    def __aiter__(self) -> AsyncIterator[Event]:
        """Everything that happens; called once. `Ready` comes before anything the agent says, `Done` or `Failed` last;
        noise (`Log`, `Progress`, `Unknown`, `ProtocolError`) may come before `Ready`.

        Must not raise for what an agent does wrong: that is a `ProtocolError`, a `Failed` or an iteration that ends
        without either. What it raises counts as a fault of the driver.
        """

    async def answer(self, question: Question, answer: Answer) -> None:
        """Deliver an answer. Called while the session is being iterated, once for each `Asked`; raises ProcessGone
        if the agent is no longer there."""

    async def interrupt(self) -> None:
        """Ask the agent politely to stop; called before the core kills, never required to work."""


@frozen
class Executable:
    """A program that a driver will run; the core resolves, hashes and probes it.

    Attributes:
        name: a path, or a name to search for on PATH.
        version_args: arguments that make it print its version, or None if it has none.
        install: what to do if it isn't there.
    """

    name: str
    version_args: tuple[str, ...] | None = ("--version",)
    install: str | None = None


@frozen
class ModelEndpoint:
    """How to point the agent at another base URL.

    Attributes:
        protocol: the wire protocol it speaks to its model, in the words of the model plugins.
        variable: environment variable that holds the base URL.
    """

    protocol: str
    variable: str


@frozen
class Runtime:
    """What a driver will execute and can do under one configuration; asked for before anything is spent.

    Attributes:
        executables: programs it needs.
        capabilities: what it can do.
        host_environment: host variables it needs, by name (credentials); passed on, and their values redacted.
        endpoints: how to point the agent at another base URL.
        model: the exact model that the configuration asks for, if it names one; a trial in which the agent says that
            it runs another is invalid.
        silent_until_exit: the agent gives no sign of life while it works, so the idle limit does not apply.
    """

    executables: tuple[Executable, ...] = ()
    capabilities: frozenset[Capability] = frozenset()
    host_environment: tuple[str, ...] = ()
    endpoints: tuple[ModelEndpoint, ...] = ()
    model: str | None = None
    silent_until_exit: bool = False


@frozen
class IdentityContext:
    """What a driver's identity function may look at, beside its configuration.

    Attributes:
        home: home directory of the user.
        environment: the host's variables.
        digest_file: digest of a file's bytes, cached between calls. Ask also for a file that may not be there and
            catch FileNotFoundError: then it is noticed if it appears while a campaign runs.
        digest_tree: digest of a directory, cached between calls; links, other special files and excess are refused.
            Given as the value of a name in the identity, it is listed there file by file, as `NAME/path`.
    """

    home: Path
    environment: Mapping[str, str]
    digest_file: Callable[[Path], str]
    digest_tree: Callable[[Path], str]


Identity = Mapping[str, Json]
"""Names of sources and their digests or plain values, nested as deep as is useful for naming what changed."""


def _as_given(config: C) -> C:
    return config


async def _nothing_more(config: object, context: IdentityContext) -> Identity:
    return {}


@frozen
class ExperimentPolicy(Generic[C]):
    """What a driver demands of a configuration before results under it may be compared.

    Attributes:
        version: raised when the meaning of `prepare` or `identity` changes.
        prepare: refuses what can't be reproduced (PolicyViolation says why and what to write instead) and binds
            what can.
        identity: everything the agent reads and the core can't know.
    """

    version: str = "1"
    prepare: Callable[[C], C] = _as_given
    identity: Callable[[C, IdentityContext], Awaitable[Identity]] = _nothing_more


def _no_runtime(config: object) -> Runtime:
    return Runtime()


@frozen
class DriverSpec(Generic[C]):
    """A driver, declared.

    Attributes:
        name: equal to the name of its entry point.
        open: starts an agent; see the head of this module.
        config: attrs class; what files say is structured into it strictly.
        runtime: what it will execute and can do under a configuration.
        experiment: its demands on reproducible configurations.
        preflight: a small task by which an agent under a configuration shows that it works: it reaches its model,
            writes a file and runs a command, as far as the configuration lets it. The case is run before anything is
            spent on others; its assertions say what must be there afterwards; `small_task` makes the usual one. None: there
            is nothing to try.
        summary: one line for people.
        version: of the driver, for drivers that come from no distribution.
    """

    name: str
    open: Callable[[C, Launch], AbstractAsyncContextManager[Session]]
    config: type[C] = field(default=NoConfig)  # type: ignore[assignment]  # the default stands for "no configuration"
    runtime: Callable[[C], Runtime] = _no_runtime
    experiment: ExperimentPolicy[C] = field(factory=ExperimentPolicy)
    preflight: Callable[[C], Case] | None = None
    summary: str = ""
    version: str | None = None

    def __call__(self, config: C | None = None, /, **settings: object) -> Bound[C]:
        """Bind a configuration, given as an object or by keywords: `run(cases, driver=my_driver(model="m"))`."""
        return Bound(self, config if config is not None else self.config(**settings))


@frozen
class Bound(Generic[C]):
    """A driver with its configuration, for use in code."""

    spec: DriverSpec[C]
    config: C
