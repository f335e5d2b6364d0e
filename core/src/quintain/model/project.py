"""A project: where its cases are, and the named ways to run them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from quintain.model.bounds import at_least
from quintain.model.limits import Limits, Retry
from quintain.model.plain import Plug
from quintain.model.trial import Isolation


@frozen
class Profile:
    """A named way to run cases: driver and configuration, answerer, limits, isolation."""

    name: str
    driver: Plug
    answerer: Plug = field(factory=lambda: Plug("deny"))
    limits: Limits = field(factory=Limits)
    retry: Retry = field(factory=Retry)
    isolation: Isolation = field(factory=Isolation)


@frozen
class Project:
    """A folder with cases and profiles.

    Attributes:
        root: absolute path of the folder.
        name: for people.
        case_roots: absolute paths of the folders with cases; a case's id is its path from there.
        store: absolute path of the folder where runs are kept.
        profiles: by name, in the order of the file.
        default_profile: the one to run if none is asked for; None if that isn't clear.
        repeat: repetitions of each case.
        concurrency: trials at once.
        sinks: who is told of what happens.
        choices: which distribution to take where several claim one name, by "kind:name".
    """

    root: Path
    name: str
    case_roots: tuple[Path, ...]
    store: Path
    profiles: Mapping[str, Profile] = field(factory=dict)
    default_profile: str | None = None
    repeat: int = field(default=1, validator=at_least(1))
    concurrency: int = field(default=4, validator=at_least(1))
    sinks: tuple[Plug, ...] = ()
    choices: Mapping[str, str] = field(factory=dict)
