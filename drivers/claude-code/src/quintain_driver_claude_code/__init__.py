"""Run Claude Code as an agent: questions and requests for permission arrive while it works.

Its configuration is described in `docs/reference/driver-claude-code.md`.
"""

from __future__ import annotations

from quintain import DriverSpec, hookimpl

from quintain_driver_claude_code._config import ClaudeCodeConfig
from quintain_driver_claude_code._driver import claude_code_driver

__all__ = ["ClaudeCodeConfig", "claude_code_driver", "quintain_driver"]


@hookimpl
def quintain_driver() -> DriverSpec[ClaudeCodeConfig]:
    """Declare the driver `claude-code`."""
    return claude_code_driver
