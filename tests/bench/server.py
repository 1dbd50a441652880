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
from typing import Any

SECONDS = 300.0
"""How long it serves at most."""

EVENTS_AT_ONCE = 1
"""Events in one HTTP chunk: providers flush each of them."""

PIECE = "a few words "
MODEL = "bench-model"


# --- answers ------------------------------------------------------------------------------------


def _chat_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-bench0000000000000000000000",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        "usage": None,
    }


CHAT_USAGE = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}


def chat_events(deltas: int) -> list[Any]:
    """A stream of Chat Completions."""
    return [
        _chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        *[_chat_chunk({"content": PIECE})] * deltas,
        _chat_chunk({}, "stop"),
        _chat_chunk({}) | {"choices": [], "usage": CHAT_USAGE},
        "[DONE]",
    ]


def chat_whole() -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": PIECE, "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": CHAT_USAGE,
    }


def _response(status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": "resp_bench",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 30,
        },
    }


def _said(text: str, status: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_bench", "type": "message", "status": status, "role": "assistant", "content": [part]}


def responses_events(deltas: int) -> list[Any]:
    """A stream of Responses."""
    begun, whole, text = _said("", "in_progress"), _said(PIECE * deltas, "completed"), PIECE * deltas
    at = {"item_id": "msg_bench", "output_index": 0, "content_index": 0}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response("in_progress", [])},
        {"type": "response.in_progress", "response": _response("in_progress", [])},
        {"type": "response.output_item.added", "output_index": 0, "item": begun | {"content": []}},
        {"type": "response.content_part.added", **at, "part": begun["content"][0]},
        *[{"type": "response.output_text.delta", **at, "delta": PIECE, "logprobs": [], "obfuscation": "x3Kd"}] * deltas,
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": whole["content"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": _response("completed", [whole])},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def responses_whole() -> dict[str, Any]:
    return _response("completed", [_said(PIECE, "completed")])


MESSAGES_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 20,
    "service_tier": "standard",
}


def messages_whole(text: str = PIECE) -> dict[str, Any]:
    return {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "end_turn" if text else None,
        "stop_sequence": None,
        "usage": MESSAGES_USAGE,
    }


def messages_events(deltas: int) -> list[Any]:
    """A stream of Anthropic Messages."""
    grows = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": PIECE}}
    return [
        {"type": "message_start", "message": messages_whole("")},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *[grows] * deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": MESSAGES_USAGE},
        {"type": "message_stop"},
    ]


ANSWERS = {
    "/chat/completions": (chat_events, chat_whole),
    "/responses": (responses_events, responses_whole),
    "/messages": (messages_events, messages_whole),
}


def event(chunk: Any) -> bytes:
    """A chunk as the providers write it."""
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n".encode()
    name = f"event: {chunk['type']}\n" if "type" in chunk else ""
    return f"{name}data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode()


@cache
def streamed(ending: str, deltas: int) -> bytes:
    """The HTTP answer of a stream."""
    events = [event(chunk) for chunk in ANSWERS[ending][0](deltas)]
    pieces = [b"".join(events[at : at + EVENTS_AT_ONCE]) for at in range(0, len(events), EVENTS_AT_ONCE)]
    chunks = b"".join([b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces])
    return _head("text/event-stream", "transfer-encoding: chunked") + chunks + b"0\r\n\r\n"


@cache
def whole(ending: str) -> bytes:
    """The HTTP answer of a call that is not streamed."""
    body = json.dumps(ANSWERS[ending][1]()).encode()
    return _head("application/json", f"content-length: {len(body)}") + body


def _head(media_type: str, framing: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nx-request-id: req_bench\r\n{framing}\r\n\r\n".encode()


# --- the server ---------------------------------------------------------------------------------


def answer(path: str, body: bytes) -> bytes:
    """The bytes that answer a request."""
    ending = next(known for known in ANSWERS if path.endswith(known))
    if b'"stream":true' in body or b'"stream": true' in body:
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
