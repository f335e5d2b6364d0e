"""What most commands begin with: the project, its plugins, the cases that were asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, frozen

from quintain.authoring import Discovered, ProjectSources, discover, open_project, select
from quintain.errors import UsageError
from quintain.model.case import Case
from quintain.model.plain import Plug
from quintain.model.project import Profile, Project
from quintain.plugins import Plugins
from quintain.trial.prepare import Places


def add_project_options(parser: argparse.ArgumentParser) -> None:
    """Options that choose among plugins."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="KIND:NAME=DIST",
        help="which distribution to take where several claim a name",
    )


def add_case_options(parser: argparse.ArgumentParser) -> None:
    """Arguments that select cases."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="case files or folders; the project's if not given")
    parser.add_argument("-t", "--tag", action="append", default=[], help="only cases with this tag; may be repeated")
    parser.add_argument(
        "-k", dest="expression", metavar="EXPR", help="only cases whose name or tags fit: `add and not slow`"
    )


@frozen
class Context:
    """A project that is open, with its plugins."""

    project: Project
    plugins: Plugins
    sources: ProjectSources


def open_context(args: argparse.Namespace) -> Context:
    """The project of the first path, or of the folder we are in. Raises QuintainError."""
    paths = [Path(path) for path in getattr(args, "paths", [])]
    start = paths[0] if paths and paths[0].exists() else Path.cwd()
    # Without a path everything below a folder would count as cases, and Python cases would be run: not by accident.
    opened = open_project(start, required=not paths)
    return Context(opened.project, plugins_of(opened.project, args), opened.sources)


def concurrency_of(args: argparse.Namespace, project: Project) -> int:
    """Trials at once, as the command line says or else the project."""
    return args.concurrency if args.concurrency is not None else project.concurrency


def shown(path: Path) -> Path:
    """The path as people here would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def plugins_of(project: Project, args: argparse.Namespace) -> Plugins:
    """The installed plugins, chosen as the project and the command line say. Raises UsageError."""
    choices = dict(project.choices)
    for choice in args.plugin:
        key, _, distribution = choice.partition("=")
        if ":" not in key or not distribution:
            raise UsageError(f"--plugin {choice}: it is written KIND:NAME=DIST, as in driver:mine=my-package")
        choices[key] = distribution
    return Plugins.from_entry_points(choices)


def found_cases(args: argparse.Namespace, context: Context) -> tuple[Discovered, Places]:
    """The cases of the paths, and where everything was written."""
    root = context.project.root.resolve()
    found = discover([Path(path) for path in args.paths if Path(path).resolve() != root], context.project)
    places = Places(
        case=lambda case, key: found.sources.where(case.id, key),
        profile=lambda name, key: context.sources.where(("profiles", name, *key)),
    )
    return found, places


def selected(args: argparse.Namespace, context: Context) -> tuple[tuple[Case, ...], Places]:
    """The cases that were asked for, in order, and where everything was written."""
    found, places = found_cases(args, context)
    return select(found.cases, tags=tuple(args.tag), expression=args.expression), places


def profiles(project: Project, names: Sequence[str], driver: str | None) -> tuple[Profile, ...]:
    """The profiles that were asked for. Raises UsageError."""
    wanted = list(names) or ([project.default_profile] if project.default_profile else [])
    if not wanted:
        if driver is not None:
            return (Profile(name="default", driver=Plug(driver)),)
        known = ", ".join(project.profiles)
        raise UsageError(
            "it isn't clear which profile to run",
            hint=f"choose with --profile: {known}" if known else "write one in quintain.toml, or give --driver",
        )
    found = []
    for name in wanted:
        if name not in project.profiles:
            raise UsageError(
                f"there is no profile `{name}`", hint=f"there are: {', '.join(project.profiles) or 'none'}"
            )
        profile = project.profiles[name]
        if driver is not None:
            plug = profile.driver if profile.driver.name == driver else Plug(driver)
            profile = evolve(profile, driver=plug)
        found.append(profile)
    return tuple(found)
