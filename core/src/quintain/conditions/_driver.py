"""The part of an identity that a driver has: its code, its configuration, its programs and what its agent reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from attrs import field, frozen

from quintain.conditions._parts import Part, TemplateLike, plugin_part
from quintain.conditions._places import Anchors
from quintain.conditions._programs import Program, Programs
from quintain.conditions._salt import salted
from quintain.conditions._sources import Recorder, WatchedFile, WatchedTree
from quintain.contracts.driver import ExperimentPolicy, IdentityContext
from quintain.errors import QuintainError, RecordError
from quintain.identity.cache import DigestCache
from quintain.identity.tree import normal
from quintain.model.codec import to_plain
from quintain.plugins import Plugins
from quintain.trial.environment import secrets_of

RESERVED = frozenset(
    {"distribution", "version", "policy", "unbound", "config", "programs", "variables", "model", "unknown"}
)
"""What the core says of a driver; the driver's own sources stand beside it under other names."""


VARIABLES = ("env", "environment")
"""Tables of a driver's configuration that set variables, whose values may be secret."""


@frozen
class Look:
    """What it takes to look at drivers.

    Attributes:
        plugins: where plugins come from.
        host: variables of the host.
        cache: digests that are known already.
        programs: looks at programs.
        anchors: names for places.
        salt: the project's.
        strict: whether what can't be known is an error.
    """

    plugins: Plugins
    host: Mapping[str, str]
    cache: DigestCache
    programs: Programs
    anchors: Anchors
    salt: bytes
    strict: bool


@frozen
class Seen:
    """A driver that was looked at.

    Attributes:
        part: of the identity.
        watched: files and directories that ought to stay what they are.
        programs: executables, by their names in the identity.
        warnings: what weakens the identity.
    """

    part: Part
    watched: list[WatchedFile | WatchedTree] = field(factory=list)
    programs: dict[str, Program] = field(factory=dict)
    warnings: list[str] = field(factory=list)


async def see_driver(template: TemplateLike, name: str, look: Look) -> Seen:
    """Look at the driver of a template.

    Args:
        template: whose driver.
        name: dotted, of the part.
        look: what it takes.

    Raises:
        QuintainError: something that its agent reads or runs can't be known, and that matters.
    """
    driver, config, runtime = template.prepared.driver, template.prepared.driver_config, template.prepared.runtime
    recorder = Recorder(look.cache)
    home = Path(look.host.get("HOME") or Path.home())
    context = IdentityContext(home, look.host, recorder.file, recorder.tree)
    warnings: list[str] = []
    sources = await _said(template, context, name, look, warnings)
    names, watched = recorder.named(name, sources)
    whole = {str(path): f"{{{source}}}" for path, source in names.items()}
    programs: dict[str, Program] = {}
    parts: Part = {}
    for asked in runtime.executables:
        title = _title(look.anchors.whole.get(asked.name, asked.name).strip("{}"), programs)
        program = programs[f"{name}.programs.{title}"] = await look.programs.look(asked)
        if program.problem is not None:
            _unknown(f"{name}.programs.{title}", program.problem, look, warnings, program.asked.install)
        parts[title] = {"digest": program.digest, "version": program.version, "unknown": program.digest is None or None}
        if "/" in asked.name:
            whole[asked.name] = f"{{{title}}}"
    unbound = driver.experiment == ExperimentPolicy()
    if unbound:
        warnings.append(
            f"{name}: the driver `{driver.name}` declares nothing about experiments, so what its agent reads is unknown"
        )
    use = look.plugins.use("driver", template.order.driver.name)
    hidden = secrets_of(template.order.isolation, runtime.host_environment, look.host)
    anchors = look.anchors.hiding(hidden).also(whole)
    part: Part = {
        **plugin_part(use),
        "policy": driver.experiment.version,
        "unbound": True if unbound else None,
        "config": _variables_salted(anchors.free(to_plain(config)), look.salt),
        "programs": parts,
        "variables": dict.fromkeys(runtime.host_environment, "by name"),
        "model": runtime.model,
        **anchors.free(recorder.listed(sources)),
    }
    return Seen(part, watched, programs, warnings)


def _variables_salted(config: Part, salt: bytes) -> Part:
    """A configuration with digests in the place of the values of variables that it sets."""
    return {
        key: {name: salted(salt, name, str(inner)) for name, inner in value.items()}
        if key in VARIABLES and isinstance(value, Mapping)
        else value
        for key, value in config.items()
    }


async def _said(template: TemplateLike, context: IdentityContext, name: str, look: Look, warnings: list[str]) -> Part:
    """What the driver says that its agent reads."""
    prepared = template.prepared
    try:
        sources = normal(await prepared.driver.experiment.identity(prepared.driver_config, context))
        _refuse_reserved(sources)
        return sources
    except OSError as error:
        problem = f"{error.filename} can't be read: {error.strerror}"
    except RecordError as error:
        problem = f"the driver's identity is no plain data: {error}"
    except QuintainError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001  # a plugin may raise anything, and a run goes on without its words
        problem = f"the driver's identity failed: {type(error).__name__}: {error}"
    return _unknown(name, problem, look, warnings)


def _refuse_reserved(sources: Part) -> None:
    taken = sorted(RESERVED & sources.keys())
    if taken:
        raise QuintainError(
            f"the driver's identity has the names {', '.join(taken)}, under which Quintain says something else",
            hint="its authors can call them otherwise",
        )


def _title(name: str, taken: Mapping[str, Program]) -> str:
    title = PurePath(name).name
    names = {one.rpartition(".programs.")[2] for one in taken}
    number, found = 1, title
    while found in names:
        number += 1
        found = f"{title} {number}"
    return found


def _unknown(name: str, problem: str, look: Look, warnings: list[str], hint: str | None = None) -> Part:
    if look.strict:
        raise QuintainError(problem, where=name, hint=hint)
    warnings.append(f"{name}: {problem}")
    return {"unknown": True}
