"""The driver passes the suite that every driver passes, with a program that stands in for Cursor's."""

from __future__ import annotations

from typing import Any

import pytest
from quintain import Bound
from quintain.testing import DriverConformance
from quintain_driver_cursor import cursor_driver


class TestCursor(DriverConformance):
    @pytest.fixture(autouse=True)
    def _ready(self, cursor: str) -> None:
        self.cursor = cursor

    def _bound(self, situation: str) -> Bound[Any]:
        return cursor_driver(executable=self.cursor, model=situation)

    def completing(self) -> Bound[Any]:
        return self._bound("works")

    def echoing(self) -> Bound[Any] | None:
        return self._bound("echoes")

    def hanging(self) -> Bound[Any]:
        return self._bound("hangs")

    def failing(self) -> Bound[Any]:
        return self._bound("fails")

    def using_tools(self) -> Bound[Any]:
        return self._bound("works")

    def printing(self, variable: str) -> Bound[Any]:
        return self._bound(f"prints:{variable}")
