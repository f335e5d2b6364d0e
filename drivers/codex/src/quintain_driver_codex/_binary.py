"""What stands behind the name `codex`: npm's is a script of a few lines that starts the real program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "@openai/codex"


def behind(program: Path) -> Path:
    """The real program behind npm's script, or the program itself if it is no such script."""
    package = _package_of(program)
    if package is None:
        return program
    found = sorted(binary for vendor in _vendors(package) for binary in vendor.glob("*/bin/codex"))
    # More than one would be a package for several machines; only the script knows which one is right then.
    return found[0] if len(found) == 1 else program


def _package_of(program: Path) -> Path | None:
    if program.suffix != ".js" or program.parent.name != "bin":
        return None
    try:
        about = json.loads((program.parent.parent / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return program.parent.parent if isinstance(about, dict) and about.get("name") == PACKAGE else None


def _vendors(package: Path) -> Iterator[Path]:
    """Where the packages of single platforms are, nearest first, as Node would look for them."""
    for folder in (package, *package.parents):
        scope = folder / "node_modules" / "@openai"
        vendors = sorted(scope.glob("codex-*/vendor"))
        if vendors:
            yield from vendors
            return
    yield package / "vendor"
