"""What an agent sees of the host's environment: a few variables that every program needs, and what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from quintain.errors import UsageError
from quintain.model.trial import Isolation

EVERYONE = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "SHELL", "USER", "LOGNAME", "SYSTEMROOT", "PATHEXT")
"""Host variables without which ordinary programs don't work."""

MARKER = "QUINTAIN_TRIAL"
"""Recognises the processes of a trial; its value is `<pid of the harness>.<a random word>`."""

QUIET = {"NO_COLOR": "1", "TERM": "dumb", "CI": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""Tells programs that nobody looks at a terminal."""


def secrets_of(isolation: Isolation, credentials: Sequence[str], host: Mapping[str, str]) -> dict[str, str]:
    """Values that must never be stored, by the names of their variables."""
    return {name: host[name] for name in (*isolation.secrets, *credentials) if host.get(name)}


def agent_environment(
    isolation: Isolation,
    credentials: Sequence[str],
    host: Mapping[str, str],
    *,
    home: Path,
    temp: Path,
) -> dict[str, str]:
    """The whole environment of an agent.

    Args:
        isolation: what was asked for.
        credentials: host variables that the driver needs.
        host: the host's variables.
        home: the trial's private home directory.
        temp: its private directory for temporary files.

    Raises:
        UsageError: a variable was asked for that the host doesn't have.
    """
    missing = [name for name in (*isolation.pass_env, *isolation.secrets) if name not in host]
    if missing:
        raise UsageError(
            f"the host has no variable {', '.join(missing)}, which the profile passes to its agent",
            hint="set it, or take it out of pass_env or secrets",
        )
    wanted = (*EVERYONE, *isolation.pass_env, *isolation.secrets, *credentials)
    env = {name: host[name] for name in wanted if name in host}
    env |= QUIET
    env |= {
        "HOME": str(home),
        "TMPDIR": str(temp),
        "TMP": str(temp),
        "TEMP": str(temp),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }
    return env | dict(isolation.env)
