"""What stands behind the name `claude`: a link, a script that starts the real program, or npm's placeholder for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from quintain.driving import find_program

PACKAGE = "@anthropic-ai"
SCRIPT_BYTES = 64 * 1024
MOST_STEPS = 4

_EXEC = re.compile(r"^\s*exec\s+(?:\"([^\"$]+)\"|'([^'$]+)'|([^\s\"'$]+))", re.MULTILINE)


def chain(program: Path, path: str | None) -> Iterator[Path]:
    """The programs behind a program, nearest first: what its script executes or is executed by, or npm's real one."""
    for _ in range(MOST_STEPS):
        following = _behind(program, path)
        if following is None or following == program:
            return
        program = following
        yield program


def _behind(program: Path, path: str | None) -> Path | None:
    try:
        with program.open("rb") as file:
            head = file.read(SCRIPT_BYTES)
    except OSError:
        return None
    if head.startswith(b"\x7fELF") or head[:4] in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return None
    real = _platform_program(program)
    if real is not None:
        return real
    if not head.startswith(b"#!"):
        return None
    text = head.decode("utf-8", "replace")
    words = text.splitlines()[0][2:].split()
    interpreter = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    if not words[0].endswith("/env"):
        interpreter = words[0]
    if Path(interpreter).name in ("sh", "bash", "dash", "zsh"):
        started = _EXEC.search(text)
        named = next((part for part in started.groups() if part), None) if started is not None else None
        return find_program(named, path) if named is not None else None
    return find_program(interpreter, path)


def _platform_program(program: Path) -> Path | None:
    """The program of this platform, where npm's placeholder was not replaced by it."""
    package = program.parent.parent
    if package.name != "claude-code" or package.parent.name != PACKAGE:
        return None
    found = sorted(package.parent.glob("claude-code-*/claude"))
    found += sorted(package.glob(f"node_modules/{PACKAGE}/claude-code-*/claude"))
    return found[0].resolve() if len(found) == 1 else None
