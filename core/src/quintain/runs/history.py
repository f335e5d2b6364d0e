"""Finding runs and trials again by the names that people type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quintain.errors import StoreError, UsageError
from quintain.model.run import RunInfo, RunSummary
from quintain.runs.store import RunStore


def run_names(store: Path) -> list[str]:
    """Names of all runs of a store, oldest first."""
    runs = store / "runs"
    return sorted(path.name for path in runs.iterdir() if (path / "run.db").is_file()) if runs.is_dir() else []


def find_run(store: Path, name: str) -> Path:
    """Directory of a run.

    Args:
        store: directory that holds the runs.
        name: "last", a whole name, or the beginning or end of one that fits no other; or a directory.

    Raises:
        UsageError: no run or several fit.
    """
    names = run_names(store)
    if name == "last" and names:
        return store / "runs" / names[-1]
    found = [name] if name in names else [one for one in names if one.startswith(name) or one.endswith(name)]
    if len(found) == 1:
        return store / "runs" / found[0]
    if not found and (Path(name) / "run.db").is_file():
        return Path(name)
    if found:
        raise UsageError(f"`{name}` fits several runs: {', '.join(found)}")
    known = f"the last runs are {', '.join(names[-5:])}" if names else f"there is no run in {store} yet"
    raise UsageError(f"there is no run `{name}`", hint=known)


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
