"""The campaign file: what is compared with what, on which cases, and what counts as better.

`open_campaign(path, project, metrics)` reads one; `check_campaign(campaign, metrics)` says what is wrong with one that a
program made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from attrs import field, frozen

from quintain.authoring._campaign_checks import MetricRule, problems
from quintain.authoring._document import Document, is_file, is_folder, read_toml
from quintain.authoring._lines import Key
from quintain.authoring._structure import nearest, structure
from quintain.authoring.cases import discover
from quintain.authoring.project import PROJECT_FILE
from quintain.authoring.select import fits, select
from quintain.authoring.sources import Sources
from quintain.errors import AuthoringError, QuintainError, raise_all
from quintain.model.bounds import at_least
from quintain.model.campaign import (
    BASELINE,
    SPLITS,
    Budget,
    Campaign,
    Constraint,
    Objective,
    Repetitions,
    Split,
    Stopping,
    Subject,
    Validation,
    Variant,
    candidate_id,
    share,
)
from quintain.model.case import Case
from quintain.model.project import Profile, Project


@frozen
class SubjectTable:
    """`[subject]`."""

    root: str
    mutable: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    may_add: bool = False
    may_delete: bool = False
    place: Literal["workspace", "beside"] = "workspace"
    into: str = "."
    validate: tuple[Validation, ...] = ()


@frozen
class SplitTable:
    """`[splits.NAME]`."""

    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@frozen
class VariantTable:
    """`[[variants]]`."""

    id: str = field(validator=candidate_id)
    revision: str | None = None
    directory: str | None = None
    files: Mapping[str, str] = field(factory=dict)
    text: Mapping[str, str] = field(factory=dict)
    delete: tuple[str, ...] = ()
    rationale: str = ""
    parents: tuple[str, ...] = (BASELINE,)


@frozen
class CampaignFile:
    """The whole file."""

    id: str = field(validator=candidate_id)
    subject: SubjectTable
    splits: Mapping[str, SplitTable]
    profiles: tuple[str, ...] = ()
    variants: tuple[VariantTable, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    objectives: tuple[Objective, ...] = (Objective("pass_rate"),)
    repetitions: Repetitions = field(factory=Repetitions)
    budget: Budget = field(factory=Budget)
    alpha: float = field(default=0.05, validator=share)
    finalists: int = field(default=3, validator=at_least(1))
    coverage: float = field(default=0.9, validator=share)
    seed: int = 0
    stopping: Stopping = field(factory=Stopping)


@frozen
class LoadedCampaign:
    """A campaign and where it says what it says.

    Attributes:
        campaign: the record.
        sources: where its cases were read.
    """

    campaign: Campaign
    sources: Sources
    _document: Document

    def where(self, key: Key = ()) -> str:
        """File, line and key of the campaign file, for people."""
        return self._document.where(key)


def open_campaign(path: Path | str, project: Project, metrics: Mapping[str, MetricRule]) -> LoadedCampaign:
    """Read a campaign file.

    Args:
        path: of the file; paths in it are relative to its folder.
        project: with the profiles and cases that it names.
        metrics: what can be measured, by name.

    Raises:
        AuthoringError: it says something it can't say, with file, line and key; or a case file does.
        AuthoringErrors: several such things.
    """
    file = Path(path).resolve()
    document = read_toml(file)
    errors: list[QuintainError] = []
    unfit: list[AuthoringError] = []
    content = structure(document.data, CampaignFile, document.where, unfit)
    if content is None:
        raise_all(unfit)
    assert content is not None
    discovered = discover((), project)
    splits = {
        name: Split(tuple(_selected(name, table, discovered.cases, document, errors)))
        for name, table in sorted(content.splits.items(), key=lambda item: _order(item[0]))
    }
    campaign = Campaign(
        id=content.id,
        subject=_subject(content.subject, file, project, document, errors),
        profiles=tuple(_profiles(content.profiles, project, document, errors)),
        splits=splits,
        variants=tuple(_variants(content.variants, file.parent, document, errors)),
        constraints=content.constraints,
        objectives=content.objectives,
        repetitions=content.repetitions,
        budget=content.budget,
        alpha=content.alpha,
        finalists=content.finalists,
        coverage=content.coverage,
        seed=content.seed,
        stopping=content.stopping,
        source=(file.relative_to(project.root) if file.is_relative_to(project.root) else file).as_posix(),
    )
    # What a wrong name leaves out is not to be blamed a second time.
    if not errors:
        errors += problems(campaign, metrics, document.where)
    raise_all(errors)
    return LoadedCampaign(campaign, discovered.sources, document)


def check_campaign(campaign: Campaign, metrics: Mapping[str, MetricRule]) -> None:
    """Say what is wrong with a campaign that a program made.

    Raises:
        AuthoringError: its parts contradict each other, with the key.
        AuthoringErrors: several such things.
    """

    def where(key: Key) -> str:
        return ": ".join((f"campaign {campaign.id}", ".".join(map(str, key))))

    raise_all(problems(campaign, metrics, where))


def _order(name: str) -> int:
    return SPLITS.index(name) if name in SPLITS else len(SPLITS)


def _subject(
    table: SubjectTable, file: Path, project: Project, document: Document, errors: list[QuintainError]
) -> Subject:
    root = file.parent / table.root
    if not is_folder(root):
        errors.append(AuthoringError(f"`{table.root}` is no folder here", where=document.where(("subject", "root"))))
    else:
        root = root.resolve()
        errors += _inside(root, table, project, document)
    return Subject(
        root=root,
        mutable=table.mutable,
        exclude=(*table.exclude, *_own_files(root, file, project)),
        may_add=table.may_add,
        may_delete=table.may_delete,
        place=table.place,
        into=table.into,
        validate=table.validate,
    )


def _own_files(root: Path, file: Path, project: Project) -> Iterator[str]:
    """Patterns of the files that say how agents are tested; to raise a budget is no change of the subject."""
    for one in (file, project.root / PROJECT_FILE):
        if one.is_relative_to(root):
            yield re.sub(r"[*?\[]", r"[\g<0>]", one.relative_to(root).as_posix())


def _inside(root: Path, table: SubjectTable, project: Project, document: Document) -> Iterator[AuthoringError]:
    """Folders of the project that must be no part of what agents are given."""
    inside = [
        (cases, "the cases lie in the subject, so agents would see how they are graded") for cases in project.case_roots
    ]
    inside.append((project.store, "runs are kept in the subject, so it would change while the campaign runs"))
    for place, why in inside:
        if not place.is_relative_to(root) or ".quintain" in place.relative_to(root).parts:
            continue
        relative = place.relative_to(root).as_posix()
        if not any(_covers(pattern, relative) for pattern in table.exclude):
            key: Key = ("subject", "exclude") if table.exclude else ("subject", "root")
            hint = f'exclude = ["{relative}/**"] leaves them out'
            if place == root:
                hint = "give the subject a folder of its own"
            yield AuthoringError(why, where=document.where(key), hint=hint)


def _covers(pattern: str, path: str) -> bool:
    """Whether a pattern leaves out a folder, or one above it."""
    stated = pattern.removeprefix("./").rstrip("/").removesuffix("/**")
    anywhere, stated = stated.startswith("**/"), stated.removeprefix("**/")
    parts, depth = path.split("/"), stated.count("/") + 1
    starts = range(len(parts) - depth + 1) if anywhere else range(len(parts) >= depth)
    return any(fnmatchcase("/".join(parts[at : at + depth]), stated) for at in starts)


def _profiles(
    names: Sequence[str], project: Project, document: Document, errors: list[QuintainError]
) -> Iterator[Profile]:
    if not names and project.default_profile is not None:
        names = (project.default_profile,)
    for number, name in enumerate(names):
        if name in project.profiles:
            yield project.profiles[name]
        else:
            errors.append(
                AuthoringError(
                    f"there is no profile `{name}` in the project",
                    where=document.where(("profiles", number)),
                    hint=nearest(name, project.profiles),
                )
            )


def _selected(
    name: str, table: SplitTable, cases: Sequence[Case], document: Document, errors: list[QuintainError]
) -> Sequence[Case]:
    """The cases of a split; the rules are those of `quintain run`."""
    key: Key = ("splits", name)
    before = len(errors)
    ids = [case.id for case in cases]
    tags = {tag for case in cases for tag in case.tags}
    for part, patterns in (("cases", table.cases), ("exclude", table.exclude)):
        for number, pattern in enumerate(patterns):
            if not any(fits(id, pattern) for id in ids):
                where = document.where((*key, part, number))
                errors.append(AuthoringError(f"0 cases fit `{pattern}`", where=where, hint=nearest(pattern, ids)))
    for number, tag in enumerate(table.tags):
        if tag not in tags:
            where = document.where((*key, "tags", number))
            errors.append(AuthoringError(f"no case has the tag `{tag}`", where=where, hint=nearest(tag, tags)))
    if len(errors) > before:
        return ()
    chosen = select(cases, ids=table.cases, tags=table.tags)
    kept = [case for case in chosen if not any(fits(case.id, pattern) for pattern in table.exclude)]
    if not kept:
        hint = "`cases`, `tags` and `exclude` must all let a case pass" if cases else "the project has no cases"
        errors.append(AuthoringError(f"0 cases are in the split `{name}`", where=document.where(key), hint=hint))
    return kept


def _variants(
    tables: Sequence[VariantTable], folder: Path, document: Document, errors: list[QuintainError]
) -> Iterator[Variant]:
    for number, table in enumerate(tables):
        key: Key = ("variants", number)
        directory = None if table.directory is None else folder / table.directory
        if directory is not None and not is_folder(directory):
            where = document.where((*key, "directory"))
            errors.append(AuthoringError(f"`{table.directory}` is no folder here", where=where))
        for component, stated in table.files.items():
            if not is_file(folder / stated):
                where = document.where((*key, "files", component))
                errors.append(AuthoringError(f"`{stated}` is no file here", where=where))
        yield Variant(
            id=table.id,
            revision=table.revision,
            directory=directory,
            files={component: folder / stated for component, stated in table.files.items()},
            text=table.text,
            delete=table.delete,
            rationale=table.rationale,
            parents=table.parents,
        )
