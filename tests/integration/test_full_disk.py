"""A disk that fills up in the middle of a run: a real one, small, of memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = """
[project]
store = "disk/store"

[profiles.default]
driver = { name = "subprocess", config = { command = ["{python}", "{project}/agent.py"] } }

[profiles.default.retry]
attempts = 1
"""

AGENT = """
import quintain_agent
agent = quintain_agent.start()
for _ in range(700):
    agent.say("x" * 1500)
agent.done("ok")
"""

SCRIPT = """
mount -t tmpfs -o size=3m none disk || exit 99
"$0" -m quintain run --repeat 8 -j 2
echo "exit code $?"
mount -o remount,size=64m disk
"$0" -m quintain show last
"$0" -m quintain run --repeat 2 -j 2 >/dev/null 2>&1
"$0" -m quintain show last
"""


def test_a_full_disk_stops_the_run_with_words_and_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "quintain.toml").write_text(PROJECT)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "cases" / "a.case.toml").write_text('prompt = "talk"\n')
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", SCRIPT, sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    output = done.stdout + done.stderr
    assert "exit code 3" in output, output
    assert "Traceback" not in output
    assert "the disk does not take more" in output or "the store does not take more" in output
    assert "did not come to its end" in output or "stopped" in output
    assert "2 not graded" in output, "after space was made a run works again"
