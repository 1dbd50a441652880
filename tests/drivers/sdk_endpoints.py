"""Gemini, Bedrock, Cohere and Mistral on the loopback interface, each in the words and bytes of its own wire."""

from __future__ import annotations

import asyncio
import binascii
import json
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from llmneutral import BasePromptDriver, make_driver
from tests.drivers.endpoints import KEY, TEXT
from tests.laws.answers import WIRE
from tests.loopback import Answer, Loopback, Request, streamed, whole

APIS = ["gemini_native", "bedrock_converse", "cohere_chat", "mistral_chat"]
EVENT_STREAM = "application/vnd.amazon.eventstream"


def request_id(api: str) -> dict[str, Any]:
    """The header of an answer that names the request."""
    return {"x_amzn_requestid" if api == "bedrock_converse" else "x_request_id": "req_loop"}


def without_aws(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No credentials of the person running the tests, and no look for those of a machine at Amazon."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(folder / "none"))


def sdk_driver(api: str, server: Loopback, **options: Any) -> BasePromptDriver:
    """A driver whose endpoint is the loopback provider; it waits for nothing between attempts."""
    driver = make_driver(api, **{"model": "m", "base_url": server.url, "api_key": KEY, **options})
    driver.sleep = lambda seconds: None
    driver.asleep = lambda seconds: asyncio.sleep(0)
    return driver


# --- answers ----------------------------------------------------------------------------------------------------------


def body_of(api: str, answer: Any = TEXT) -> dict[str, Any]:
    """The whole answer as the API writes it."""
    body = WIRE[api][0](answer)
    return {**body, "object": "chat.completion", "created": 1} if api == "mistral_chat" else body


def chunks_of(api: str, answer: Any = TEXT, size: int = 4) -> list[Any]:
    """The stream of an answer as the API writes it: bytes for Bedrock, and without the SDK's `data` for Mistral."""
    chunks = WIRE[api][1](answer, size)
    if api == "bedrock_converse":
        return [frame_of(chunk) for chunk in chunks if isinstance(chunk, dict)]
    if api == "mistral_chat":
        return [chunk["data"] if isinstance(chunk, dict) else chunk for chunk in chunks]
    return chunks


def stream_of(api: str, chunks: Iterable[Any], **options: Any) -> Answer:
    """An answer that streams these chunks."""
    media = EVENT_STREAM if api == "bedrock_converse" else "text/event-stream"
    return streamed(chunks, media=media, **request_id(api), **options)


def body_answer(api: str, body: Any) -> Answer:
    """An answer of one body."""
    return whole(body, **request_id(api))


def talks(api: str, *blocks: Any) -> Callable[[Request], Answer]:
    """Answers each request with these blocks, streamed where the request says so."""
    answer = list(blocks or TEXT)

    def answering(request: Request) -> Answer:
        if wants_stream(request):
            return stream_of(api, chunks_of(api, answer))
        return body_answer(api, body_of(api, answer))

    return answering


def wants_stream(request: Request) -> bool:
    """Gemini and Bedrock say it in the path, Cohere and Mistral in the body."""
    return "stream" in request.path or bool(request.json.get("stream"))


# --- errors -----------------------------------------------------------------------------------------------------------

NAMES = {
    401: ("UNAUTHENTICATED", "UnrecognizedClientException", "unauthorized"),
    429: ("RESOURCE_EXHAUSTED", "ThrottlingException", "rate_limited"),
    500: ("INTERNAL", "InternalServerException", "internal"),
}
"""By status, the type as Gemini, Bedrock and Mistral call it; Cohere gives none."""


def error_answer(api: str, status: int, **headers: Any) -> Answer:
    """An error as the API says it."""
    google, amazon, mistral = NAMES[status]
    bodies: dict[str, Any] = {
        "gemini_native": {"error": {"code": status, "message": "it says no", "status": google}},
        "bedrock_converse": {"message": "it says no"},
        "cohere_chat": {"id": "e1", "message": "it says no"},
        "mistral_chat": {"object": "error", "message": "it says no", "type": mistral, "code": "1300"},
    }
    if api == "bedrock_converse":
        headers = {**headers, "x_amzn_errortype": amazon}
    return whole(bodies[api], status, **request_id(api), **headers)


def raw_type_of(api: str, status: int) -> str | None:
    """How the API calls it."""
    google, amazon, mistral = NAMES[status]
    return {"gemini_native": google, "bedrock_converse": amazon, "mistral_chat": mistral}.get(api)


def error_chunk(api: str) -> Any:
    """An error in the middle of a stream: the service is overloaded."""
    chunks: dict[str, Any] = {
        "gemini_native": {"error": {"code": 503, "message": "too busy", "status": "UNAVAILABLE"}},
        "bedrock_converse": exception_frame("serviceUnavailableException", {"message": "too busy"}),
        "cohere_chat": {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "overloaded: too busy"}},
        "mistral_chat": {"object": "error", "message": "too busy", "type": "overloaded_error", "code": "3505"},
    }
    return chunks[api]


# --- Amazon's event stream --------------------------------------------------------------------------------------------


def frame_of(chunk: dict[str, Any]) -> bytes:
    """An event as one frame of application/vnd.amazon.eventstream.

    https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream
    """
    [(kind, value)] = chunk.items()
    return frame({":message-type": "event", ":event-type": kind, ":content-type": "application/json"}, value)


def exception_frame(kind: str, value: Any) -> bytes:
    """An exception inside a stream."""
    return frame({":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}, value)


def frame(headers: dict[str, str], value: Any) -> bytes:
    """Lengths and their checksum, headers of type 7 (text), the payload, and the checksum of it all."""
    content = json.dumps(value).encode()
    head = b"".join(
        [
            struct.pack("!B", len(name)) + name.encode() + b"\x07" + struct.pack("!H", len(text)) + text.encode()
            for name, text in headers.items()
        ]
    )
    prelude = struct.pack("!II", 16 + len(head) + len(content), len(head))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + head + content
    return message + struct.pack("!I", binascii.crc32(message))
