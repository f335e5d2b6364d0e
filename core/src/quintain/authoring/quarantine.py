"""Cases that can't be trusted, in a file that a team keeps beside its cases: campaigns leave them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tomli_w
from attrs import frozen

from quintain.authoring._document import read_toml
from quintain.errors import AuthoringError, StoreError

NAME = "quarantine.toml"

_HEAD = """\
# Cases whose grader failed a right solution or passed an empty one. Campaigns leave them out.
# `quintain calibrate` writes this file; mend a case and calibrate it again to have it back.

"""


@frozen
class Quarantined:
    """A case that can't be trusted.

    Attributes:
        reasons: why, one sentence each.
        run: the run that has the evidence.
    """

    reasons: tuple[str, ...]
    run: str = ""


def read_quarantine(root: Path) -> dict[str, Quarantined]:
    """The quarantined cases of a project, by id; none if there is no such file.

    Raises:
        AuthoringError: the file says something that it can't say.
    """
    path = root / NAME
    if not path.is_file():
        return {}
    document = read_toml(path)
    found = {}
    cases = document.data.get("cases", {})
    for id, table in cases.items() if isinstance(cases, dict) else ():
        reasons = table.get("reasons") if isinstance(table, dict) else None
        if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
            raise AuthoringError(
                "a quarantined case has a list of texts `reasons`", where=document.where(("cases", id))
            )
        found[id] = Quarantined(tuple(reasons), str(table.get("run", "")))
    return found


def write_quarantine(root: Path, tried: Sequence[str], found: Mapping[str, Quarantined]) -> Path | None:
    """Write down what a calibration found; cases that were not tried stay as they were.

    Args:
        root: of the project.
        tried: ids of the cases that were calibrated.
        found: those of them that can't be trusted.

    Returns:
        The file, or None if there is nothing to say and no file.

    Raises:
        StoreError: it can't be written.
    """
    path = root / NAME
    kept = {id: one for id, one in read_quarantine(root).items() if id not in tried}
    cases = dict(sorted({**kept, **found}.items()))
    try:
        if not cases:
            path.unlink(missing_ok=True)
            return None
        tables = {id: {"reasons": list(one.reasons), "run": one.run} for id, one in cases.items()}
        path.write_text(_HEAD + tomli_w.dumps({"cases": tables}), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"can't be written: {error.strerror}", where=str(path)) from error
    return path
