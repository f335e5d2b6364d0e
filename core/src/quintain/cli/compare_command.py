"""`quintain compare`."""

from __future__ import annotations

import argparse

from quintain.authoring import open_project
from quintain.campaign.compare import COMPARED, USUAL, Comparison, compare
from quintain.campaign.words import effect_words
from quintain.errors import UsageError
from quintain.model.campaign import BASELINE
from quintain.model.codec import dumps, to_plain
from quintain.reporting.text import clean, named
from quintain.runs.history import find_record


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("base", metavar="A", help="what to compare with: a run or a campaign")
    parser.add_argument("branch", metavar="B", help="is it better than A?")
    parser.add_argument(
        "--metric", action="append", default=[], choices=COMPARED, help=f"what decides ({', '.join(USUAL)})"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.0, metavar="T", help="no larger difference of a share counts"
    )
    parser.add_argument("--confidence", type=float, default=0.95, metavar="P", help="with which it must be shown")
    parser.add_argument(
        "--accept", action="append", default=[], metavar="NAME", help="a difference of the conditions that is meant"
    )
    parser.add_argument("--base-candidate", default=BASELINE, metavar="C", help="of A, if it is a campaign")
    parser.add_argument("--candidate", default=BASELINE, metavar="C", help="of B, if it is a campaign")
    parser.add_argument("--strict", action="store_true", help="it must be shown that B is no worse")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if not 0.5 <= args.confidence < 1:
        raise UsageError(f"--confidence {args.confidence:g} is no number from 0.5 to below 1")
    if not 0 <= args.tolerance < 1:
        raise UsageError(f"--tolerance {args.tolerance:g} is no number from 0 to below 1")
    store = open_project(".").project.store
    found = compare(
        find_record(store, args.base)[0],
        find_record(store, args.branch)[0],
        metrics=tuple(args.metric) or USUAL,
        tolerance=args.tolerance,
        confidence=args.confidence,
        accept=tuple(args.accept),
        base_candidate=args.base_candidate,
        branch_candidate=args.candidate,
    )
    if args.json:
        print(dumps(to_plain(found)))
    else:
        _print(found)
    return _code(found, strict=args.strict)


def _code(found: Comparison, *, strict: bool) -> int:
    """0 it may pass, 1 it is worse, 3 it can't be told."""
    if found.outcome == "worse":
        return 1
    if found.outcome == "not comparable" or all(one.difference.estimate is None for one in found.effects):
        return 3
    return 3 if strict and found.outcome == "no difference shown" else 0


def _print(found: Comparison) -> None:
    print(f"A  {found.base.name} ({found.base.candidate}), {found.base.scored} of {found.base.trials} trials scored")
    print(
        f"B  {found.branch.name} ({found.branch.candidate}), {found.branch.scored} of {found.branch.trials} trials scored"
    )
    print()
    for effect in found.effects:
        print(f"{effect.finding:<10}  {clean(effect_words(effect))}")
        for word, cases in (("regressed", effect.regressed), ("improved", effect.improved)):
            if cases:
                print(f"            {word}: {clean(named(cases))}")
    for effect in found.beside:
        print(f"beside      {clean(effect_words(effect))}")
    for note in found.notes:
        print(f"note        {clean(note)}")
    for one in found.differences[:20]:
        print(f"differs     {clean(str(one))}")
    if len(found.differences) > 20:
        print(f"differs     and {len(found.differences) - 20} more: quintain identity diff names all")
    print()
    print(f"B is {'not comparable with A' if found.outcome == 'not comparable' else _said(found)}")
    if found.differences:
        print(
            "what differs and is meant can be accepted: --accept NAME, or --accept with what it concerns (profile, ...)"
        )


def _said(found: Comparison) -> str:
    return {
        "better": "better than A",
        "worse": "worse than A",
        "no worse": "no worse than A",
        "no difference shown": "not shown to differ from A",
    }[found.outcome]
