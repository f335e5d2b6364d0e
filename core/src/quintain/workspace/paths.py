"""Paths inside a tree: their one spelling, patterns of them, and where links lead. Nothing here touches a disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from quintain.errors import WorkspaceError
from quintain.model.tree import Entry

LINKS = 40
"""So many links in a row are followed, as systems do."""


class LinkError(WorkspaceError):
    """A path leads through links to no place inside the tree; `outside` tells whether that is because it leaves it."""

    def __init__(self, path: str, why: str, *, outside: bool) -> None:
        super().__init__(f"{shown(path)} {why}")
        self.outside = outside


def shown(path: str) -> str:
    """A path as it can be printed anywhere; escaped and in quotes if it holds what can't."""
    return path if path.isprintable() else ascii(path)


def clean(path: str) -> str:
    """A path in its one spelling; empty for the root itself.

    Raises:
        WorkspaceError: it is absolute, goes up, or holds a NUL.
    """
    if path.startswith("/"):
        problem = "is absolute"
    elif "\0" in path:
        problem = "holds a NUL"
    else:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." not in parts:
            return "/".join(parts)
        problem = "goes up with `..`"
    raise WorkspaceError(
        f"the path {shown(path)} {problem}", hint="paths are relative to the workspace and stay inside it"
    )


def parents(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def follow(entries: Mapping[str, Entry], path: str, *, last: bool = True) -> str:
    """Where a path leads when the links in it are followed, part by part, as a system would.

    Args:
        entries: the tree.
        path: in its one spelling.
        last: whether a link in the last place is followed too.

    Raises:
        LinkError: it leads out of the tree, or in circles.
    """
    done: list[str] = []
    ahead = path.split("/")[::-1]
    links = 0
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not done:
                raise LinkError(path, "leads out of the workspace", outside=True)
            done.pop()
            continue
        done.append(part)
        entry = entries.get("/".join(done))
        if entry is None or entry.kind != "link" or not (ahead or last):
            continue
        links += 1
        target = entry.target or ""
        if links > LINKS:
            raise LinkError(path, "leads in circles", outside=False)
        if target.startswith("/"):
            raise LinkError(path, "leads out of the workspace", outside=True)
        done.pop()
        ahead += target.split("/")[::-1]
    return "/".join(done)


@lru_cache(maxsize=256)
def matcher(pattern: str, *, dots: bool = False) -> re.Pattern[str]:
    """A regular expression whose `fullmatch` tells whether a path fits a glob pattern.

    `*` and `?` don't span directories; `**` as a part of its own stands for any number of directories, none included,
    and at the end for everything below; `[ab]`, `[a-z]`, `[!a]` is one character out of several; there is no escape but
    `[*]`. As in a shell, a part that begins with a dot is matched only by one that is written with it.

    Args:
        pattern: relative, with `/`.
        dots: let wildcards match a leading dot too.

    Raises:
        WorkspaceError: the pattern is no relative path, or has a range that runs backwards.
    """
    no_dot = "" if dots else r"(?!\.)"
    folder = f"{no_dot}[^/]+"
    groups: list[list[str]] = [[]]
    for part in clean(pattern).split("/"):
        if part != "**":
            groups[-1].append(("" if part.startswith(".") else no_dot) + _part(part))
        elif len(groups) == 1 or groups[-1]:
            groups.append([])
    first, *others = groups
    out = ["/".join(first) + ("/" if first and others else "")]
    for group in others[:-1]:
        # The first place that fits is as good as any later one, so none other is tried: no pattern takes long.
        out.append(f"(?>(?:{folder}/)*?{'/'.join(group)}/)")
    if others:
        out.append(f"(?:{folder}/)*{'/'.join(others[-1]) or folder}")
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error as error:
        raise WorkspaceError(f"the pattern {shown(pattern)} can't be used: {error.msg}") from error


def _part(part: str) -> str:
    """A regular expression for what stands between two slashes."""
    pieces = [""]
    at = 0
    while at < len(part):
        char = part[at]
        negated = part[at + 1 : at + 2] == "!"
        # As in a shell, a `]` in the first place stands for itself.
        end = part.find("]", at + 2 + negated) if char == "[" else -1
        if end != -1:
            inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", part[at + 1 + negated : end])
            pieces[-1] += f"(?!/)[{'^' if negated else ''}{inside}]"
            at = end
        elif char != "*":
            pieces[-1] += "[^/]" if char == "?" else re.escape(char)
        elif pieces[-1] or len(pieces) == 1:
            pieces.append("")
        at += 1
    first, *others = pieces
    return (
        first + "".join(f"(?>[^/]*?{piece})" for piece in others[:-1]) + "".join(f"[^/]*{last}" for last in others[-1:])
    )
