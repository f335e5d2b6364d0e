"""The trace of an attempt: what happened, stamped, redacted, bounded and written as it happens.

One file holds one `Traced` a line, another the protocol as it was. Secrets are taken out here and nowhere
else, before anything is stored, shown or graded. What goes beyond a bound is counted, never silently left out.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, overload

from quintain.errors import RecordError, StoreError
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.model.events import (
    EVENT_NAMES,
    Answered,
    Asked,
    Done,
    Event,
    Failed,
    Message,
    Note,
    Ready,
    StageBegan,
    ToolResult,
    Traced,
    Used,
)
from quintain.model.outcome import Stage
from quintain.model.trial import Counts
from quintain.redaction import Redactor

CLOSED = -1
INLINE = 64 * 1024
"""Evidence up to this many bytes is kept in memory and stored with the report; more goes to a file as it comes."""

ALWAYS_KEPT = (Ready, Used, Asked, Answered, Done, Failed, StageBegan, Note)
"""Kinds of event without which an outcome or a bill could not be recomputed; a bound never drops them."""


class EvidencePlace:
    """Where one attempt's events and raw protocol go.

    What is small stays here as text and is stored with the report; what outgrows `INLINE` bytes goes to a file as it
    comes, so that its length costs no memory.

    Args:
        stem: beginning of the files' names.
    """

    def __init__(self, stem: str) -> None:
        self.events = Lines(f"{stem}.events.jsonl")
        self.raw = Lines(f"{stem}.raw.jsonl")


class Lines:
    """Lines that are only added to; in memory while they are few, else in a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None
        self._waiting: list[str] = []
        self._size = 0

    @property
    def in_file(self) -> bool:
        """They have outgrown the memory."""
        return self._file is not None

    @property
    def text(self) -> str | None:
        """All of them, or None if they are in the file."""
        if self._file is not None:
            return None
        return "\n".join(self._waiting) + "\n" if self._waiting else ""

    def append(self, line: str) -> None:
        """Add one. Raises OSError if the disk doesn't take it."""
        self._waiting.append(line)
        self._size += len(line) + 1
        if self._size >= INLINE:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        data = ("\n".join(self._waiting) + "\n").encode("ascii")
        self._waiting.clear()
        self._size = 0
        if self._file is None:
            # What lies there is of an attempt that was killed, and is made again under its number.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o600)
        while data:
            data = data[os.write(self._file, data) :]

    def settle(self) -> None:
        """Write what waits, if there is a file."""
        if self._file is not None and self._file != CLOSED:
            self._flush()

    def close(self) -> None:
        """Write what waits, if there is a file, and let go of it."""
        try:
            self.settle()
        finally:
            if self._file is not None and self._file != CLOSED:
                os.close(self._file)
                self._file = CLOSED

    def abandon(self) -> None:
        """Let go without writing more; for a disk that is full."""
        self._waiting.clear()
        self.close()


class Trace:
    """Writes one attempt's trace.

    Args:
        place: where it goes.
        redactor: takes secrets out.
        limit: bytes of events that are kept.
        raw_limit: bytes of raw protocol that are kept.
        canaries: words that must not turn up.
        listen: told of each line as it is kept.
    """

    def __init__(
        self,
        place: EvidencePlace,
        redactor: Redactor,
        *,
        limit: int,
        raw_limit: int,
        canaries: Sequence[str] = (),
        listen: Callable[[Traced], None] | None = None,
    ) -> None:
        self._events = place.events
        self._raw = place.raw
        self._redactor = redactor
        self._limit = limit
        self._raw_limit = raw_limit
        self._canaries = tuple(canaries)
        self._listen = listen
        self.leaked: dict[str, None] = {}
        self._began = time.monotonic()
        self._seq = 0
        self._bytes = 0
        self._raw_bytes = 0
        self._raw_lines = 0
        self._dropped_raw = 0
        self._memory: list[Traced] | None = []
        self._seen: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the attempt began."""
        return time.monotonic() - self._began

    def add(self, event: Event, *, late: bool = False) -> Event:
        """Stamp and keep an event; returns it as it is kept, without secrets."""
        self._seq += 1
        traced = self._redactor.record(Traced(self._seq, round(time.monotonic() - self._began, 6), event, late))
        line = dumps(to_plain(traced))
        for word in self._canaries:
            if word in line:
                self.leaked[word] = None
        self._count(traced.event, late)
        if self._bytes + len(line) > self._limit and not isinstance(event, ALWAYS_KEPT):
            self._dropped["events"] += 1
            self._dropped["bytes"] += len(line)
            return traced.event
        self._keep(traced, line)
        return traced.event

    def enter(self, stage: Stage) -> None:
        """`add` for the beginning of a stage, which is half of a small trace: its line is known but for the numbers."""
        self._seq += 1
        at_s = round(time.monotonic() - self._began, 6)
        self._seen["stage"] += 1
        line = f'{{"seq":{self._seq},"at_s":{at_s!r},"event":{{"type":"stage","stage":"{stage}"}}}}'
        self._keep(Traced(self._seq, at_s, StageBegan(stage)), line)

    def _keep(self, traced: Traced, line: str) -> None:
        self._bytes += len(line)
        self._events.append(line)
        if self._memory is not None:
            if self._events.in_file:
                self._memory = None
            else:
                self._memory.append(traced)
        if self._listen is not None:
            self._listen(traced)

    def _count(self, event: Event, late: bool) -> None:
        self._seen[EVENT_NAMES[type(event)]] += 1
        if late:
            self._seen["late"] += 1
        if isinstance(event, ToolResult):
            self._seen["tool_error"] += event.error
            self._seen["denied"] += event.denied
        elif isinstance(event, Answered) and event.answer.approved is False:
            self._seen["denied"] += 1
        elif isinstance(event, Done) and event.denials is not None:
            self._seen["denied"] = max(self._seen["denied"], event.denials)

    def add_raw(self, direction: Literal["in", "out"], data: bytes | str, *, dropped: int = 0) -> None:
        """Keep one line of raw protocol."""
        self._raw_lines += 1
        if self._raw_bytes + len(data) > self._raw_limit:
            self._dropped_raw += len(data) + dropped
            return
        record: dict[str, object] = {"n": self._raw_lines, "at_s": round(self.elapsed_s, 6), "dir": direction}
        if isinstance(data, bytes):
            data = self._redactor.data(data)
            try:
                record["text"] = data.decode()
            except UnicodeDecodeError:
                record["base64"] = base64.b64encode(data).decode()
        else:
            record["text"] = self._redactor.text(data)
        if dropped:
            record["dropped"] = dropped
        self._raw_bytes += len(data)
        self._raw.append(dumps(record))

    def close(self) -> None:
        """State what was left out, and write all."""
        if self._dropped["events"]:
            text = f"{self._dropped['events']} events were left out beyond the trace limit of {self._limit} bytes"
            self.add(Note("trace-limit", text, {"events": self._dropped["events"], "bytes": self._dropped["bytes"]}))
        if self._dropped_raw:
            text = f"{self._dropped_raw} bytes of raw protocol were left out beyond the limit of {self._raw_limit}"
            self.add(Note("raw-limit", text, {"bytes": self._dropped_raw}))
        self._events.close()
        self._raw.close()

    def abandon(self) -> None:
        """Let go of the files without writing more; for a disk that is full."""
        self._events.abandon()
        self._raw.abandon()

    @property
    def counts(self) -> Counts:
        """What was seen."""
        seen = self._seen
        return Counts(
            events=self._seq,
            messages=seen["message"],
            tool_calls=seen["tool_call"],
            tool_errors=seen["tool_error"],
            questions=seen["question"],
            denials=seen["denied"],
            noise_lines=seen["log"],
            protocol_errors=seen["protocol_error"],
            unknown_events=seen["unknown"],
            late_events=seen["late"],
            dropped_events=self._dropped["events"],
            dropped_bytes=self._dropped["bytes"],
        )

    def read(self) -> Sequence[Traced]:
        """The trace so far, for grading."""
        if self._memory is not None:
            return self._memory
        self._events.settle()
        return StoredTrace(Path(self._events.path))


class StoredTrace(Sequence[Traced]):
    """A trace from the store, read line by line each time it is iterated, so that its length costs no memory.

    A torn last line, left by a crash, is passed over; `torn` tells. A line that is damaged elsewhere is an error.

    Args:
        source: its file, or its text.
    """

    def __init__(self, source: Path | str) -> None:
        self._source = source
        self.torn = False
        self._length: int | None = None

    def __iter__(self) -> Iterator[Traced]:
        for number, line in enumerate(lines_of(self._source), 1):
            if not line.endswith("\n"):
                self.torn = True
                return
            try:
                yield from_plain(json.loads(line), Traced)
            except (ValueError, RecordError) as error:
                where = f"{self._source}:{number}" if isinstance(self._source, Path) else f"line {number}"
                raise StoreError(f"the trace is damaged: {error}", where=where, hint="run the trial again") from error

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self)
        return self._length

    @overload
    def __getitem__(self, index: int) -> Traced: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Traced]: ...
    def __getitem__(self, index: int | slice) -> Traced | Sequence[Traced]:
        return list(self)[index]


def lines_of(source: Path | str) -> Iterator[str]:
    """Lines of stored evidence with their ends; none if there is no such file."""
    if isinstance(source, str):
        yield from source.splitlines(keepends=True)
    elif source.exists():
        with source.open(encoding="ascii", errors="replace", newline="\n") as file:
            yield from file


def final_answer(trace: Sequence[Traced]) -> str | None:
    """What the agent said at last: the text of `Done`, else the parts of the main agent's last message.

    An agent whose `Done` names a failure has no answer: its words are an error told as one.
    """
    parts: list[str] = []
    last: str | None = None
    for line in trace:
        event = line.event
        if line.late:
            continue
        if isinstance(event, Message) and event.agent is None:
            if event.id is None or event.id != last:
                parts = []
            parts.append(event.text)
            last = event.id
        elif isinstance(event, Done):
            if event.failure is not None:
                return None
            if event.text is not None:
                return event.text
    return "".join(parts) if parts else None
