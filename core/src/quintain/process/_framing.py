"""Lines out of a stream of bytes: bounded, exact, and the same however the stream was cut."""

from __future__ import annotations

import hashlib

from attrs import frozen

HEAD_BYTES = 64 * 1024
"""What is kept of a line that is longer than the limit."""


@frozen
class Line:
    """One line of output. Only a newline ends a line; nothing is decoded before someone asks for text.

    Attributes:
        data: its bytes without the newline and one carriage return before it; the first 64 KiB if it was too long.
        dropped: bytes beyond `data` that were counted and left out.
        complete: a newline ended it; False for a fragment at the end of the stream, which is kept as it came.
        digest: SHA-256 of the whole line, in hexadecimal, if it was too long.
    """

    data: bytes
    dropped: int = 0
    complete: bool = True
    digest: str | None = None

    @property
    def text(self) -> str:
        """As UTF-8, with replacement characters where it is not."""
        return self.data.decode("utf-8", "replace")

    @property
    def exact(self) -> bool:
        """All of the line is here and is valid UTF-8, so that `text` says what was written."""
        if self.dropped:
            return False
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True


class LineSplitter:
    """Feed it chunks as they come; what it holds is bounded by the limit, not by what is written.

    Args:
        limit: length in bytes of the longest line that is kept whole.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open = bytearray()
        self._long: _LongLine | None = None

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes."""
        first, *rest = chunk.split(b"\n")
        self._extend(first)
        if not rest:
            return []
        lines = [self._close(complete=True)]
        last = rest.pop()
        for piece in rest:
            if len(piece) <= self._limit:
                lines.append(Line(piece[:-1] if piece.endswith(b"\r") else piece))
            else:
                self._extend(piece)
                lines.append(self._close(complete=True))
        self._extend(last)
        return lines

    def finish(self) -> Line | None:
        """The fragment after the last newline, if there is one; the stream has ended."""
        return self._close(complete=False) if self._open or self._long is not None else None

    def _extend(self, piece: bytes) -> None:
        if self._long is not None:
            self._long.extend(piece)
            return
        self._open += piece
        # one more than the limit may still be a carriage return that doesn't count
        if len(self._open) > self._limit + 1:
            self._spill()

    def _spill(self) -> _LongLine:
        self._long = _LongLine(min(HEAD_BYTES, self._limit))
        self._long.extend(self._open)
        self._open = bytearray()
        return self._long

    def _close(self, *, complete: bool) -> Line:
        if self._long is None:
            extra = complete and self._open.endswith(b"\r")
            if len(self._open) - extra <= self._limit:
                whole, self._open = self._open, bytearray()
                if extra:
                    del whole[-1]
                return Line(bytes(whole), complete=complete)
        long = self._long or self._spill()
        self._long = None
        return long.close(complete=complete)


class _LongLine:
    """The head, the length and the digest of a line that is not kept."""

    def __init__(self, head: int) -> None:
        self._room = head
        self._head = bytearray()
        self._hash = hashlib.sha256()
        self._size = 0
        self._return = False

    def extend(self, piece: bytes | bytearray) -> None:
        if not piece:
            return
        if self._return:
            self._add(b"\r")
        self._return = piece[-1:] == b"\r"
        self._add(memoryview(piece)[:-1] if self._return else piece)

    def close(self, *, complete: bool) -> Line:
        if self._return and not complete:
            self._add(b"\r")
        data = bytes(self._head)
        return Line(data, self._size - len(data), complete, self._hash.hexdigest())

    def _add(self, piece: bytes | bytearray | memoryview) -> None:
        self._hash.update(piece)
        self._size += len(piece)
        if self._room:
            self._head += piece[: self._room]
            self._room -= len(piece[: self._room])
