"""Real agents from npm, each in a pinned version, in a folder of the project that git ignores."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / ".tools" / "npm"
"""Where they are installed; remove it and they are installed again."""


def installed(package: str, version: str) -> Path:
    """The `node_modules` that has this version of a package in it, installed first if it isn't there.

    Args:
        package: name of the package, scope and all.
        version: the exact version.
    """
    TOOLS.mkdir(parents=True, exist_ok=True)
    target = TOOLS / f"{package.strip('@').replace('/', '+')}@{version}"
    with (TOOLS / "lock").open("w") as lock:
        # Several test sessions may want the same at once; whoever waits finds it done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            fresh = Path(tempfile.mkdtemp(dir=TOOLS, prefix="installing-"))
            try:
                _install(f"{package}@{version}", fresh)
                fresh.rename(target)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    return target / "node_modules"


def _install(what: str, folder: Path) -> None:
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--save-exact", what]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, f"npm could not install {what}:\n{done.stdout}\n{done.stderr}"
