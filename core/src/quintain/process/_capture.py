"""The head and the tail of a stream that may be any length."""

from __future__ import annotations

from attrs import frozen


@frozen
class Captured:
    """What was kept of a stream.

    Attributes:
        head: its first bytes.
        tail: its last bytes, not overlapping with the head.
        total: length of the whole stream in bytes.
    """

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def dropped(self) -> int:
        """Bytes between head and tail that were counted and left out."""
        return self.total - len(self.head) - len(self.tail)

    @property
    def data(self) -> bytes:
        """Head and tail; the whole stream if nothing was dropped."""
        return self.head + self.tail

    def text(self) -> str:
        """As UTF-8 with replacement, and a line that counts the dropped bytes where they were."""
        if not self.dropped:
            return self.data.decode("utf-8", "replace")
        marker = f"\n[... {self.dropped} bytes left out ...]\n"
        return self.head.decode("utf-8", "replace") + marker + self.tail.decode("utf-8", "replace")


class Capture:
    """Collects a stream chunk by chunk in bounded memory.

    Args:
        head: bytes to keep of its beginning.
        tail: bytes to keep of its end.
    """

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        self._head_room = head
        self._tail_size = tail
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Add a chunk."""
        self.total += len(chunk)
        if self._head_room:
            first = chunk[: self._head_room]
            self._head += first
            self._head_room -= len(first)
            chunk = chunk[len(first) :]
        self._tail += chunk
        if len(self._tail) > 2 * self._tail_size:
            self._trim()

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_size)]

    def captured(self) -> Captured:
        """What has been kept so far."""
        self._trim()
        return Captured(bytes(self._head), bytes(self._tail), self.total)
