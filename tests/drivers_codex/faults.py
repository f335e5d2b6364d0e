"""Runs the real program and breaks around its protocol: `faults.py FAULT PROGRAM ARGUMENTS...`.

The faults are those that agents were seen to have; each is one function that sees the lines on their way to the host.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time


def lingers(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Goes on living after the end of its turn, whatever is said to it."""
    return line


def grandchild(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Leaves a process in a session of its own that holds its output open."""
    if b'"turn/completed"' in line:
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    return line


def silent(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Says nothing any more once a tool has given its result."""
    if b'"item/completed"' in line and b"commandExecution" in line:
        time.sleep(600)
    return line


def dies_asking(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Is killed while a question is out."""
    if b"requestUserInput" in line or b"requestApproval" in line:
        _write(line)
        child.kill()
        os._exit(1)
    return line


def stops_short(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Ends well and never says that its turn has ended."""
    if b'"turn/completed"' in line:
        child.kill()
        os._exit(0)
    return line


def cut(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Is killed in the middle of a line."""
    if b'"item/completed"' in line and b"agentMessage" in line:
        _write(line[: len(line) // 2])
        child.kill()
        os.kill(os.getpid(), signal.SIGKILL)
    return line


def noisy(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Puts banners, colours, a BOM, CRLF, half messages and other people's JSON around each message."""
    noise = b'Update available 1 -> 2\r\n\r\n[1, 2]\n{"method": "hologram/changed", "params": {"a": NaN}}\n'
    noise += b'{"method": "item/completed"}\n{"a": 1, "a": 2}\n{"method": \n\x00\xff\xfe\n' + b"[" * 5000 + b"\n"
    return noise + b"\xef\xbb\xbf\x1b[0m" + line.rstrip(b"\n") + b"\x1b[K\r\n"


def huge(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Has 12 MB of a tool's output on one line, and as much on its error output."""
    message = json.loads(line)
    item = message.get("params", {}).get("item", {})
    if message.get("method") == "item/completed" and item.get("type") == "commandExecution":
        sys.stderr.buffer.write(b"trace " * 2_000_000)
        item["aggregatedOutput"] = "A" * 12_000_000
        return json.dumps(message).encode() + b"\n"
    return line


def drips(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Cuts its messages in the middle of characters."""
    for start in range(0, len(line), 7):
        _write(line[start : start + 7])
    return b""


def exits_1(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Ends its turn well, and then itself with an error."""
    if b'"turn/completed"' in line:
        _write(line)
        child.kill()
        os._exit(1)
    return line


def talks_on(line: bytes, child: subprocess.Popen[bytes]) -> bytes:
    """Goes on after its turn has ended."""
    if b'"turn/completed"' in line:
        late = {"method": "item/completed", "params": {"item": {"type": "agentMessage", "id": "late", "text": "PS"}}}
        return line + json.dumps(late).encode() + b"\n"
    return line


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    fault, program, *arguments = sys.argv[1:]
    broken = globals()[fault.replace("-", "_")]
    if arguments == ["--version"]:
        os.execv(program, [program, *arguments])
    child = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    to_child = child.stdin

    def forward() -> None:
        while data := os.read(0, 65536):
            to_child.write(data)
            to_child.flush()
        to_child.close()

    threading.Thread(target=forward, daemon=True).start()
    if broken is lingers:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in child.stdout:
        _write(broken(line, child))
    if broken is lingers:
        time.sleep(600)
    os._exit(child.wait())


main()
