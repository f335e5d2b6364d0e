"""A model server on loopback that says what a script tells it to say, and breaks where a script tells it to break.

It knows no dialect: `anthropic.py` and `responses.py` turn what is said into the bytes of their protocol. The HTTP is
that of the standard library (`http.server`, one thread for each connection): a framework with a server of its own
(aiohttp, uvicorn with starlette) was weighed and would bring a dozen packages, an event loop beside the one under test,
and less control over what matters here: to close a connection in the middle, to send what is no event, to say nothing.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from attrs import field, frozen


@frozen
class Request:
    """What a client asked.

    Attributes:
        number: from 1, in the order of arrival.
        at: when it arrived, by `time.monotonic`.
        headers: names in small letters.
        data: the body, if it is JSON.
        turns: how often the model has spoken in the conversation so far, as the dialect counts.
    """

    number: int
    at: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    data: Any = field(repr=False)
    turns: int = 0


@frozen
class Turn:
    """What is answered to one request.

    Attributes:
        content: what the model says, in whatever the dialect takes.
        status: another status than 200 is an error with `message`.
        message: words of an error.
        kind: the dialect's name for the kind of error, if not the usual one of the status.
        headers: more headers of the answer, such as retry-after.
        delay_s: silence before the answer begins, in seconds.
        pause_s: silence before each event of a stream, in seconds.
        hang: no answer ever.
        hang_after: silence for ever after so many events of a stream.
        cut_after: the connection is closed after so many events of a stream.
        malformed_after: after so many events of a stream comes something that is none.
    """

    content: Any = None
    status: int = 200
    message: str = "as the script says"
    kind: str | None = None
    headers: Mapping[str, str] = field(factory=dict)
    delay_s: float = 0.0
    pause_s: float = 0.0
    hang: bool = False
    hang_after: int | None = None
    cut_after: int | None = None
    malformed_after: int | None = None


Script = Callable[[Request], Turn]
"""Chooses what is answered; called in the thread of the connection, so several may be at work at once."""


@frozen
class Reply:
    """An answer in bytes; `parts` are sent one by one, as a stream if `stream`."""

    parts: Sequence[bytes]
    media_type: str = "application/json"
    stream: bool = False
    status: int = 200


class Dialect(Protocol):
    """How one protocol writes what is said."""

    def asks(self, request: Request) -> bool:
        """The request wants the model to speak; others are answered by `aside` and no script sees them."""

    def turns(self, data: Any) -> int:
        """How often the model has spoken in the conversation that this request sends."""

    def say(self, request: Request, turn: Turn) -> Reply:
        """The answer of a turn that is no error."""

    def error(self, turn: Turn) -> bytes:
        """The body of an answer that is an error."""

    def aside(self, request: Request) -> Reply:
        """The answer to whatever else is asked."""


def in_order(*turns: Turn) -> Script:
    """Each request, whatever it asks, takes the next turn; the last one stays."""
    waiting = list(turns)
    lock = threading.Lock()

    def script(request: Request) -> Turn:
        with lock:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return script


def by_turn(*turns: Turn) -> Script:
    """Each conversation is told the same, whoever else asks and however often it tries again; the last one stays."""

    def script(request: Request) -> Turn:
        return turns[min(request.turns, len(turns) - 1)]

    return script


class ModelServer:
    """A server that runs; made by `serving`.

    Args:
        dialects: what it speaks; the first that takes a request answers it.
        script: chooses what is said; may be replaced at any time.
    """

    def __init__(self, dialects: Sequence[Dialect], script: Script) -> None:
        self.script = script
        self._dialects = tuple(dialects)
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.models = self

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def requests(self) -> list[Request]:
        """All that was asked so far, in the order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def asked(self) -> list[Request]:
        """The requests that wanted the model to speak."""
        return [request for request in self.requests if self._dialect(request) is not None]

    def run(self) -> None:
        """Serve until `stop`."""
        self._http.serve_forever(poll_interval=0.02)

    def stop(self) -> None:
        """Close everything, whatever hangs."""
        self._stopping.set()
        self._http.shutdown()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def connected(self, connection: socket.socket) -> None:
        """Remember a connection, to close it when the server stops."""
        with self._lock:
            self._open.add(connection)

    def gone(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._open.discard(connection)

    def sleep(self, seconds: float | None) -> None:
        """Say nothing for a while, or until the server stops."""
        self._stopping.wait(seconds)

    def take(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Request:
        """Record a request."""
        data = None
        with suppress(ValueError):
            data = json.loads(body) if body else None
        with self._lock:
            number = len(self._requests) + 1
            request = Request(number, time.monotonic(), method, path, headers, body, data)
            dialect = self._dialect(request)
            turns = dialect.turns(data) if dialect is not None else 0
            request = Request(number, request.at, method, path, headers, body, data, turns)
            self._requests.append(request)
        return request

    def answer(self, request: Request) -> tuple[Turn, Reply]:
        """What to answer, and how."""
        dialect = self._dialect(request)
        if dialect is None:
            return Turn(), self._dialects[0].aside(request)
        turn = self.script(request)
        if turn.status != 200:
            return turn, Reply([dialect.error(turn)], status=turn.status)
        return turn, Reply([]) if turn.hang else dialect.say(request, turn)

    def _dialect(self, request: Request) -> Dialect | None:
        return next((dialect for dialect in self._dialects if dialect.asks(request)), None)


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64
    models: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed in the middle are what this server is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.models.connected(self.connection)

    def finish(self) -> None:
        self.server.models.gone(self.connection)
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the requests are recorded."""

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        models = self.server.models
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = models.take(self.command, self.path, headers, b"".join(self._body(headers)))
        turn, reply = models.answer(request)
        models.sleep(turn.delay_s)
        if turn.hang:
            models.sleep(None)
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in {"content-type": reply.media_type, **turn.headers}.items():
            self.send_header(name, value)
        if reply.stream:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self._stream(turn, reply.parts)
            return
        body = b"".join(reply.parts)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, turn: Turn, parts: Iterable[bytes]) -> None:
        models = self.server.models
        for number, part in enumerate(parts):
            if number == turn.hang_after:
                models.sleep(None)
            if number in (turn.hang_after, turn.cut_after):
                self.close_connection = True
                return
            if number == turn.malformed_after:
                self._chunk(b'data: {"type": "half of an ev\n\n')
            models.sleep(turn.pause_s)
            self._chunk(part)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _body(self, headers: Mapping[str, str]) -> Iterator[bytes]:
        if "chunked" not in headers.get("transfer-encoding", ""):
            yield self.rfile.read(int(headers.get("content-length", 0)))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()


@contextmanager
def serving(script: Script, *dialects: Dialect) -> Iterator[ModelServer]:
    """Serve a script in a thread, on a free port of 127.0.0.1, until the context is left."""
    server = ModelServer(dialects, script)
    thread = threading.Thread(target=server.run, name="scripted model")
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
