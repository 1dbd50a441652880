"""The APIs, and everybody who speaks them: the standard library, httpx2, the official SDKs, and we."""

from __future__ import annotations

import http.client
import json
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from llmneutral import BasePromptDriver, TextChunkEvent, make_driver
from tests.bench import sdks
from tests.bench.answers import MODEL
from tests.bench.sdks import Sdk

HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer k", "X-Api-Key": "k"}
QUESTION = "Say something."
ASK = [{"role": "user", "content": QUESTION}]


class Api(NamedTuple):
    """One API.

    Attributes:
        mode: Its name.
        path: Path of a request for a stream.
        body: A small request for a stream: keyword arguments of the SDK's method.
        sdk: The official SDK.
        is_text: Whether a chunk (a dict) holds a piece of text.
        is_typed_text: The same for a chunk of the SDK's own types.
        unsent: A keyword argument that is no key of the body, because the path says it.
        says_stream: Whether the SDK's method for streams adds to the body that it is one.
        framed: Whether the stream is Amazon's event stream.
    """

    mode: str
    path: str
    body: dict[str, Any]
    sdk: Sdk
    is_text: Callable[[Any], bool]
    is_typed_text: Callable[[Any], bool]
    unsent: str = ""
    says_stream: bool = False
    framed: bool = False

    @property
    def wire(self) -> bytes:
        """The body of the small request."""
        more = {"stream": True} if self.says_stream else {}
        return json.dumps({key: value for key, value in self.body.items() if key != self.unsent} | more).encode()


CHAT = Api(
    "chat_completions",
    "/v1/chat/completions",
    {"model": MODEL, "messages": ASK, "stream": True, "stream_options": {"include_usage": True}},
    sdks.OPENAI_CHAT,
    lambda chunk: bool(chunk["choices"] and chunk["choices"][0]["delta"].get("content")),
    lambda chunk: bool(chunk.choices and chunk.choices[0].delta.content),
)
RESPONSES = Api(
    "codex_responses",
    "/v1/responses",
    {"model": MODEL, "input": ASK, "stream": True, "store": False},
    sdks.OPENAI_RESPONSES,
    lambda chunk: chunk["type"] == "response.output_text.delta",
    lambda chunk: chunk.type == "response.output_text.delta",
)
MESSAGES = Api(
    "anthropic_messages",
    "/v1/messages",
    {"model": MODEL, "max_tokens": 1_000, "messages": ASK, "stream": True},
    sdks.ANTHROPIC,
    lambda chunk: chunk["type"] == "content_block_delta",
    lambda chunk: chunk.type == "content_block_delta",
)
GEMINI = Api(
    "gemini_native",
    f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse",
    {"model": MODEL, "contents": [{"role": "user", "parts": [{"text": QUESTION}]}]},
    sdks.GOOGLE,
    lambda chunk: bool(chunk["candidates"][0]["content"]["parts"][0]["text"]),
    lambda chunk: bool(chunk.text),
    unsent="model",
)
BEDROCK = Api(
    "bedrock_converse",
    f"/model/{MODEL}/converse-stream",
    {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": QUESTION}]}]},
    sdks.BEDROCK,
    lambda chunk: "contentBlockDelta" in chunk,
    lambda chunk: "contentBlockDelta" in chunk,
    unsent="modelId",
    framed=True,
)
COHERE = Api(
    "cohere_chat",
    "/v2/chat",
    {"model": MODEL, "messages": ASK},
    sdks.COHERE,
    lambda chunk: chunk["type"] == "content-delta",
    lambda chunk: chunk.type == "content-delta",
    says_stream=True,
)
MISTRAL = Api(
    "mistral_chat",
    "/mistral/v1/chat/completions",
    {"model": MODEL, "messages": ASK},
    sdks.MISTRAL,
    lambda chunk: bool(chunk["choices"][0]["delta"].get("content")),
    lambda chunk: bool(chunk.data.choices[0].delta.content),
    says_stream=True,
)
APIS = (CHAT, RESPONSES, MESSAGES, GEMINI, BEDROCK, COHERE, MISTRAL)


# --- without an SDK -----------------------------------------------------------------------------


def standard_library(api: Api, base: str) -> Iterator[Any]:
    """http.client and json, line by line, or frame by frame."""
    where = urlsplit(base)
    connection = http.client.HTTPConnection(where.hostname or "", where.port)
    connection.request("POST", where.path + api.path, api.wire, HEADERS)
    response = connection.getresponse()
    if api.framed:
        yield from framed(iter(lambda: response.read1(65_536), b""))
    else:
        for line in response:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                yield json.loads(line[6:])
    connection.close()


def raw(api: Api, base: str, client: httpx2.Client) -> Iterator[Any]:
    """httpx2 and json, line by line, or frame by frame."""
    with client.stream("POST", base + api.path, content=api.wire, headers=HEADERS) as response:
        yield from framed(response.iter_raw()) if api.framed else sdks.pieces(response.iter_lines())


async def araw(api: Api, base: str, client: httpx2.AsyncClient) -> AsyncIterator[Any]:
    """The async twin of `raw`."""
    async with client.stream("POST", base + api.path, content=api.wire, headers=HEADERS) as response:
        if not api.framed:
            async for piece in sdks.apieces(response.aiter_lines()):
                yield piece
            return
        kept = b""
        async for read in response.aiter_raw():
            found, kept = frames(kept + read)
            for piece in found:
                yield piece


def framed(reads: Iterator[bytes]) -> Iterator[Any]:
    """The events of Amazon's event stream, with no look at checksums."""
    kept = b""
    for read in reads:
        found, kept = frames(kept + read)
        yield from found


def frames(kept: bytes) -> tuple[list[Any], bytes]:
    """The events that are whole, and the bytes of the next one."""
    found, at = [], 0
    while len(kept) - at >= 12:
        whole, head = struct.unpack_from("!II", kept, at)
        if len(kept) - at < whole:
            break
        headers = kept[at + 12 : at + 12 + head]
        begin = headers.index(b":event-type") + 12
        length = int.from_bytes(headers[begin : begin + 2], "big")
        name = headers[begin + 2 : begin + 2 + length].decode()
        found.append({name: json.loads(kept[at + 12 + head : at + whole - 4])})
        at += whole
    return found, kept[at:]


# --- the SDKs, and we ---------------------------------------------------------------------------


def sdk_client(api: Api, base: str, *, asynchronous: bool = False) -> Any:
    """A client of the official SDK."""
    return api.sdk.client(base + api.sdk.at, asynchronous)


def key(api: Api) -> str | None:
    """Our API key; Bedrock's credentials are in the environment, for the SDK too."""
    return None if api is BEDROCK else "k"


def driver(api: Api, base: str, *, listens: bool = False) -> BasePromptDriver:
    """Our driver, with one listener to the text or with none."""
    made = make_driver(api.mode, model=MODEL, base_url=base + api.sdk.at, api_key=key(api))
    if listens:
        heard = [0]

        def listener(event: TextChunkEvent) -> None:
            heard[0] += len(event.token)

        made.on(TextChunkEvent, listener)
    return made
