"""An assertion that runs a command on a copy of the workspace."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from quintain import AssertionSpec, Evidence, Verdict

from quintain_assertions._common import excerpt, not_empty
from quintain_assertions._regex import count, is_pattern


@frozen
class Command:
    """`argv` (or `shell`, a line for /bin/sh) ends with one of `exit_codes` within `timeout_s`, and its output is as
    wanted. It runs in a fresh copy of the workspace with the hidden fixtures laid over it."""

    argv: tuple[str, ...] = ()
    shell: str | None = field(default=None, validator=not_empty)
    exit_codes: tuple[int, ...] = (0,)
    stdout_contains: str | None = field(default=None, validator=not_empty)
    stdout_lacks: str | None = field(default=None, validator=not_empty)
    stdout_matches: str | None = field(default=None, validator=is_pattern)
    stdout_equals: str | None = None
    stderr_contains: str | None = field(default=None, validator=not_empty)
    timeout_s: float = 60.0
    cwd: str = "."
    env: Mapping[str, str] = field(factory=dict)
    pass_env: tuple[str, ...] = ()
    input: str | None = None

    def __attrs_post_init__(self) -> None:
        if bool(self.argv) == (self.shell is not None):
            raise ValueError("give `argv`, a list, or `shell`, a line; not both")
        if self.timeout_s <= 0:
            raise ValueError(f"`timeout_s` is {self.timeout_s}; it must be above 0")
        if not self.exit_codes:
            raise ValueError("`exit_codes` is empty, so no command could pass")


async def _command(config: Command, evidence: Evidence) -> Verdict:
    argv = config.argv or ("/bin/sh", "-c", config.shell or "")
    done = await evidence.run(
        argv,
        timeout_s=config.timeout_s,
        cwd=config.cwd,
        env=config.env,
        pass_env=config.pass_env,
        input=config.input.encode() if config.input is not None else None,
    )
    what = config.shell or " ".join(config.argv)
    detail = {"code": done.code, "signal": done.signal, "stdout": done.stdout[-4000:], "stderr": done.stderr[-4000:]}
    if done.timed_out:
        # The command may hang because of what the agent wrote: that is a failure, and it is said.
        return Verdict.failed(f"{what} was still running after {config.timeout_s:g} s", detail=detail)
    if done.code not in config.exit_codes:
        ended = f"exit status {done.code}" if done.code is not None else f"signal {done.signal}"
        output = done.stderr or done.stdout
        return Verdict.failed(f"{what} ended with {ended}; its output ends: {excerpt(output)}", detail=detail)
    for problem in _problems(config, done.stdout, done.stderr):
        return Verdict.failed(f"{what}: {problem}", detail=detail)
    return Verdict.passed(f"{what} ended with exit status {done.code}", detail=detail)


def _problems(config: Command, stdout: str, stderr: str) -> list[str]:
    checks = [
        (
            config.stdout_contains is None or config.stdout_contains in stdout,
            f"stdout lacks {config.stdout_contains!r}",
        ),
        (config.stdout_lacks is None or config.stdout_lacks not in stdout, f"stdout contains {config.stdout_lacks!r}"),
        (config.stdout_equals is None or config.stdout_equals == stdout, f"stdout is not {config.stdout_equals!r}"),
        (
            config.stderr_contains is None or config.stderr_contains in stderr,
            f"stderr lacks {config.stderr_contains!r}",
        ),
        (
            config.stdout_matches is None or count(config.stdout_matches, stdout, most=1) > 0,
            f"{config.stdout_matches!r} is not found in stdout",
        ),
    ]
    return [f"{problem}; it ends: {excerpt(stdout or stderr)}" for ok, problem in checks if not ok]


SPECS = (AssertionSpec("command", _command, Command, summary="A command on a copy of the workspace ends as wanted."),)
