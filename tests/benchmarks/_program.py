"""The program that the spawn benchmarks run: it says that it is done and ends."""

from __future__ import annotations

COMMAND = ("/bin/sh", "-c", """printf '{"type":"ready"}\\n{"type":"done","text":"ok"}\\n'""")
