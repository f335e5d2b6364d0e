"""Configuration of plugins that have none."""

from __future__ import annotations

from attrs import frozen


@frozen
class NoConfig:
    """Takes no keys; any key is an error that says so."""
