"""Does the sandbox work on this machine?"""

from __future__ import annotations

import sys
from pathlib import Path

from quintain.errors import SandboxUnavailable
from quintain.process._command import Command
from quintain.process._run import run
from quintain.process._sandbox import INSTALL, Sandbox, locate_bwrap

PROBE_S = 20.0


async def probe_sandbox() -> str:
    """Try the sandbox with a command that does nothing.

    Returns:
        Name and version of what provides it.

    Raises:
        SandboxUnavailable: there is none, or the system doesn't let it work; says why.
    """
    if sys.platform != "linux":
        raise SandboxUnavailable("the sandbox needs Linux", hint="turn the sandbox off, or run in a Linux container")
    program = locate_bwrap()
    root = Path("/")
    version = await run(Command((program, "--version"), root, {}), timeout_s=PROBE_S)
    nothing = Command(("true",), Path("/usr"), {"PATH": "/usr/bin:/bin"}, sandbox=Sandbox())
    tried = await run(nothing, timeout_s=PROBE_S)
    for done in (version, tried):
        if not done.exit.clean:
            reason = done.stderr.text().strip() or done.exit.describe()
            raise SandboxUnavailable(f"the sandbox does not work here: {reason}", hint=_advice(reason))
    return version.stdout.text().strip()


def _advice(reason: str) -> str:
    if "namespace" in reason or "uid map" in reason or "Operation not permitted" in reason:
        return (
            "this system does not let ordinary users make namespaces (user.max_user_namespaces, "
            "kernel.apparmor_restrict_unprivileged_userns, or a container's profile): allow it, or turn the sandbox off"
        )
    return INSTALL
