"""The command line. Importing it costs nothing; each command imports what it needs when it is called."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: the arguments; those of the process if not given.
    """
    words = sys.argv[1:] if argv is None else argv
    if words == ["--version"]:
        # Before anything else is imported: this is what editors and scripts ask for all the time.
        from quintain.version import VERSION

        print(f"quintain {VERSION}")
        return 0
    from quintain.cli.main import run

    return run(words)
