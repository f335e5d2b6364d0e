"""What all suites share: every test runs on both event loops."""

from __future__ import annotations

import pytest


class OnBothLoops:
    """Runs the tests of a class on asyncio and on trio."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request: pytest.FixtureRequest) -> str:
        """Name of the event loop."""
        name: str = request.param
        return name
