"""What all tests share: every async test runs on both event loops; the sandbox program is there."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# No test is about wall-clock time: a slow machine must not fail a property. In CI hypothesis also repeats itself exactly.
settings.register_profile("house", settings(), deadline=None)
settings.load_profile("house")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def bubblewrap() -> str:
    """The sandbox program, installed if this machine can do that by itself."""
    installer = Path(__file__).with_name("install-bubblewrap.sh")
    with installer.open() as lock:
        # Several workers may want it at once; whoever waits finds it done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which("bwrap") is None:
            subprocess.run(["/bin/sh", str(installer)], check=True, stdout=subprocess.DEVNULL)
    found = shutil.which("bwrap")
    assert found is not None
    return found
