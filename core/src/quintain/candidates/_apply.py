"""Writing a candidate back into the source: all of it or nothing, and only into what was tested."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from quintain.candidates._capture import Captured, subject_unchanged
from quintain.candidates._paths import component_path
from quintain.candidates._stage import (
    PLACE,
    STORE,
    Journal,
    Step,
    Write,
    clear_place,
    content_at,
    end_journal,
    entered,
    keep_old,
    locked,
    make_place,
    pending,
    put_new,
    read_journal,
    split,
    write_journal,
)
from quintain.errors import UsageError, WorkspaceError
from quintain.identity.cache import DigestCache
from quintain.identity.flags import DIRECTORY
from quintain.model.campaign import Candidate, Subject
from quintain.workspace.blobs import BlobStore
from quintain.workspace.paths import parents, shown
from quintain.workspace.staging import FILE_MODE, FOLDER_MODE

_NAMED = 10


@frozen
class AppliedChange:
    """What an apply changed, or would change.

    Attributes:
        paths: components, in order; none if the source already is this candidate.
        diffs: a unified diff of each, as `git apply` takes it.
        written: whether something was written.
        recovered: an earlier apply had been cut off, and what it had done was undone first.
    """

    paths: tuple[str, ...]
    diffs: tuple[str, ...]
    written: bool = False
    recovered: bool = False


def apply_candidate(
    candidate: Candidate,
    captured: Captured,
    subject: Subject,
    blobs: BlobStore,
    *,
    dry_run: bool = False,
    step: Step = lambda name: None,
) -> AppliedChange:
    """Write the components of a candidate into the source. After any failure, and after the next apply if this process
    is killed, every file is as it was before.

    Args:
        candidate: what to write.
        captured: what was tested; the source must still be that.
        subject: where the source is.
        blobs: where contents are.
        dry_run: only tell the differences.
        step: told before each step; for tests.

    Raises:
        UsageError: the source is not what was tested, or another process applies something here.
        WorkspaceError: the source can't be read or written; nothing is changed.
        StoreError: a content isn't in the store.
    """
    root = subject.root.resolve()
    if dry_run:
        writes = _wanted(candidate, captured, subject, root)
        return AppliedChange(tuple(one.path for one in writes), _diffs(writes, blobs))
    with locked(root) as top:
        recovered = _recover(top, root, step)
        writes = _wanted(candidate, captured, subject, root)
        change = AppliedChange(tuple(one.path for one in writes), _diffs(writes, blobs), bool(writes), recovered)
        if writes:
            try:
                _write(top, root, candidate, writes, blobs, step)
            except OSError as error:
                raise WorkspaceError(
                    f"the candidate can't be written: {error.strerror or error}; nothing is changed", where=str(root)
                ) from error
    return change


def recover_apply(subject: Subject) -> bool:
    """Undo what an apply did that was cut off; returns whether there was such a one.

    Raises:
        UsageError: another process applies something here.
        WorkspaceError: a file was edited since, and is left as it is; all others are put back.
    """
    root = subject.root.resolve()
    with locked(root) as top:
        return _recover(top, root, lambda name: None)


def _wanted(candidate: Candidate, captured: Captured, subject: Subject, root: Path) -> list[Write]:
    if pending(root):
        raise WorkspaceError(
            "an apply was interrupted here", where=str(root), hint="apply without --dry-run undoes it first"
        )
    writes = []
    for path in sorted(captured.components.keys() | candidate.components.keys()):
        old, new = captured.components.get(path), candidate.components.get(path)
        if old != new:
            known = captured.tree.entries.get(path)
            writes.append(Write(component_path(path), old, new, known.mode if known is not None else FILE_MODE))
    changed = subject_unchanged(captured, subject, DigestCache())
    if changed and _is_applied(root, changed, writes):
        return []
    if changed:
        named = "".join(f"\n  {shown(path)}" for path in changed[:_NAMED])
        more = f"\n  and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        raise UsageError(
            f"the source is not what was tested; there differs:{named}{more}",
            where=str(root),
            hint="undo these changes, or test again",
        )
    return writes


def _is_applied(root: Path, changed: Sequence[str], writes: Sequence[Write]) -> bool:
    """The source differs from what was tested by nothing but this candidate."""
    wanted = {one.path: one.new for one in writes}
    above = {folder for path in wanted for folder in parents(path)}
    if not set(wanted) <= set(changed) <= set(wanted) | above:
        return False
    top = os.open(root, DIRECTORY)
    try:
        return all(content_at(top, path) == new for path, new in wanted.items())
    finally:
        os.close(top)


def _write(top: int, root: Path, candidate: Candidate, writes: Sequence[Write], blobs: BlobStore, step: Step) -> None:
    folders = tuple(_missing_folders(root, writes))
    try:
        step("place")
        make_place(top)
        for number, write in enumerate(writes):
            if write.new is not None:
                step(f"new {number}")
                put_new(top, number, blobs.read(write.new), write.mode)
            if write.old is not None:
                step(f"old {number}")
                keep_old(top, number, write.path)
        step("journal")
        write_journal(top, Journal(candidate.id, tuple(writes), folders))
        _do(top, writes, folders, step)
    except BaseException:
        # If undoing fails too, the journal stays, and the next apply tries again.
        _recover(top, root, step)
        raise
    step("clear")
    # The candidate is in place; what can't be removed now is removed by the next apply.
    with suppress(OSError):
        clear_place(top)


def _do(top: int, writes: Sequence[Write], folders: Sequence[str], step: Step) -> None:
    for folder in folders:
        step(f"folder {folder}")
        above, name = split(folder)
        with entered(top, above) as fd:
            os.mkdir(name, FOLDER_MODE, dir_fd=fd)
            os.fsync(fd)
    for number, write in enumerate(writes):
        step(f"write {number}")
        _swap(top, number, write)
    step("end")
    end_journal(top)


def _missing_folders(root: Path, writes: Sequence[Write]) -> Iterator[str]:
    wanted = {folder for write in writes if write.new is not None for folder in parents(write.path)}
    return (folder for folder in sorted(wanted) if not os.path.lexists(root / folder))


def _swap(top: int, number: int, write: Write) -> None:
    if content_at(top, write.path) != write.old:
        raise WorkspaceError(f"{shown(write.path)} was changed while the candidate was written; nothing is changed")
    above, name = split(write.path)
    with entered(top, above) as folder, entered(top, f"{STORE}/{PLACE}/new") as new:
        if write.new is None:
            os.unlink(name, dir_fd=folder)
        elif write.old is None:
            # A link fails if somebody has made such a file meanwhile; a rename would replace it.
            os.link(str(number), name, src_dir_fd=new, dst_dir_fd=folder)
        else:
            os.rename(str(number), name, src_dir_fd=new, dst_dir_fd=folder)
        os.fsync(folder)


def _recover(top: int, root: Path, step: Step) -> bool:
    try:
        journal = read_journal(top, root)
        edited = [] if journal is None else list(_undo(top, journal, step))
        if journal is not None:
            step("undone")
            end_journal(top)
        clear_place(top)
    except OSError as error:
        raise WorkspaceError(
            f"what an apply had done can't be undone: {error.strerror or error}", where=str(root)
        ) from error
    if edited:
        raise WorkspaceError(
            f"an apply was interrupted, and since then somebody else has changed {', '.join(map(shown, edited))}: "
            "that is left as it is, and all else is as it was before",
            where=str(root),
        )
    return journal is not None


def _undo(top: int, journal: Journal, step: Step) -> Iterator[str]:
    """Put back what was there; yields what somebody else has changed meanwhile."""
    for number, write in reversed(tuple(enumerate(journal.writes))):
        now = content_at(top, write.path)
        if now == write.old:
            continue
        if now != write.new:
            yield write.path
            continue
        step(f"undo {number}")
        above, name = split(write.path)
        with entered(top, above) as folder, entered(top, f"{STORE}/{PLACE}/old") as old:
            if write.old is None:
                os.unlink(name, dir_fd=folder)
            else:
                os.rename(str(number), name, src_dir_fd=old, dst_dir_fd=folder)
            os.fsync(folder)
    for path in reversed(journal.folders):
        above, name = split(path)
        # One that isn't empty holds what somebody else put there.
        with suppress(OSError), entered(top, above) as folder:
            os.rmdir(name, dir_fd=folder)


def _diffs(writes: Sequence[Write], blobs: BlobStore) -> tuple[str, ...]:
    return tuple(unified(write.path, _text(write.old, blobs), _text(write.new, blobs), write.mode) for write in writes)


def _text(digest: str | None, blobs: BlobStore) -> str | None:
    return None if digest is None else blobs.read(digest).decode()


def unified(path: str, old: str | None, new: str | None, mode: int = FILE_MODE) -> str:
    """A unified diff of one text; None stands for no file."""
    kind = f"{'100755' if mode & 0o100 else '100644'}"
    lines = [f"diff --git a/{path} b/{path}\n"]
    if old is None:
        lines.append(f"new file mode {kind}\n")
    elif new is None:
        lines.append(f"deleted file mode {kind}\n")
    before = "/dev/null" if old is None else f"a/{path}"
    after = "/dev/null" if new is None else f"b/{path}"
    for line in difflib.unified_diff(_lines(old), _lines(new), before, after):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str | None) -> list[str]:
    """Only `\\n` ends a line, as in every program that reads diffs."""
    *whole, rest = (text or "").split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]
