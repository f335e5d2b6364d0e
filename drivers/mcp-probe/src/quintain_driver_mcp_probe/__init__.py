"""Drive an MCP server by scripted steps, without a model.

What can be asked of one is described in `docs/reference/driver-mcp-probe.md`.
"""

from __future__ import annotations

from quintain import DriverSpec, hookimpl

from quintain_driver_mcp_probe._config import ProbeConfig, Step
from quintain_driver_mcp_probe._driver import mcp_probe

__all__ = ["ProbeConfig", "Step", "mcp_probe", "quintain_driver"]


@hookimpl
def quintain_driver() -> DriverSpec[ProbeConfig]:
    """Declare the driver `mcp-probe`."""
    return mcp_probe
