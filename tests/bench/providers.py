"""The APIs, and everybody who speaks them: the standard library, httpx2, the official SDKs, and we.

"Lean" is the SDK's client with JSON bytes in and dicts out (`cast_to=object`), without its typed models.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai

from llmneutral import BasePromptDriver, TextChunkEvent, make_driver
from tests.bench.server import MODEL

HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer k", "X-Api-Key": "k"}
QUESTION = "Say something."
ASK = [{"role": "user", "content": QUESTION}]


class Api(NamedTuple):
    """One API.

    Attributes:
        mode: Its name.
        path: Path of a request.
        body: A small request for a stream.
        sdk: The official SDK's module.
        client: Name of its client.
        is_text: Whether a chunk (a dict) holds a piece of text.
        is_typed_text: The same for a chunk of the SDK's own types.
    """

    mode: str
    path: str
    body: dict[str, Any]
    sdk: Any
    client: str
    is_text: Callable[[Any], bool]
    is_typed_text: Callable[[Any], bool]


CHAT = Api(
    "chat_completions",
    "/v1/chat/completions",
    {"model": MODEL, "messages": ASK, "stream": True, "stream_options": {"include_usage": True}},
    openai,
    "OpenAI",
    lambda chunk: bool(chunk["choices"] and chunk["choices"][0]["delta"].get("content")),
    lambda chunk: bool(chunk.choices and chunk.choices[0].delta.content),
)
RESPONSES = Api(
    "codex_responses",
    "/v1/responses",
    {"model": MODEL, "input": ASK, "stream": True, "store": False},
    openai,
    "OpenAI",
    lambda chunk: chunk["type"] == "response.output_text.delta",
    lambda chunk: chunk.type == "response.output_text.delta",
)
MESSAGES = Api(
    "anthropic_messages",
    "/v1/messages",
    {"model": MODEL, "max_tokens": 1_000, "messages": ASK, "stream": True},
    anthropic,
    "Anthropic",
    lambda chunk: chunk["type"] == "content_block_delta",
    lambda chunk: chunk.type == "content_block_delta",
)
APIS = (CHAT, RESPONSES, MESSAGES)


# --- without an SDK -----------------------------------------------------------------------------


def standard_library(api: Api, base: str) -> Iterator[Any]:
    """http.client and json, line by line."""
    where = urlsplit(base)
    connection = http.client.HTTPConnection(where.hostname or "", where.port)
    connection.request("POST", where.path + api.path, json.dumps(api.body), HEADERS)
    response = connection.getresponse()
    for line in response:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])
    connection.close()


def raw(api: Api, base: str, client: httpx2.Client) -> Iterator[Any]:
    """httpx2 and json, line by line."""
    with client.stream("POST", base + api.path, content=json.dumps(api.body), headers=HEADERS) as response:
        for line in response.iter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                yield json.loads(line[6:])


async def araw(api: Api, base: str, client: httpx2.AsyncClient) -> AsyncIterator[Any]:
    """The async twin of `raw`."""
    async with client.stream("POST", base + api.path, content=json.dumps(api.body), headers=HEADERS) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                yield json.loads(line[6:])


# --- the SDKs -----------------------------------------------------------------------------------


def address(api: Api, base: str) -> str:
    """The base address as the SDK of an API wants it."""
    return base if api.sdk is anthropic else f"{base}/v1"


def sdk_client(api: Api, base: str, *, asynchronous: bool = False) -> Any:
    """A client of the official SDK."""
    name = f"Async{api.client}" if asynchronous else api.client
    return getattr(api.sdk, name)(base_url=address(api, base), api_key="k", max_retries=0)


def lean(api: Api, client: Any, body: dict[str, Any]) -> Any:
    """The SDK with bytes in and dicts out; an async client gives an awaitable."""
    path = api.path if api.sdk is anthropic else api.path.removeprefix("/v1")
    more = {}
    if body.get("stream"):
        cls = api.sdk.AsyncStream if type(client).__name__.startswith("Async") else api.sdk.Stream
        more = {"stream": True, "stream_cls": cls[object]}
    options = {"headers": {"Content-Type": "application/json"}, "timeout": 60.0}
    return client.post(path, content=json.dumps(body).encode(), options=options, cast_to=object, **more)


def typed(api: Api, client: Any, body: dict[str, Any]) -> Any:
    """The SDK as everybody uses it."""
    if api is CHAT:
        return client.chat.completions.create(**body)
    return client.responses.create(**body) if api is RESPONSES else client.messages.create(**body)


# --- we -----------------------------------------------------------------------------------------


def driver(api: Api, base: str, *, listens: bool = False) -> BasePromptDriver:
    """Our driver, with one listener to the text or with none."""
    made = make_driver(api.mode, model=MODEL, base_url=address(api, base), api_key="k")
    if listens:
        heard = [0]

        def listener(event: TextChunkEvent) -> None:
            heard[0] += len(event.token)

        made.on(TextChunkEvent, listener)
    return made
