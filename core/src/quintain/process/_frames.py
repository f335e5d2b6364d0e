"""What a keeper and we say to each other: tuples of plain values. As light to import as the keeper itself."""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Frame = tuple[Any, ...]

KILL_S = 10.0
"""How long a keeper tries to kill what is left of a command."""


def pack(*frame: Any) -> bytes:
    """A frame as bytes."""
    body = marshal.dumps(frame)
    return len(body).to_bytes(4, "little") + body


def unpack(buffer: bytearray) -> Frame | None:
    """Take the first whole frame out of what was received, or None if it isn't there yet."""
    if len(buffer) < 4:
        return None
    end = 4 + int.from_bytes(buffer[:4], "little")
    if len(buffer) < end:
        return None
    frame: Frame = marshal.loads(bytes(buffer[4:end]))
    del buffer[:end]
    return frame
