"""The programs that the spawn benchmarks run: each says that it is done and ends."""

from __future__ import annotations

import sys

LINES = '{"type":"ready"}\\n{"type":"done","text":"ok"}\\n'
COMMANDS = {
    "sh": ("/bin/sh", "-c", f"printf '{LINES}'"),
    "python": (sys.executable, "-I", "-S", "-c", f"print('{LINES}', end='')"),
}
