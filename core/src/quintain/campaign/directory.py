"""Where campaigns lie, and how they are found again by the names that people type.

<store>/campaigns/<stamp>-<campaign id>/
    run.db           trials and ledger
    identity.lock    what all of it depended on
    trials/          evidence that has outgrown the record
    seal.json        digests of the files, once the campaign has ended
"""

from __future__ import annotations

import platform
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from quintain.errors import StoreError, UsageError
from quintain.model.campaign import Campaign
from quintain.model.plain import PluginUse
from quintain.model.run import RunInfo
from quintain.runs.history import campaign_names
from quintain.version import VERSION


def make_directory(store: Path, campaign: str, fill: Callable[[Path], None]) -> Path:
    """Make a directory that is this campaign's alone; it is there with all that is put into it, or not at all.

    Args:
        store: directory that holds campaigns.
        campaign: id of the campaign.
        fill: puts the first files into it; it will have another name later.

    Raises:
        StoreError: it can't be made.
    """
    parent = store / "campaigns"
    name = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{campaign}-{secrets.token_hex(3)}"
    made, path = parent / f".{name}", parent / name
    try:
        made.mkdir(mode=0o700, parents=True)
        fill(made)
        made.rename(path)
    except OSError as error:
        raise StoreError(f"can't be written: {error.strerror}", where=str(parent)) from error
    return path


def find_campaign(store: Path, name: str) -> Path:
    """Directory of a campaign.

    Args:
        store: directory that holds them.
        name: "last", a whole name, a part of one that fits no other; or a directory.

    Raises:
        UsageError: no campaign or several fit.
    """
    if (Path(name) / "run.db").is_file():
        return Path(name)
    names = campaign_names(store)
    if name == "last" and names:
        return store / "campaigns" / names[-1]
    found = [name] if name in names else [one for one in names if name in one]
    if len(found) == 1:
        return store / "campaigns" / found[0]
    if found:
        raise UsageError(f"`{name}` fits several campaigns: {', '.join(found)}")
    known = f"the last are {', '.join(names[-5:])}" if names else f"there is no campaign in {store} yet"
    raise UsageError(f"there is no campaign `{name}`", hint=known)


def run_info(
    campaign: Campaign, name: str, trials: int, concurrency: int, plugins: Sequence[PluginUse], command: str
) -> RunInfo:
    """What is known of a campaign at its beginning."""
    return RunInfo(
        id=name,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        version=VERSION,
        trials=trials,
        cases=tuple(case.id for split in campaign.splits.values() for case in split.cases),
        profiles=tuple(profile.name for profile in campaign.profiles),
        repeat=campaign.repetitions.promotion,
        concurrency=concurrency,
        command=command,
        plugins=tuple(plugins),
        platform=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    )
