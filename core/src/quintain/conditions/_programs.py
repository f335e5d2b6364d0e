"""Programs: found as an agent would find them, by the digest of their bytes and by what they say of their version."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from quintain import process
from quintain.contracts.driver import Executable
from quintain.errors import LaunchError, QuintainError
from quintain.identity.cache import DigestCache

PROBE_S = 10.0
"""Enough for a program that starts on a busy machine; one that takes longer is not known."""
PROBE_BYTES = 64 * 1024
_LONGEST = 200
_PATH = re.compile(r"(?<!\S)/\S+")


@frozen
class Program:
    """An executable that was looked at.

    Attributes:
        asked: as the driver named it.
        path: where it was found, None if it wasn't.
        digest: of its bytes.
        version: the first line of what it says of itself; None if it isn't asked or says nothing.
        problem: why it isn't known.
    """

    asked: Executable
    path: Path | None
    digest: str | None = None
    version: str | None = None
    problem: str | None = None


def find_program(name: str, host: Mapping[str, str]) -> Path:
    """Where a program lies that a driver named. Raises LaunchError."""
    if "/" in name and not name.startswith("/"):
        raise LaunchError(f"`{name}` is a path that starts where the agent runs, so nobody knows yet what it is")
    return process.find_executable(name, path=host.get("PATH"), cwd=Path("/"))


class Programs:
    """Looks at each program once.

    Args:
        host: variables of the host; only PATH is given to a program that is asked for its version.
        cache: digests that are known already.
    """

    def __init__(self, host: Mapping[str, str], cache: DigestCache) -> None:
        self._host = host
        self._cache = cache
        self._seen: dict[tuple[str, tuple[str, ...] | None], Program] = {}

    async def look(self, asked: Executable) -> Program:
        """A program that a driver will run; what can't be known of it is told as its problem."""
        key = asked.name, asked.version_args
        if key not in self._seen:
            self._seen[key] = await self._look(asked)
        return self._seen[key]

    async def _look(self, asked: Executable) -> Program:
        try:
            path = find_program(asked.name, self._host)
        except LaunchError as error:
            return Program(asked, None, problem=error.message)
        try:
            digest = self._cache.digest_file(path)
            version = await self._version(path, asked.version_args) if asked.version_args is not None else None
        except OSError as error:
            return Program(asked, path, problem=f"{path} can't be read: {error.strerror}")
        except QuintainError as error:
            return Program(asked, path, problem=str(error))
        return Program(asked, path, digest, version)

    async def _version(self, path: Path, args: tuple[str, ...]) -> str | None:
        with tempfile.TemporaryDirectory(prefix="quintain-probe-") as home:
            env = {"PATH": self._host.get("PATH", ""), "HOME": home, "TMPDIR": home, "NO_COLOR": "1", "TERM": "dumb"}
            command = process.Command((str(path), *args), Path(home), env)
            done = await process.run(command, timeout_s=PROBE_S, output_bytes=PROBE_BYTES)
        if done.timed_out:
            raise QuintainError(f"{path} did not say its version within {PROBE_S:g} s")
        lines = (done.stdout.text().strip() or done.stderr.text().strip()).splitlines()
        if done.exit.code != 0 or not lines:
            return None
        return _PATH.sub("{path}", lines[0].replace(home, "{home}"))[:_LONGEST].strip()
