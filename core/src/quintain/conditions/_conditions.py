"""The tree of everything that can change a result, and its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from attrs import field, frozen

from quintain.conditions._bind import bound
from quintain.conditions._driver import Look, Seen, see_driver
from quintain.conditions._parts import (
    Part,
    TemplateLike,
    case_part,
    core_part,
    isolation_part,
    limits_part,
    platform_part,
    plugin_part,
)
from quintain.conditions._places import Anchors
from quintain.conditions._programs import Program, Programs
from quintain.conditions._sources import WatchedFile, WatchedTree
from quintain.conditions._watch import Watch, case_files, fixture_trees
from quintain.identity.cache import DigestCache
from quintain.identity.canonical import digest
from quintain.identity.seal import TreeSeal
from quintain.identity.tree import Sources, rooted
from quintain.model.codec import to_plain
from quintain.plugins import Plugins
from quintain.trial.environment import secrets_of
from quintain.trial.prepare import Places


@frozen
class Conditions:
    """Everything that can change a result, named.

    Attributes:
        tree: names of sources, nested, with digests or values.
        root: digest of the tree.
        warnings: what weakens it, in words.
        templates: those that it was made of, of the same class, bound if it is an experiment.
    """

    tree: Sources
    root: str
    warnings: tuple[str, ...] = ()
    templates: tuple[Any, ...] = field(default=(), eq=False, repr=False)
    _watched: tuple[WatchedFile | WatchedTree, ...] = field(default=(), eq=False, repr=False)
    _programs: Mapping[str, Program] = field(factory=dict, eq=False, repr=False)
    _host: Mapping[str, str] = field(factory=dict, eq=False, repr=False)
    _cache: DigestCache = field(factory=DigestCache, eq=False, repr=False)
    _again: Callable[[], Awaitable[Conditions]] | None = field(default=None, eq=False, repr=False)

    def profile(self, name: str) -> str:
        """Digest of a way to run, with the program and the machine that it runs on. Raises KeyError."""
        return digest(
            {"core": self.tree["core"], "platform": self.tree["platform"], "profile": self.tree["profiles"][name]}
        )

    def case(self, id: str) -> str:
        """Digest of a case with its grader. Raises KeyError."""
        return digest(self.tree["cases"][id])

    def grader(self, id: str) -> str:
        """Digest of what grades a case. Raises KeyError."""
        return digest(self.tree["cases"][id].get("grader"))

    def seal(self, files: Mapping[str, Path] | None = None, trees: Mapping[str, TreeSeal] | None = None) -> Watch:
        """Watch that everything stays as it was when the conditions were made.

        Args:
            files: more files to watch, by the names under which they are told: case files, the campaign's file.
            trees: more directories, likewise, as they were when they were captured: the subject.

        Raises:
            QuintainError: one of those can't be read.
        """
        watched = [*self._watched, *fixture_trees(self.templates, self._cache)]
        again = self._again

        async def tree() -> Sources:
            return (await again()).tree if again is not None else self.tree

        return Watch(self.tree, watched, self._programs, self._host, self._cache, files or {}, trees or {}, tree)

    @asynccontextmanager
    async def watch(
        self, files: Mapping[str, Path] | None = None, trees: Mapping[str, TreeSeal] | None = None
    ) -> AsyncIterator[Watch]:
        """`seal`, for the length of a context."""
        watch = await anyio.to_thread.run_sync(self.seal, files, trees)
        try:
            yield watch
        finally:
            watch.close()


async def conditions_of(
    templates: Sequence[TemplateLike],
    plugins: Plugins,
    host: Mapping[str, str],
    cache: DigestCache,
    salt: bytes,
    *,
    root: Path | None = None,
    places: Places | None = None,
    experiment: bool = True,
    strict: bool | None = None,
) -> Conditions:
    """Look at everything that can change the result of an order.

    Args:
        templates: what will run, without a candidate laid in.
        plugins: where plugins come from.
        host: variables of the host.
        cache: digests that are known already.
        salt: the project's, from `project_salt`.
        root: the project's folder, whose place is of no account; case files are watched if it is known.
        places: where cases and profiles were written, for errors.
        experiment: have drivers bind or refuse their configurations; `Conditions.templates` are what must run then.
        strict: whether a program that isn't there, or something that can't be read, is an error; else it is a warning.
            Experiments are strict unless told otherwise.

    Raises:
        PolicyViolation: a driver refuses a configuration for an experiment.
        QuintainError: something can't be known.
    """
    templates = bound(templates, places) if experiment else templates
    strict = experiment if strict is None else strict
    anchors = Anchors.of(root)
    look = Look(plugins, host, cache, Programs(host, cache), anchors, salt, strict)
    found: list[Seen] = []

    async def driver(template: TemplateLike, name: str) -> Part:
        found.append(await see_driver(template, f"{name}.{template.order.driver.name}", look))
        return {template.order.driver.name: found[-1].part}

    profiles: Part = {}
    cases: Part = {}
    for template in templates:
        order = template.order
        if order.profile not in profiles:
            profiles[order.profile] = _profile(template, templates, host, salt)
        own = profiles[order.profile]
        if order.case.driver is None and "driver" not in own:
            own["driver"] = await driver(template, f"profiles.{order.profile}.driver")
        if order.case.answerer is None and "answerer" not in own:
            own["answerer"] = _answerer(template, plugins, _hiding(anchors, template, host))
        if order.case.id not in cases:
            hiding = _hiding(anchors, template, host)
            part = cases[order.case.id] = case_part(template, plugins, hiding)
            if order.case.driver is not None:
                part["driver"] = await driver(template, f"cases.{order.case.id}.driver")
            if order.case.answerer is not None:
                part["answerer"] = _answerer(template, plugins, hiding)
    tree, digest_of_all = rooted(
        {"core": core_part(), "platform": platform_part(), "profiles": profiles, "cases": cases}
    )

    async def again() -> Conditions:
        return await conditions_of(templates, plugins, host, cache, salt, root=root, experiment=False)

    return Conditions(
        tree,
        digest_of_all,
        tuple(dict.fromkeys(warning for one in found for warning in one.warnings)),
        tuple(templates),
        (*(watched for one in found for watched in one.watched), *case_files(templates, root, cache)),
        {name: program for one in found for name, program in one.programs.items()},
        host,
        cache,
        again,
    )


def _hiding(anchors: Anchors, template: TemplateLike, host: Mapping[str, str]) -> Anchors:
    return anchors.hiding(secrets_of(template.order.isolation, template.prepared.runtime.host_environment, host))


def _profile(template: TemplateLike, templates: Sequence[TemplateLike], host: Mapping[str, str], salt: bytes) -> Part:
    order = template.order
    same = [one for one in templates if one.order.profile == order.profile]
    return {"isolation": isolation_part(order.isolation, host, salt), "limits": limits_part(same)}


def _answerer(template: TemplateLike, plugins: Plugins, anchors: Anchors) -> Part:
    prepared, name = template.prepared, template.order.answerer.name
    config = anchors.free(to_plain(prepared.answerer_config))
    return {name: {**plugin_part(plugins.use("answerer", name)), "config": config}}
