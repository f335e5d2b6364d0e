"""Finding runs and trials again by the names that people type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from quintain.errors import StoreError, UsageError
from quintain.model.run import RunInfo, RunSummary
from quintain.runs.store import RunStore
from quintain.workspace.blobs import BlobStore


def run_names(store: Path) -> list[str]:
    """Names of all runs of a store, oldest first."""
    runs = store / "runs"
    return sorted(path.name for path in runs.iterdir() if (path / "run.db").is_file()) if runs.is_dir() else []


def campaign_names(store: Path) -> list[str]:
    """Names of all campaigns of a store, oldest first."""
    campaigns = store / "campaigns"
    if not campaigns.is_dir():
        return []
    # What begins with a dot was killed before it was a campaign.
    return sorted(path.name for path in campaigns.glob("[!.]*") if (path / "run.db").is_file())


def blobs_of(directory: Path) -> BlobStore:
    """The file contents of a run or a campaign, if it lies where it was made."""
    return BlobStore(directory.resolve().parent.parent / "blobs")


def record_names(store: Path) -> dict[str, Path]:
    """Directories of all runs and campaigns of a store by name, oldest first."""
    found = [(name, store / "runs" / name) for name in run_names(store)]
    found += [(name, store / "campaigns" / name) for name in campaign_names(store)]
    # Names begin with the second in which they were made; of one second the files know the order.
    return dict(sorted(found, key=lambda one: (one[0][:19], one[1].stat().st_mtime_ns)))


def find_run(store: Path, name: str) -> Path:
    """Directory of a run.

    Args:
        store: directory that holds the runs.
        name: "last", a whole name, or the beginning or end of one that fits no other; or a directory.

    Raises:
        UsageError: no run or several fit.
    """
    return _find({one: store / "runs" / one for one in run_names(store)}, store, name, "run")


def find_record(store: Path, name: str) -> tuple[Path, str]:
    """Directory of a run or a campaign, and the name of a trial in it, empty for none.

    Args:
        store: directory that holds them.
        name: as for `find_run`, of either; then perhaps `/` and the trial.

    Raises:
        UsageError: nothing or several fit.
    """
    parts = name.split("/")
    # A directory may have slashes, and so may a trial: the longest beginning that is a record is meant.
    for end in range(len(parts), 0, -1):
        directory = Path("/".join(parts[:end]) or "/")
        if (directory / "run.db").is_file():
            return directory, "/".join(parts[end:])
    head, _, trial = name.partition("/")
    return _find(record_names(store), store, head, "run or campaign"), trial


def _find(known: Mapping[str, Path], store: Path, name: str, what: str) -> Path:
    names = list(known)
    if name == "last" and names:
        return known[names[-1]]
    found = [name] if name in known else [one for one in names if one.startswith(name) or one.endswith(name)]
    if len(found) == 1:
        return known[found[0]]
    if not found and (Path(name) / "run.db").is_file():
        return Path(name)
    if found:
        raise UsageError(f"`{name}` fits several: {', '.join(found)}")
    hint = f"the last are {', '.join(names[-5:])}" if names else f"there is no {what} in {store} yet"
    raise UsageError(f"there is no {what} `{name}`", hint=hint)


def find_trial(run: RunStore, name: str) -> str:
    """Full name of a trial.

    Args:
        run: the run that it belongs to.
        name: a whole name, one without its profile (`case#1`), or a beginning that fits no other.

    Raises:
        UsageError: no trial or several fit.
    """
    names = [row.trial for row in run.rows()]
    if name in names:
        return name
    found = [one for one in names if _short(one) == name] or [one for one in names if one.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        more = ", ..." if len(found) > 5 else ""
        raise UsageError(f"`{name}` fits several trials: {', '.join(found[:5])}{more}")
    raise UsageError(f"there is no trial `{name}` in run {run.info.id}", hint=f"its trials: {', '.join(names[:10])}")


def _short(trial: str) -> str:
    case, _, rest = trial.rpartition("@")
    return f"{case}#{rest.rpartition('#')[2]}"


def list_runs(store: Path) -> Iterator[tuple[RunInfo, RunSummary | None]]:
    """Every run of a store that can be read, oldest first, with what it came to."""
    for name in run_names(store):
        try:
            run = RunStore(store / "runs" / name)
        except StoreError:
            # A run that is being made has no tables yet; its own commands say more about a damaged one.
            continue
        try:
            yield run.info, run.summary
        finally:
            run.close()
