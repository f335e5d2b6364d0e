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

from attrs import frozen

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
from quintain.model.trial import Counts
from quintain.redaction import Redactor

IN_MEMORY = 1024 * 1024
"""A trace up to this many bytes is graded from memory; a longer one is read back from its file."""
BUFFER = 32 * 1024

ALWAYS_KEPT = (Ready, Used, Asked, Answered, Done, Failed, StageBegan, Note)
"""Kinds of event without which an outcome or a bill could not be recomputed; a bound never drops them."""


@frozen
class TraceFiles:
    """Names of the files of one attempt's evidence; they are made when there is something to write."""

    stem: str

    @property
    def events(self) -> str:
        """One `Traced` a line."""
        return f"{self.stem}.events.jsonl"

    @property
    def raw(self) -> str:
        """The protocol as it was."""
        return f"{self.stem}.raw.jsonl"


class _Lines:
    """An append-only file of lines, opened when there is something to write and written in blocks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None
        self._waiting: list[str] = []
        self._size = 0

    def append(self, line: str) -> None:
        self._waiting.append(line)
        self._size += len(line) + 1
        if self._size >= BUFFER:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        data = ("\n".join(self._waiting) + "\n").encode("ascii")
        self._waiting.clear()
        self._size = 0
        if self._file is None:
            self._file = self._open()
        while data:
            data = data[os.write(self._file, data) :]

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None


class Trace:
    """Writes one attempt's trace.

    Args:
        files: where it goes.
        redactor: takes secrets out.
        limit: bytes of events that are kept.
        raw_limit: bytes of raw protocol that are kept.
        canaries: words that must not turn up.
        listen: told of each line as it is kept.
    """

    def __init__(
        self,
        files: TraceFiles,
        redactor: Redactor,
        *,
        limit: int,
        raw_limit: int,
        canaries: Sequence[str] = (),
        listen: Callable[[Traced], None] | None = None,
    ) -> None:
        self._events = _Lines(files.events)
        self._raw = _Lines(files.raw)
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
        traced = Traced(self._seq, round(time.monotonic() - self._began, 6), event, late)
        line = dumps(to_plain(traced))
        if self._redactor.active:
            redacted = self._redactor.text(line)
            if redacted != line:
                line, traced = redacted, from_plain(json.loads(redacted), Traced)
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

    def _keep(self, traced: Traced, line: str) -> None:
        self._bytes += len(line)
        self._events.append(line)
        if self._memory is not None:
            if self._bytes <= IN_MEMORY:
                self._memory.append(traced)
            else:
                self._memory = None
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

    def flush(self) -> None:
        """Write what waits. Raises OSError if the disk doesn't take it."""
        self._events.flush()
        self._raw.flush()

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
        for lines in (self._events, self._raw):
            lines._waiting.clear()
            lines.close()

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
        self._events.flush()
        return StoredTrace(Path(self._events.path))


class StoredTrace(Sequence[Traced]):
    """A trace in its file, read line by line each time it is iterated, so that its length costs no memory.

    A torn last line, left by a crash, is passed over; `torn` tells. A line that is damaged elsewhere is an error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.torn = False
        self._length: int | None = None

    def __iter__(self) -> Iterator[Traced]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    self.torn = True
                    return
                try:
                    yield from_plain(json.loads(line), Traced)
                except (ValueError, RecordError) as error:
                    raise StoreError(
                        f"the trace is damaged: {error}", where=f"{self._path}:{number}", hint="restore it or run again"
                    ) from error

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
