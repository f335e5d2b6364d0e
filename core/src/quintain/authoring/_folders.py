"""The folders that a case names: they must be there, and must not show the agent what it may not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from quintain.authoring._document import is_file, is_folder, shown
from quintain.authoring._lines import Key
from quintain.errors import AuthoringError


def case_folders(
    file: Path, fixtures: str | Path | None, hidden: str | Path | None, where: Callable[[Key], str]
) -> tuple[dict[str, Path], list[AuthoringError]]:
    """The folders `fixtures` and `hidden` of a case.

    Args:
        file: the case file; what is relative starts beside it.
        fixtures: as stated.
        hidden: as stated.
        where: the place of a key.

    Returns:
        Absolute paths by key, and what is wrong with them.
    """
    found: dict[str, Path] = {}
    errors: list[AuthoringError] = []
    for key, stated in (("fixtures", fixtures), ("hidden", hidden)):
        if stated is None:
            continue
        folder = file.parent / stated
        if is_folder(folder):
            found[key] = folder.resolve()
        else:
            what = "is no folder" if is_file(folder) else "doesn't exist"
            errors.append(
                AuthoringError(
                    f"`{stated}` {what}",
                    where=where((key,)),
                    hint=f"it starts beside the case file, in {shown(file.parent)}",
                )
            )
    laid_out = found.get("fixtures")
    if laid_out is not None:
        if file.resolve().is_relative_to(laid_out):
            errors.append(_shown_to_agent("this case file with its assertions", where(("fixtures",))))
        elif "hidden" in found and found["hidden"].is_relative_to(laid_out):
            errors.append(_shown_to_agent("the hidden files", where(("hidden",))))
    return found, errors


def _shown_to_agent(what: str, where: str) -> AuthoringError:
    return AuthoringError(
        f"the fixtures contain {what}: the agent would see them",
        where=where,
        hint="keep the fixtures in a folder apart",
    )
