"""`quintain identity`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import asdict, frozen

from quintain.authoring import open_project
from quintain.conditions import concern_of, tree_differences
from quintain.errors import QuintainError
from quintain.identity.lock import LOCK, Lock, read_lock
from quintain.identity.tree import Difference, difference, flatten, shown
from quintain.model.codec import dumps
from quintain.model.tree import Tree
from quintain.runs.history import blobs_of, find_record
from quintain.trial.fixtures import load_record
from quintain.workspace.blobs import BlobStore

_TREES = (".fixtures", ".grader.hidden")
"""Endings of names whose values are digests of trees that the store has."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser("show", help="what a run or a campaign depended on", description="List every source.")
    show.add_argument("name", metavar="RUN|CAMPAIGN", nargs="?", default="last", help="a name, `last`, or a directory")
    show.set_defaults(function=_show)
    diff = actions.add_parser(
        "diff",
        help="what makes two of them comparable or not",
        description="Name every source that differs; exits with 1 if any does.",
    )
    diff.add_argument("before", metavar="A", help="a run or a campaign: a name, `last`, or a directory")
    diff.add_argument("after", metavar="B", help="likewise")
    diff.set_defaults(function=_diff)
    for action in (show, diff):
        action.add_argument("--json", action="store_true", help="print one JSON document")


@frozen
class Found:
    """An identity and where it lies."""

    path: Path
    lock: Lock

    @property
    def blobs(self) -> BlobStore:
        """The file contents that it speaks of, if it lies where it was made."""
        return blobs_of(self.path.parent)


def _show(args: argparse.Namespace) -> int:
    found = _found(args.name)
    if args.json:
        print(dumps({"directory": str(found.path.parent), "root": found.lock.root, "sources": found.lock.tree}))
        return 0
    print(f"{found.path.parent.name}: {found.lock.root}")
    for name, value in flatten(found.lock.tree).items():
        print(f"  {name} = {shown(value)}")
    return 0


def _diff(args: argparse.Namespace) -> int:
    before, after = _found(args.before), _found(args.after)
    differences = list(_named(difference(before.lock.tree, after.lock.tree), before, after))
    notes = list(_notes(differences))
    if args.json:
        said = [{**asdict(one), "concern": concern_of(one.name), "sentence": str(one)} for one in differences]
        sides = {
            side: {"directory": str(one.path.parent), "root": one.lock.root}
            for side, one in (("before", before), ("after", after))
        }
        print(dumps({"equal": not differences, **sides, "differences": said, "notes": notes}))
        return 1 if differences else 0
    if not differences:
        print(f"the same: {before.lock.root}")
        return 0
    for one in differences:
        print(f"{concern_of(one.name):<8} {one}")
    for note in notes:
        print(f"\n{note}")
    return 1


def _found(name: str) -> Found:
    path = Path(name)
    if path.is_dir() and (path / LOCK).exists():
        path = path / LOCK
    elif not path.is_file():
        path = find_record(open_project(".").project.store, name)[0] / LOCK
    return Found(path, read_lock(path))


def _named(differences: Iterable[Difference], before: Found, after: Found) -> Iterator[Difference]:
    """The differences, with the files of trees in the place of the trees' digests where the store still has them."""
    for one in differences:
        if one.kind == "changed" and one.name.endswith(_TREES):
            try:
                trees = [load_record(digest, Tree, side.blobs) for digest, side in _sides(one, before, after)]
            except (QuintainError, OSError):
                yield one
            else:
                yield from tree_differences(one.name, *trees)
        else:
            yield one


def _sides(one: Difference, before: Found, after: Found) -> tuple[tuple[str, Found], tuple[str, Found]]:
    return (one.before, before), (one.after, after)


def _notes(differences: Iterable[Difference]) -> Iterator[str]:
    values = [(one.before, one.after) for one in differences if one.kind == "changed"]
    salts = [[str(value).split(":")[:2] for value in pair] for pair in values]
    if any(one[0] == "hmac-sha256" == other[0] and one != other for one, other in salts):
        yield (
            "Values of variables are hashed with the salt of their store. These stores have different salts, so equal "
            "values look different; copy the file `salt` from one store to the other to compare later runs."
        )
