"""The usual assertions, each a deterministic check of a trial's evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quintain import AssertionSpec, hookimpl

from quintain_assertions import _command, _compose, _data, _files, _limits, _mcp, _talk

SPECS: tuple[AssertionSpec[Any], ...] = (
    *_files.SPECS,
    *_data.SPECS,
    *_talk.SPECS,
    *_limits.SPECS,
    *_mcp.SPECS,
    *_command.SPECS,
    *_compose.SPECS,
)


@hookimpl
def quintain_assertion() -> Iterable[AssertionSpec[Any]]:
    """Declare all of them."""
    return SPECS
