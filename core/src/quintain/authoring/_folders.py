"""The folders that a case names: they must be there, and must not show the agent what it may not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from quintain.authoring._document import is_file, is_folder, shown
from quintain.authoring._lines import Key
from quintain.errors import AuthoringError

FOLDERS = ("fixtures", "hidden", "reference")
"""Keys of a case that name folders."""


def case_folders(
    file: Path, stated: Mapping[str, str | Path | None], where: Callable[[Key], str]
) -> tuple[dict[str, Path], list[AuthoringError]]:
    """The folders of a case.

    Args:
        file: the case file; what is relative starts beside it.
        stated: `fixtures`, `hidden` and `reference` as they are written.
        where: the place of a key.

    Returns:
        Absolute paths by key, and what is wrong with them.
    """
    found: dict[str, Path] = {}
    errors: list[AuthoringError] = []
    for key, name in stated.items():
        if name is None:
            continue
        folder = file.parent / name
        if is_folder(folder):
            found[key] = folder.resolve()
        else:
            what = "is no folder" if is_file(folder) else "doesn't exist"
            errors.append(
                AuthoringError(
                    f"`{name}` {what}",
                    where=where((key,)),
                    hint=f"it starts beside the case file, in {shown(file.parent)}",
                )
            )
    laid_out = found.get("fixtures")
    if laid_out is not None:
        if file.resolve().is_relative_to(laid_out):
            errors.append(_shown_to_agent("this case file with its assertions", where(("fixtures",))))
        else:
            for key, what in (("hidden", "the hidden files"), ("reference", "the reference solution")):
                if key in found and found[key].is_relative_to(laid_out):
                    errors.append(_shown_to_agent(what, where((key,))))
    return found, errors


def _shown_to_agent(what: str, where: str) -> AuthoringError:
    return AuthoringError(
        f"the fixtures contain {what}: the agent would see them",
        where=where,
        hint="keep the fixtures in a folder apart",
    )
