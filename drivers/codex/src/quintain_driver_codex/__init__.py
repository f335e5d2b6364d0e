"""Run Codex as an agent under Quintain."""

from __future__ import annotations

from quintain import DriverSpec, hookimpl

from quintain_driver_codex._config import CodexConfig
from quintain_driver_codex._driver import codex_driver

__all__ = ["CodexConfig", "codex_driver", "quintain_driver"]


@hookimpl
def quintain_driver() -> DriverSpec[CodexConfig]:
    """Declare the driver `codex`."""
    return codex_driver
