"""Finding and loading plugins: listed without import, loaded one by one, each broken on its own.

`Plugins` is a set of plugins. It comes from the entry points of installed packages, from declarations passed in code,
or from both; what is passed in code wins over what is installed.
"""

from __future__ import annotations

import contextlib
import difflib
import sys
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
    """A kind of plugin: its word, the type of its declaration and where its usual members come from."""

    word: str
    spec: type | None
    usual: str

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
        Kind("command", None, "a package"),
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
                plugin = self._entry.load()
                manager = pluggy.PluginManager("quintain")
                manager.add_hookspecs(hooks)
                manager.register(plugin, self.name)
                manager.check_pending()
                hook = getattr(manager.hook, kind.hook)
                if not hook.get_hookimpls():
                    raise PluginError(f"{self.target} has no hook `{kind.hook}`")
                return hook if kind.spec is None else _declared(kind, self.name, self.target, next(iter(hook()), None))
        except PluginError as error:
            raise PluginError(error.message, where=where, hint=error.hint) from error
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"can't be loaded: {type(error).__name__}: {error}",
                where=where,
                hint=f"it was to be imported from {self.target}; other plugins are not affected",
            ) from error


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
        """
        found = []
        for kind in KINDS.values():
            for entry in metadata.entry_points(group=kind.group):
                name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "unknown")
                found.append(Installed(kind.word, entry.name, name, version, entry.value, entry))
        found.sort(key=lambda one: (list(KINDS).index(one.kind), one.name, one.distribution))
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
        results = []
        for one in self.installed:
            rivals = [
                other.distribution for other in self.installed if (other.kind, other.name) == (one.kind, one.name)
            ]
            try:
                spec = one.load()
                if len(rivals) > 1:
                    self._choose(one.kind, one.name)
                results.append(Checked(one, None, getattr(spec, "summary", "")))
            except PluginError as error:
                results.append(Checked(one, str(error)))
        return tuple(results)

    def _get(self, kind: str, name: str) -> Any:
        key = kind, name
        if key in self._given:
            return self._given[key]
        if key not in self._loaded:
            self._loaded[key] = self._choose(kind, name).load()
        return self._loaded[key]

    def _choose(self, kind: str, name: str) -> Installed:
        claims = [one for one in self.installed if (one.kind, one.name) == (kind, name)]
        chosen = self.choices.get(f"{kind}:{name}")
        if chosen is not None:
            claims = [one for one in claims if one.distribution == chosen]
            if not claims:
                raise PluginError(f"{chosen} has no {kind} `{name}`, which it was chosen for")
        if len(claims) == 1:
            return claims[0]
        if claims:
            raise PluginError(
                f"{kind} `{name}` is claimed by {' and by '.join(one.distribution for one in claims)}",
                hint=f"choose one: --plugin {kind}:{name}={claims[0].distribution}, or in quintain.toml: "
                f'[project.plugins] "{kind}:{name}" = "{claims[0].distribution}"',
            )
        raise self._missing(kind, name)

    def _missing(self, kind: str, name: str) -> PluginError:
        near = difflib.get_close_matches(name, self.names(kind), n=1)
        if near:
            return PluginError(f"there is no {kind} `{name}`", hint=f"did you mean `{near[0]}`?")
        package = KINDS[kind].usual.format(name=name)
        return PluginError(f"there is no {kind} `{name}` here", hint=f"install it: pip install {package}")
