"""`quintain apply`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from attrs import asdict

from quintain.authoring import open_project
from quintain.campaign.directory import find_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.state import State, read_state
from quintain.campaign.verify import verify
from quintain.candidates import apply_candidate, captured_of
from quintain.cli.project import shown
from quintain.errors import UsageError
from quintain.model.campaign import BASELINE, Campaign, Candidate
from quintain.model.codec import dumps, from_plain
from quintain.reporting.text import clean, clean_lines
from quintain.runs.history import blobs_of


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="DIR", nargs="?", default="last", help="directory of the campaign, or its name")
    parser.add_argument("--candidate", metavar="C", help="apply this one instead of the promoted one")
    parser.add_argument("--dry-run", action="store_true", help="show the difference and write nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    directory = find_campaign(open_project(".").project.store, args.name)
    blobs = blobs_of(directory)
    found = verify(directory, blobs)
    if not found.sound:
        raise UsageError(
            f"the campaign is not what was written: {found.problems[0]}",
            where=str(shown(directory)),
            hint="quintain verify names everything that was changed",
        )
    with closing(Ledger(directory)) as ledger:
        state = read_state(ledger)
    candidate = chosen(state, args.candidate, shown(directory))
    campaign = from_plain(state.campaign["campaign"], Campaign)
    captured = captured_of(state.campaign["captured"], blobs)
    applied = apply_candidate(candidate, captured, campaign.subject, blobs, dry_run=args.dry_run)
    if args.json:
        print(dumps({"candidate": candidate.id, **asdict(applied)}))
        return 0
    if applied.recovered:
        print("an earlier apply was cut off; what it had done was undone first")
    for text in applied.diffs:
        for line in clean_lines(text.rstrip("\n")):
            print(line)
    if not applied.paths:
        print(f"the source is {candidate.id} already")
    else:
        print(f"{'wrote' if applied.written else 'would write'}  {clean(', '.join(applied.paths))}")
    return 0


def chosen(state: State, name: str | None, where: Path) -> Candidate:
    """The candidate that is to be applied. Raises UsageError."""
    if name is None:
        if state.decision is None or state.decision.candidate is None:
            verdict = state.decision.verdict.value if state.decision else "no decision"
            raise UsageError(
                f"it promoted no candidate ({verdict})", where=str(where), hint="--candidate applies one all the same"
            )
        name = state.decision.candidate
    if name == BASELINE or name not in state.candidates:
        others = ", ".join(one for one in state.candidates if one != BASELINE) or "none"
        raise UsageError(f"there is no candidate `{name}` to apply", where=str(where), hint=f"there are: {others}")
    return state.candidates[name]
