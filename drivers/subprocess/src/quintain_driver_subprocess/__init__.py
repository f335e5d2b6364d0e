"""Run any program as an agent: one that speaks JSON lines, or one that reads a prompt and prints text.

The protocol is described in `docs/reference/subprocess-protocol.md`.
"""

from __future__ import annotations

from quintain import DriverSpec, hookimpl

from quintain_driver_subprocess._config import SubprocessConfig
from quintain_driver_subprocess._driver import subprocess_driver

__all__ = ["SubprocessConfig", "quintain_driver", "subprocess_driver"]


@hookimpl
def quintain_driver() -> DriverSpec[SubprocessConfig]:
    """Declare the driver `subprocess`."""
    return subprocess_driver
