"""Which paths belong to a subject, and which of them a candidate may change."""

from __future__ import annotations

import re

from attrs import frozen

from quintain.errors import AuthoringError, WorkspaceError
from quintain.model.campaign import EXCLUDED, Subject
from quintain.workspace.paths import clean, matcher, parents, shown

LARGEST_COMPONENT = 16 * 1024 * 1024
"""Bytes; a component is a text that people and models read."""


@frozen
class Scope:
    """The patterns of a subject, ready to be asked."""

    _mutable: tuple[re.Pattern[str], ...]
    _exclude: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, subject: Subject) -> Scope:
        """The scope of a subject. Raises WorkspaceError for a pattern that can't be used."""
        exclude: list[re.Pattern[str]] = []
        for pattern in (*EXCLUDED, *subject.exclude):
            exclude.append(matcher(pattern, dots=True))
            if pattern.endswith("/**"):
                # The directory goes with what is in it: an empty one would be a trace of what installers make.
                exclude.append(matcher(pattern.removesuffix("/**"), dots=True))
        return cls(tuple(matcher(pattern, dots=True) for pattern in subject.mutable), tuple(exclude))

    def ignores(self, path: str) -> bool:
        """Whether the path itself is excluded; for walks that enter no excluded directory."""
        return any(pattern.fullmatch(path) for pattern in self._exclude)

    def excludes(self, path: str) -> bool:
        """Whether the path, or a directory that it lies in, is excluded."""
        return any(self.ignores(one) for one in (path, *parents(path)))

    def may_change(self, path: str) -> bool:
        """Whether the path fits `mutable` and is part of the subject."""
        return any(pattern.fullmatch(path) for pattern in self._mutable) and not self.excludes(path)


def component_path(path: str) -> str:
    """The one spelling of a path that a variant names. Raises AuthoringError."""
    try:
        cleaned = clean(path)
    except WorkspaceError as error:
        raise AuthoringError(error.message, hint="paths of components are relative to the subject's root") from error
    if not cleaned:
        raise AuthoringError(f"{shown(path) or 'an empty text'} names no file")
    return cleaned


def text_problem(data: bytes) -> str | None:
    """Why a content can't be that of a component, or None."""
    if len(data) > LARGEST_COMPONENT:
        return f"has {len(data)} bytes; a component has at most {LARGEST_COMPONENT}"
    if b"\0" in data:
        return f"holds a NUL at byte {data.index(0)}, so it is no text"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"is no UTF-8 text: the byte 0x{data[error.start]:02x} stands at {error.start}"
    return None
