"""A program around the real one that does what the real one does now and then: it dies, lingers, falls silent."""

from __future__ import annotations

import sys
from pathlib import Path

HEAD = """#!{python}
import os, signal, subprocess, sys, threading, time
os.environ.pop("PYTHONPATH", None)
agent = subprocess.Popen([{claude!r}, *sys.argv[1:]], stdout=subprocess.PIPE)

def put(data):
    os.write(1, data)

def die(status=1):
    agent.kill()
    agent.wait()
    os._exit(status)

def relay(until=None):
    "Pass lines on to the end, or to the one that has something in it: that one is returned and not passed on."
    for line in agent.stdout:
        if until is not None and until in line:
            return line
        put(line)
    return b""
"""


def write(folder: Path, claude: Path, code: str) -> Path:
    """The path of a new program.

    Args:
        folder: where to put it.
        claude: the real one.
        code: what happens; `relay`, `put`, `die` and `agent` are there.
    """
    path = folder / "wrapped-claude"
    path.write_text(HEAD.format(python=sys.executable, claude=str(claude)) + code)
    path.chmod(0o755)
    return path
