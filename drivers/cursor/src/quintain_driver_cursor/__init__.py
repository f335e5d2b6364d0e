"""Run Cursor as an agent under Quintain."""

from __future__ import annotations

from quintain import DriverSpec, hookimpl

from quintain_driver_cursor._config import CursorConfig
from quintain_driver_cursor._driver import cursor_driver

__all__ = ["CursorConfig", "cursor_driver", "quintain_driver"]


@hookimpl
def quintain_driver() -> DriverSpec[CursorConfig]:
    """Declare the driver `cursor`."""
    return cursor_driver
