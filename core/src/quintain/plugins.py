"""Finding and loading plugins: listed without import, loaded one by one, each broken on its own.

`Plugins` is a set of plugins. It comes from the entry points of installed packages, from declarations passed in code,
or from both; what is passed in code wins over what is installed.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any, TypeVar

import pluggy
from attrs import field, frozen

from quintain import hooks
from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.assertion import AssertionSpec
from quintain.contracts.driver import DriverSpec
from quintain.contracts.sink import SinkSpec
from quintain.errors import PluginError
from quintain.model.plain import PluginUse

S = TypeVar("S")


@frozen
class Kind:
    """A kind of plugin: its word, the type of its declaration and the package that its usual members come from."""

    word: str
    spec: type | None
    usual: str | None

    @property
    def group(self) -> str:
        """Entry-point group."""
        return f"quintain.{self.word}"

    @property
    def hook(self) -> str:
        """Name of the hook."""
        return f"quintain_{self.word}"


KINDS: Mapping[str, Kind] = {
    kind.word: kind
    for kind in (
        Kind("driver", DriverSpec, "quintain-driver-{name}"),
        Kind("answerer", AnswererSpec, "quintain-answerers"),
        Kind("assertion", AssertionSpec, "quintain-assertions"),
        Kind("sink", SinkSpec, "quintain-sinks"),
        Kind("command", None, None),
    )
}


@frozen
class Installed:
    """A name that an installed distribution claims in its entry points.

    Attributes:
        kind: "driver", "answerer", "assertion", "sink" or "command".
        name: the plugin's name.
        distribution: who claims it.
        version: of the distribution.
        target: what would be imported.
    """

    kind: str
    name: str
    distribution: str
    version: str
    target: str
    _entry: metadata.EntryPoint = field(eq=False, repr=False, alias="entry")

    def load(self) -> Any:
        """Import the plugin and return its declarations, checked.

        Raises:
            PluginError: it can't be imported, has an unknown hook, or declares something else than its kind.
        """
        kind = KINDS[self.kind]
        where = f"{kind.word} `{self.name}` of {self.distribution} {self.version}"
        try:
            # What a module prints while it is imported must not get into output that machines read.
            with contextlib.redirect_stdout(sys.stderr):
                hook = _hook(kind, self._entry.load(), self.target)
                return hook if kind.spec is None else _declared(kind, self.name, self.target, next(iter(hook()), None))
        except PluginError as error:
            raise PluginError(error.message, where=where, hint=error.hint) from error
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"can't be loaded: {type(error).__name__}: {error}{_place(error)}",
                where=where,
                hint=f"it was to be imported from {self.target}; other plugins are not affected",
            ) from error


def _hook(kind: Kind, plugin: Any, target: str) -> Any:
    """The hook of a kind with what the plugin does for it, and nothing else."""
    manager = pluggy.PluginManager("quintain")
    manager.add_hookspecs(hooks)
    try:
        manager.register(plugin, target)
    except pluggy.PluginValidationError as error:
        raise PluginError("; ".join(str(error).splitlines()), hint="hooks are described in quintain.hooks") from error
    known = [one.hook for one in KINDS.values()]
    for name in vars(manager.hook):
        implemented = getattr(manager.hook, name) if name.startswith("quintain_") and name not in known else None
        if implemented is not None and not all(one.optionalhook for one in implemented.get_hookimpls()):
            near = difflib.get_close_matches(name, known, n=1)
            raise PluginError(
                f"{target} has an unknown hook `{name}`",
                hint=f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(known)}",
            )
    hook = getattr(manager.hook, kind.hook)
    if not hook.get_hookimpls():
        raise PluginError(f"{target} has no hook `{kind.hook}`", hint="is it marked by `@hookimpl`?")
    return hook


def _declared(kind: Kind, name: str, target: str, returned: Any) -> Any:
    assert kind.spec is not None
    several = isinstance(returned, Iterable) and not isinstance(returned, str | bytes | Mapping)
    specs: list[Any] = list(returned) if several else [returned]
    for spec in specs:
        if not isinstance(spec, kind.spec):
            raise PluginError(f"`{kind.hook}` returned {type(spec).__name__}, not {kind.spec.__name__}")
    for spec in specs:
        if spec.name == name:
            return spec
    names = ", ".join(sorted(spec.name for spec in specs)) or "nothing"
    raise PluginError(f"{target} declares {names}, not `{name}` as its entry point says")


def _place(error: BaseException) -> str:
    """Where in its own code it went wrong."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    own = [frame for frame in frames if frame.filename not in (__file__, metadata.__file__)]
    return f" ({own[-1].filename}:{own[-1].lineno})" if own else ""


@frozen
class Checked:
    """One installed plugin and whether it loads."""

    plugin: Installed
    error: str | None
    summary: str = ""


@frozen
class Plugins:
    """A set of plugins by kind and name.

    Attributes:
        installed: what entry points claim.
        choices: distribution to take where several claim one name, by "kind:name".
    """

    installed: tuple[Installed, ...] = ()
    choices: Mapping[str, str] = field(factory=dict)
    _given: Mapping[tuple[str, str], Any] = field(factory=dict, alias="given")
    _loaded: dict[tuple[str, str], Any] = field(factory=dict, init=False, eq=False, repr=False)

    @classmethod
    def from_entry_points(cls, choices: Mapping[str, str] | None = None) -> Plugins:
        """All plugins of the installed distributions; imports none of them.

        Args:
            choices: which distribution to take where several claim one name, as {"driver:x": "dist-name"}.

        Raises:
            PluginError: a choice names no kind of plugin.
        """
        for choice in choices or {}:
            if choice.partition(":")[0] not in KINDS:
                kinds = ", ".join(KINDS)
                raise PluginError(f"`{choice}` is no kind and name of a plugin", hint=f"the kinds are {kinds}")
        found = []
        every = metadata.entry_points()
        for kind in KINDS.values():
            for entry in every.select(group=kind.group):
                # A distribution that lost its metadata must not hide the others.
                name, version = (entry.dist.name, entry.dist.version) if entry.dist else (None, None)
                found.append(
                    Installed(kind.word, entry.name, name or "unknown", version or "unknown", entry.value, entry)
                )
        found.sort(key=lambda one: (list(KINDS).index(one.kind), one.name, one.distribution, one.target))
        return cls(tuple(dict.fromkeys(found)), dict(choices or {}))

    @classmethod
    def of(cls, *specs: Any) -> Plugins:
        """Only the given declarations: DriverSpec, AnswererSpec, AssertionSpec, SinkSpec."""
        return cls().with_(*specs)

    def with_(self, *specs: Any) -> Plugins:
        """This set and the given declarations, which win over others of their names."""
        given = dict(self._given)
        for spec in specs:
            kind = next((kind for kind in KINDS.values() if kind.spec and isinstance(spec, kind.spec)), None)
            if kind is None:
                raise PluginError(f"{spec!r} is no declaration of a plugin")
            given[kind.word, spec.name] = spec
        return Plugins(self.installed, self.choices, given)

    def names(self, kind: str) -> tuple[str, ...]:
        """All names of a kind, sorted; imports nothing."""
        claimed = {one.name for one in self.installed if one.kind == kind}
        return tuple(sorted(claimed | {name for word, name in self._given if word == kind}))

    def driver(self, name: str) -> DriverSpec[Any]:
        """The driver of that name. Raises PluginError."""
        spec: DriverSpec[Any] = self._get("driver", name)
        return spec

    def answerer(self, name: str) -> AnswererSpec[Any]:
        """The answerer of that name. Raises PluginError."""
        spec: AnswererSpec[Any] = self._get("answerer", name)
        return spec

    def assertion(self, name: str) -> AssertionSpec[Any]:
        """The type of assertion of that name. Raises PluginError."""
        spec: AssertionSpec[Any] = self._get("assertion", name)
        return spec

    def sink(self, name: str) -> SinkSpec[Any]:
        """The sink of that name. Raises PluginError."""
        spec: SinkSpec[Any] = self._get("sink", name)
        return spec

    def command(self, name: str) -> Any:
        """The hook that adds the subcommand of that name. Raises PluginError."""
        return self._get("command", name)

    def use(self, kind: str, name: str) -> PluginUse:
        """Which code stands behind a name, for the record of a run."""
        if (kind, name) in self._given:
            version = getattr(self._given[kind, name], "version", None)
            return PluginUse(kind, name, None, version)
        chosen = self._choose(kind, name)
        return PluginUse(kind, name, chosen.distribution, chosen.version)

    def check(self) -> tuple[Checked, ...]:
        """Load every installed plugin and say which of them is broken and why."""
        return tuple(self._checked(one) for one in self.installed)

    def _checked(self, one: Installed) -> Checked:
        try:
            spec = one.load()
            self._choose(one.kind, one.name)
        except PluginError as error:
            return Checked(one, str(error))
        return Checked(one, None, getattr(spec, "summary", ""))

    def _get(self, kind: str, name: str) -> Any:
        key = kind, name
        if key in self._given:
            return self._given[key]
        if key not in self._loaded:
            self._loaded[key] = self._choose(kind, name).load()
        return self._loaded[key]

    def _choose(self, kind: str, name: str) -> Installed:
        claims = [one for one in self.installed if (one.kind, one.name) == (kind, name)]
        claimants = list(dict.fromkeys(one.distribution for one in claims))
        chosen = self.choices.get(f"{kind}:{name}")
        if chosen is not None and claims:
            claims = [one for one in claims if _normal(one.distribution) == _normal(chosen)]
            if not claims:
                raise PluginError(
                    f"{chosen} has no {kind} `{name}`, which it was chosen for", hint=_ways(kind, name, claimants)
                )
        if not claims:
            raise self._missing(kind, name)
        if len(claims) > 1:
            every = " and by ".join(f"{one.distribution} ({one.target})" for one in claims)
            raise PluginError(f"{kind} `{name}` is claimed by {every}", hint=_ways(kind, name, claimants))
        return claims[0]

    def _missing(self, kind: str, name: str) -> PluginError:
        known = self.names(kind)
        near = difflib.get_close_matches(name, known, n=1)
        if near:
            return PluginError(f"there is no {kind} `{name}`", hint=f"did you mean `{near[0]}`?")
        there = f"there are: {', '.join(known)}" if known else "there is none"
        usual = KINDS[kind].usual
        install = f"; install another: pip install {usual.format(name=name)}" if usual and _NAME.fullmatch(name) else ""
        return PluginError(f"there is no {kind} `{name}` here", hint=there + install)


_NAME = re.compile("[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*")


def _normal(distribution: str) -> str:
    """Names of distributions that differ only in this are the same."""
    return re.sub("[._-]+", "-", distribution).lower()


def _ways(kind: str, name: str, claimants: list[str]) -> str:
    if len(claimants) == 1:
        return f"only {claimants[0]} has it; if it has two of that name, tell its authors"
    chosen = claimants[0]
    return f'choose one: --plugin {kind}:{name}={chosen}, or in quintain.toml: [project.plugins] "{kind}:{name}" = "{chosen}"'
