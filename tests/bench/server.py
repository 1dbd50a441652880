"""A provider in a process of its own: `python -m tests.bench.server` prints its port and ends with its stdin.

The first part of a path says how many deltas a streamed answer has: `http://127.0.0.1:PORT/5000/v1/chat/completions`.
Every answer is made once and sent as bytes, so that what is measured is the client.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from functools import cache

from tests.bench.answers import ANSWERS

SECONDS = 1_200.0
"""How long it serves at most."""

EVENTS_AT_ONCE = 1
"""Events in one HTTP chunk: providers flush each of them."""

# --- HTTP ---------------------------------------------------------------------------------------


@cache
def streamed(ending: str, deltas: int) -> bytes:
    """The HTTP answer of a stream."""
    answers = ANSWERS[ending]
    events = [answers.written(chunk) for chunk in answers.events(deltas)]
    pieces = [b"".join(events[at : at + EVENTS_AT_ONCE]) for at in range(0, len(events), EVENTS_AT_ONCE)]
    chunks = b"".join([b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces])
    return _head(answers.media, "transfer-encoding: chunked") + chunks + b"0\r\n\r\n"


@cache
def whole(ending: str) -> bytes:
    """The HTTP answer of a call that is not streamed."""
    body = json.dumps(ANSWERS[ending].whole()).encode()
    return _head("application/json", f"content-length: {len(body)}") + body


def _head(media_type: str, framing: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nx-request-id: req_bench\r\n{framing}\r\n\r\n".encode()


# --- the server ---------------------------------------------------------------------------------


def answer(path: str, body: bytes) -> bytes:
    """The bytes that answer a request."""
    ending = next(known for known in ANSWERS if path.endswith(known))
    if "tream" in ending or b'"stream":true' in body or b'"stream": true' in body:
        return streamed(ending, int(path.split("/")[1]))
    return whole(ending)


def serve(client: socket.socket) -> None:
    """Answers the requests of one connection."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with client, client.makefile("rb") as lines:
        while request := lines.readline():
            length = 0
            while (line := lines.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            try:
                client.sendall(answer(request.split()[1].decode(), lines.read(length)))
            except OSError:  # the client left in the middle: that is what measuring a first delta does
                return


def main() -> None:
    """Serves until stdin ends, and never longer than `SECONDS`."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    ended.wait(SECONDS)


if __name__ == "__main__":
    main()
