"""Assertions about files."""

from __future__ import annotations

from attrs import field, frozen
from quintain import AssertionSpec, Evidence, Verdict
from quintain.workspace.evidence import matcher

from quintain_assertions._common import a_bound, bounds, names, not_empty, text_of, unread, within
from quintain_assertions._regex import count, is_pattern


@frozen
class Path:
    """`path` in the workspace."""

    path: str = field(validator=not_empty)


@frozen
class PathText:
    """`text` in the file at `path`; `ignore_case` for either case."""

    path: str = field(validator=not_empty)
    text: str = field(validator=not_empty)
    ignore_case: bool = False


@frozen
class PathPattern:
    """`pattern` in the file at `path`, found `min` to `max` times (once or more if neither is given)."""

    path: str = field(validator=not_empty)
    pattern: str = field(validator=is_pattern)
    min: int | None = None
    max: int | None = None
    ignore_case: bool = False

    def __attrs_post_init__(self) -> None:
        if self.min is not None or self.max is not None:
            a_bound(self, "min", "max")


@frozen
class Glob:
    """How many files match `pattern`: `min` to `max`."""

    pattern: str = field(validator=not_empty)
    min: int | None = None
    max: int | None = None

    def __attrs_post_init__(self) -> None:
        a_bound(self, "min", "max")


@frozen
class Only:
    """Patterns of the `paths` that may change; `allow_none` if nothing need change."""

    paths: tuple[str, ...] = field(validator=not_empty)
    allow_none: bool = False


@frozen
class Bytes:
    """At most `max` bytes."""

    max: int

    def __attrs_post_init__(self) -> None:
        if self.max < 0:
            raise ValueError(f"`max` is {self.max}; it can't be negative")


def _exists(config: Path, evidence: Evidence) -> Verdict:
    entry = evidence.files.entry(config.path)
    if entry is None:
        return Verdict.failed(f"there is no {config.path}")
    return Verdict.of(entry.kind == "file", f"{config.path} is a {entry.kind}")


def _absent(config: Path, evidence: Evidence) -> Verdict:
    entry = evidence.files.entry(config.path)
    return Verdict.of(entry is None, f"there is {'no' if entry is None else 'a'} {config.path}")


def _contains(config: PathText, evidence: Evidence) -> Verdict:
    text = text_of(evidence.files, config.path)
    if isinstance(text, Verdict):
        return text
    wanted = config.text.casefold() if config.ignore_case else config.text
    found = wanted in (text.casefold() if config.ignore_case else text)
    return Verdict.of(found, f"{config.path} {'contains' if found else 'does not contain'} {config.text!r}")


def _lacks(config: PathText, evidence: Evidence) -> Verdict:
    verdict = _contains(config, evidence)
    text = text_of(evidence.files, config.path)
    return verdict if isinstance(text, Verdict) else Verdict.of(verdict.status == "fail", verdict.reason)


def _matches(config: PathPattern, evidence: Evidence) -> Verdict:
    text = text_of(evidence.files, config.path)
    if isinstance(text, Verdict):
        return text
    low, high = (1, None) if config.min is None and config.max is None else (config.min, config.max)
    most = (high if high is not None else low or 0) + 1
    found = count(config.pattern, text, ignore_case=config.ignore_case, most=most)
    reason = f"{config.pattern!r} is found {found} times in {config.path} (wanted: {bounds(low, high)})"
    return Verdict.of(within(found, low, high), reason)


def _glob(config: Glob, evidence: Evidence) -> Verdict:
    found = evidence.files.glob(config.pattern)
    reason = f"{len(found)} files match {config.pattern} (wanted: {bounds(config.min, config.max)}): {names(found)}"
    return Verdict.of(within(len(found), config.min, config.max), reason)


def _changed(config: Path, evidence: Evidence) -> Verdict:
    change = next((one for one in evidence.changes.changes if one.path == config.path), None)
    return Verdict.of(change is not None, f"{config.path} was {change.kind if change else 'not changed'}")


def _unchanged(config: Path, evidence: Evidence) -> Verdict:
    if evidence.baseline.entry(config.path) is None:
        return Verdict.failed(f"nothing to check: there was no {config.path} to begin with")
    change = next((one for one in evidence.changes.changes if one.path == config.path), None)
    return Verdict.of(change is None, f"{config.path} was {change.kind if change else 'not changed'}")


def _changed_only(config: Only, evidence: Evidence) -> Verdict:
    patterns = [matcher(pattern) for pattern in config.paths]
    changed = [
        change.path
        for change in evidence.changes.changes
        for entry in (change.after or change.before,)
        if entry is not None and entry.kind != "directory"
    ]
    if not changed and not config.allow_none:
        return Verdict.failed("nothing to check: nothing was changed")
    others = [path for path in changed if not any(pattern.fullmatch(path) for pattern in patterns)]
    if others:
        return Verdict.failed(f"it also changed {names(others)}", detail=others)
    return Verdict.passed(f"it changed {names(changed) or 'nothing'}")


def _changed_bytes(config: Bytes, evidence: Evidence) -> Verdict:
    total = sum(change.after.size for change in evidence.changes.changes if change.after is not None)
    return Verdict.of(total <= config.max, f"the changed files have {total} bytes (at most {config.max})")


def _same_as_before(config: Path, evidence: Evidence) -> Verdict:
    before, after = evidence.baseline.read(config.path), evidence.files.read(config.path)
    if before.data is None:
        return unread(before)
    if after.data is None:
        return unread(after)
    return Verdict.of(
        before.data == after.data, f"{config.path} {'has' if before.data == after.data else 'lost'} its content"
    )


SPECS = (
    AssertionSpec("file_exists", _exists, Path, quick=True, summary="A regular file is there."),
    AssertionSpec("file_absent", _absent, Path, quick=True, summary="Nothing is there."),
    AssertionSpec("file_contains", _contains, PathText, summary="A file contains a text."),
    AssertionSpec("file_lacks", _lacks, PathText, summary="A file that is there does not contain a text."),
    AssertionSpec("file_matches", _matches, PathPattern, summary="A pattern is found in a file, so many times."),
    AssertionSpec("file_changed", _changed, Path, quick=True, summary="The agent added, modified or deleted a path."),
    AssertionSpec("file_unchanged", _unchanged, Path, quick=True, summary="A path that was there is as it was."),
    AssertionSpec("file_content_kept", _same_as_before, Path, summary="A file has the bytes that it had."),
    AssertionSpec("changed_only", _changed_only, Only, quick=True, summary="Only paths that may change were changed."),
    AssertionSpec("changed_bytes", _changed_bytes, Bytes, quick=True, summary="The changed files are not too large."),
    AssertionSpec("glob_count", _glob, Glob, quick=True, summary="So many files match a pattern."),
)
