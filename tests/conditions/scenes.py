"""A small project whose every input a test can change, and the conditions of running it."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen
from quintain.conditions import Conditions, conditions_of
from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.assertion import AssertionSpec, Evidence
from quintain.contracts.configs import NoConfig
from quintain.contracts.driver import (
    DriverSpec,
    Executable,
    ExperimentPolicy,
    IdentityContext,
    Launch,
    Runtime,
    Session,
)
from quintain.errors import PolicyViolation
from quintain.functions import DENY
from quintain.identity.cache import DigestCache
from quintain.model.case import Assertion, Case
from quintain.model.events import Event
from quintain.model.grade import Verdict
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.question import Answer, Question
from quintain.model.trial import Isolation
from quintain.plugins import Plugins
from quintain.runs.plan import Template, make_plan
from quintain.workspace.blobs import BlobStore

SALT = b"salt of these tests, 32 bytes..."


@frozen
class AgentConfig:
    program: str
    skills: str
    model: str = "m"
    hooks: bool = True


class Nobody:
    def __aiter__(self) -> AsyncIterator[Event]:
        raise AssertionError("nobody is asked")

    async def answer(self, question: Question, answer: Answer) -> None:
        return None

    async def interrupt(self) -> None:
        return None


@asynccontextmanager
async def _never_opened(config: AgentConfig, launch: Launch) -> AsyncIterator[Session]:
    if config.program:
        raise AssertionError("nothing is run here")
    yield Nobody()


def _runtime(config: AgentConfig) -> Runtime:
    return Runtime(executables=(Executable(config.program),), host_environment=("AGENT_KEY",), model=config.model)


def _prepare(config: AgentConfig) -> AgentConfig:
    if config.model == "latest":
        raise PolicyViolation("`latest` is another model every day", where="model", hint='write `model = "m"`')
    return evolve(config, hooks=False)


async def _identity(config: AgentConfig, context: IdentityContext) -> Mapping[str, Any]:
    found: dict[str, Any] = {"skills": context.digest_tree(Path(config.skills))}
    try:
        found["settings"] = context.digest_file(context.home / "settings.json")
    except FileNotFoundError:
        found["settings"] = None
    return found


AGENT = DriverSpec(
    "agent",
    _never_opened,
    AgentConfig,
    runtime=_runtime,
    experiment=ExperimentPolicy("3", _prepare, _identity),
    version="1.5",
)


def _looks_right(config: NoConfig, evidence: Evidence) -> Verdict:
    return Verdict.abstain("nothing is graded here")


CHECK = AssertionSpec[NoConfig]("looks_right", _looks_right, version="2")


@define
class Scene:
    """A project in a folder; change what you like and ask for its conditions."""

    root: Path
    agent: DriverSpec[Any] = AGENT
    check: AssertionSpec[Any] = CHECK
    answerer: AnswererSpec[Any] = DENY
    profile: Profile = field(init=False)
    case: Case = field(init=False)
    host: dict[str, str] = field(factory=dict)
    cache: DigestCache = field(factory=DigestCache)
    salt: bytes = SALT

    def __attrs_post_init__(self) -> None:
        write(self.program, "#!/bin/sh\necho agent 1.0\n", program=True)
        write(self.skill, "Review it.\n")
        write(self.root / "skills" / "plain.md", "Be plain.\n")
        write(self.root / "fixtures" / "main.py", "print()\n")
        write(self.root / "hidden" / "check.py", "assert True\n")
        config = {"program": str(self.program), "skills": str(self.root / "skills")}
        self.profile = Profile(
            "fast",
            Plug("agent", config),
            isolation=Isolation(env={"MODE": "quick"}, pass_env=("REGION",), secrets=("TOKEN",)),
        )
        self.case = Case(
            "calculator/add",
            "Add it.",
            fixtures=self.root / "fixtures",
            hidden=self.root / "hidden",
            assertions=(Assertion("looks_right"),),
        )
        self.host |= {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "REGION": "north",
            "TOKEN": "s3cr3t-token",
            "AGENT_KEY": "s3cr3t-key",
        }
        (self.root / "home").mkdir(exist_ok=True)

    @property
    def program(self) -> Path:
        return self.root / "bin" / "agent-program"

    @property
    def skill(self) -> Path:
        return self.root / "skills" / "review" / "SKILL.md"

    @property
    def plugins(self) -> Plugins:
        return Plugins.of(self.agent, self.check, self.answerer)

    def templates(self) -> tuple[Template, ...]:
        blobs = BlobStore(self.root / ".quintain" / "blobs")
        return make_plan([self.case], [self.profile], self.plugins, blobs).templates

    async def conditions(self, *, strict: bool = True) -> Conditions:
        return await conditions_of(
            self.templates(), self.plugins, self.host, self.cache, self.salt, root=self.root, strict=strict
        )


def write(path: Path, text: str, *, program: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if program:
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
