"""Run other programs so that nothing hangs, nothing is lost and nothing survives.

`spawn` for a conversation with an agent or a server, `run` for a command that ends. `Keepers` around many of either
makes them fast. Linux and macOS; on Windows only importing works.
"""

from quintain.process._capture import Captured
from quintain.process._command import ARGUMENT_BYTES, Command, Limits, find_executable
from quintain.process._framing import Line, LineSplitter
from quintain.process._keepers import Keepers
from quintain.process._probe import probe_sandbox
from quintain.process._process import Activity, Process, spawn
from quintain.process._run import Finished, run
from quintain.process._sandbox import Sandbox
from quintain.process._sweep import sweep

__all__ = [
    "ARGUMENT_BYTES",
    "Activity",
    "Captured",
    "Command",
    "Finished",
    "Keepers",
    "Limits",
    "Line",
    "LineSplitter",
    "Process",
    "Sandbox",
    "find_executable",
    "probe_sandbox",
    "run",
    "spawn",
    "sweep",
]
