"""A provider on 127.0.0.1 that answers by script: whole, in pieces, slowly, broken off, or with something else.

```python
with Loopback(whole({"id": "1"}), streamed(chunks, pause=0.1), RESET_AT_ONCE) as server:
    driver = make_driver("chat_completions", model="m", base_url=server.url + "/v1", api_key="k")
    ...
    server.requests[0].json, server.connections[0].closed
```

The answers are given to the requests in their order; `talk("hello")` answers every request in the words of the API its
path names. It speaks HTTP/1.1 by hand, because what is tested is what happens when the wire does not keep to it. It
stops by itself: with the `with` block, after `seconds`, or (as a process of its own) when its stdin ends:

    python -m tests.loopback --say "hello there" --pause 0.05        # prints {"url": "http://127.0.0.1:…"}
    python -m tests.loopback --script answers.json
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from tests.laws.answers import WIRE

RESET, CUT, HOLD = "RESET", "CUT", "HOLD"
"""Instead of a piece: the connection is reset; it ends; it stays silent until the client leaves."""

MOST_BYTES = 64 << 20
MOST_CONNECTIONS = 64
PATHS = {
    "/chat/completions": "chat_completions",
    "/responses": "codex_responses",
    "/messages": "anthropic_messages",
}

Piece: TypeAlias = "bytes | float | str | Torn"


@dataclasses.dataclass(frozen=True)
class Torn:
    """An HTTP chunk of which only the beginning is sent; follow it with RESET or CUT."""

    content: bytes


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer. A status of 0 sends no head; a `body` of None sends the pieces, a number is a pause in seconds."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    pieces: tuple[Piece, ...] = ()
    delay: float = 0.0
    chunked: bool = True


@dataclasses.dataclass
class Request:
    """A request as it came; `left` is set when the client closed before the answer was all sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    connection: int
    left: threading.Event = dataclasses.field(default_factory=threading.Event)
    left_at: float | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def leave(self) -> None:
        self.left_at = self.left_at or time.monotonic()
        self.left.set()


@dataclasses.dataclass
class Connection:
    """A connection of a client; `closed` is set when it is gone, whoever ended it."""

    number: int
    requests: int = 0
    closed: threading.Event = dataclasses.field(default_factory=threading.Event)


Answering: TypeAlias = Callable[[Request], Answer]

# --- what is answered -------------------------------------------------------------------------------------------------


def whole(value: Any, status: int = 200, *, zipped: bool = False, delay: float = 0.0, **headers: str) -> Answer:
    """A whole body of JSON; in the names of headers `_` stands for `-`."""
    body = json.dumps(value, ensure_ascii=False).encode()
    given = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    if zipped:
        body, given["content-encoding"] = gzip.compress(body), "gzip"
    return Answer(status, tuple(given.items()), body, delay=delay)


def page(text: str = "<html><title>Bad gateway</title></html>", status: int = 200, media: str = "text/html") -> Answer:
    """Something that is no JSON; an empty text is an empty body."""
    return Answer(status, (("content-type", media),), text.encode())


def streamed(
    chunks: Iterable[Any], *, pause: float = 0.0, delay: float = 0.0, media: str = "text/event-stream", **headers: str
) -> Answer:
    """A stream: dicts and sentinels become events; bytes, pauses (float), Torn, RESET, CUT and HOLD are as they are."""
    pieces: list[Piece] = []
    for chunk in chunks:
        if pause and pieces:
            pieces.append(pause)
        pieces.append(chunk if isinstance(chunk, bytes | float | Torn) or chunk in (RESET, CUT, HOLD) else event(chunk))
    given = {"content-type": media, **{name.replace("_", "-"): text for name, text in headers.items()}}
    return Answer(200, tuple(given.items()), None, tuple(pieces), delay)


def event(chunk: Any) -> bytes:
    """A chunk as the provider's SSE writes it: with the name of the event where the chunk has a type."""
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n".encode()
    data = json.dumps(chunk, ensure_ascii=False)
    name = f"event: {chunk['type']}\n" if "type" in chunk else ""
    return f"{name}data: {data}\n\n".encode()


def split(chunks: Iterable[Any], size: int) -> list[bytes]:
    """The bytes of a stream in pieces of a size, wherever that cuts them."""
    raw = b"".join([event(chunk) for chunk in chunks])
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def talk(*blocks: Any, size: int = 4, pause: float = 0.0, delay: float = 0.0) -> Answering:
    """Answers each request with these blocks (a text is a block of text), streamed where the request says so."""
    answer = [("text", block) if isinstance(block, str) else tuple(block) for block in blocks]

    def answering(request: Request) -> Answer:
        api = api_of(request.path)
        if api is None:
            return whole({"error": {"type": "not_found_error", "message": request.path}}, 404)
        if request.json.get("stream"):
            return streamed(WIRE[api][1](answer, size), pause=pause, delay=delay, x_request_id="req_loop")
        return whole(WIRE[api][0](answer), delay=delay, x_request_id="req_loop")

    return answering


def api_of(path: str) -> str | None:
    """The API mode a path belongs to."""
    plain = path.partition("?")[0]
    return next((api for ending, api in PATHS.items() if plain.endswith(ending)), None)


RESET_AT_ONCE = Answer(0, pieces=(RESET,))
OVER = whole({"error": {"type": "server_error", "message": "the script is over"}}, 500, x_should_retry="false")


# --- the server -------------------------------------------------------------------------------------------------------


class Loopback:
    """Serves a script on a free port; a context manager.

    Args:
        answers: Answers in the order of the requests, or one function that answers them all.
        seconds: How long it serves at most.
        port: 0 takes a free one.
    """

    def __init__(self, *answers: Answer | Answering, seconds: float = 60.0, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.connections: list[Connection] = []
        self._answers: Sequence[Answer | Answering] = answers
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=MOST_CONNECTIONS)
        self._listener.settimeout(0.05)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends everything: no thread and no socket is left."""
        self._stopping.set()
        with self._lock:
            sockets = [self._listener, *self._sockets]  # shut down, the one wakes who accepts, the others who read
        for connection in sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    @property
    def over(self) -> bool:
        """Whether it is to end."""
        return self._stopping.is_set() or time.monotonic() > self._until

    @property
    def open_connections(self) -> int:
        """How many connections clients hold now."""
        return sum(not connection.closed.is_set() for connection in self.connections)

    def asked(self, seconds: float = 5.0, count: int = 1) -> bool:
        """Waits until so many requests have come, and tells whether they have."""
        until = time.monotonic() + seconds
        while len(self.requests) < count and time.monotonic() < until:
            time.sleep(0.005)
        return len(self.requests) >= count

    def closes(self, seconds: float = 2.0) -> bool:
        """Waits until no connection is open, and tells whether that happened."""
        until = time.monotonic() + seconds
        return all([connection.closed.wait(max(0.0, until - time.monotonic())) for connection in self.connections])

    def _run(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, name="loopback", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.over:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            if len(self.connections) >= MOST_CONNECTIONS:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(len(self.connections))
            self.connections.append(connection)
            with self._lock:
                self._sockets.add(client)
            self._run(self._serve, client, connection)

    def _serve(self, client: socket.socket, connection: Connection) -> None:
        wire = Wire(client, self)
        try:
            while not self.over and (request := wire.read(connection)) is not None:
                connection.requests += 1
                if not wire.write(self._answer(request), request):
                    break
        except OSError:
            pass  # a client that goes away is no matter for the script
        finally:
            with self._lock:
                self._sockets.discard(client)
            client.close()
            connection.closed.set()

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            place = len(self.requests)
            self.requests.append(request)
        if len(self._answers) == 1 and not isinstance(self._answers[0], Answer):
            return self._answers[0](request)
        if place >= len(self._answers):
            return OVER
        found = self._answers[place]
        return found if isinstance(found, Answer) else found(request)


class Wire:
    """HTTP/1.1 on one connection."""

    def __init__(self, client: socket.socket, server: Loopback) -> None:
        self.client = client
        self.server = server
        self.buffer = b""

    # --- in ---------------------------------------------------------------------------------------

    def read(self, connection: Connection) -> Request | None:
        """The next request, or None where the client left."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if "chunked" in headers.get("transfer-encoding", ""):
            body = self._chunks()
        else:
            body = self._exactly(int(headers.get("content-length", 0)))
        return Request(method, path, headers, body, time.monotonic(), connection.number)

    def _more(self) -> bool:
        while not self.server.over:
            if select.select([self.client], [], [], 0.05)[0]:
                piece = self.client.recv(1 << 16)
                self.buffer += piece
                if len(self.buffer) > MOST_BYTES:
                    raise OSError("too much")
                return bool(piece)
        return False

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self.buffer:
            if not self._more():
                return None
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            if not self._more():
                raise OSError("the client left")
        found, self.buffer = self.buffer[:count], self.buffer[count:]
        return found

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self._until(b"\r\n") or b"0", 16):
            found += self._exactly(size)
            self._until(b"\r\n")
        self._until(b"\r\n")
        return found

    # --- out --------------------------------------------------------------------------------------

    def write(self, answer: Answer, request: Request) -> bool:
        """Sends an answer; tells whether the connection may be used again."""
        try:
            return self._write(answer, request)
        except OSError:
            request.leave()
            return False

    def _write(self, answer: Answer, request: Request) -> bool:
        if answer.delay and not self._pause(answer.delay, request):
            return False
        if answer.body is not None:
            self.client.sendall(self._head(answer, ("content-length", str(len(answer.body)))) + answer.body)
            return request.headers.get("connection", "").lower() != "close"
        if answer.status:
            framing = ("transfer-encoding", "chunked") if answer.chunked else ("connection", "close")
            self.client.sendall(self._head(answer, framing))
        for piece in answer.pieces:
            if not self._piece(piece, answer, request):
                return False
        if answer.chunked and answer.status:
            self.client.sendall(b"0\r\n\r\n")
        return answer.chunked and request.headers.get("connection", "").lower() != "close"

    def _head(self, answer: Answer, framing: tuple[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {answer.status} Scripted", *[f"{k}: {v}" for k, v in (*answer.headers, framing)]]
        return "\r\n".join([*lines, "", ""]).encode()

    def _piece(self, piece: Piece, answer: Answer, request: Request) -> bool:
        if isinstance(piece, Torn):
            self.client.sendall(b"%x\r\n" % (len(piece.content) + 100) + piece.content)
        elif isinstance(piece, bytes):
            self.client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if answer.chunked else piece)
        elif piece == RESET:
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        elif piece == CUT:
            return False
        else:
            return self._pause(piece if isinstance(piece, float) else float("inf"), request)
        return True

    def _pause(self, seconds: float, request: Request) -> bool:
        """Waits, unless the client leaves meanwhile."""
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            if self.server.over:
                return False
            if select.select([self.client], [], [], min(rest, 0.02))[0] and not self.client.recv(1, socket.MSG_PEEK):
                request.leave()
                return False
        return True


# --- as a process of its own ------------------------------------------------------------------------------------------


def scripted(entry: dict[str, Any]) -> Answer | Answering:
    """An answer out of a JSON file: `say`, `events`, `body` (with `status`, `headers`), or `drop`."""
    if "drop" in entry:
        return RESET_AT_ONCE
    if "say" in entry:
        return talk(*entry["say"], pause=entry.get("pause", 0.0), delay=entry.get("delay", 0.0))
    if "events" in entry:
        return streamed(entry["events"], pause=entry.get("pause", 0.0), delay=entry.get("delay", 0.0))
    return whole(entry["body"], entry.get("status", 200), delay=entry.get("delay", 0.0), **entry.get("headers", {}))


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves until stdin ends."""
    parser = argparse.ArgumentParser(prog="python -m tests.loopback", description="A provider that answers by script.")
    parser.add_argument("--say", default="Hello there.", help="what every request is answered")
    parser.add_argument("--script", help="a JSON file with answers, instead")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between the pieces of a stream")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it serves at most")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args(arguments)
    answers: list[Answer | Answering] = [talk(given.say, pause=given.pause)]
    if given.script:
        with open(given.script, encoding="utf-8") as file:
            answers = [scripted(entry) for entry in json.load(file)]
    with Loopback(*answers, seconds=given.seconds, port=given.port) as server:
        print(json.dumps({"url": server.url}), flush=True)  # noqa: T201  # the caller reads the address
        reading = threading.Thread(target=sys.stdin.read, daemon=True)
        reading.start()
        while reading.is_alive() and not server.over:
            reading.join(0.1)


if __name__ == "__main__":
    main()
