"""The official SDKs: their clients, their calls as everybody uses them, and lean.

"Lean" is the SDK's client with its auth and its pool, JSON in and dicts out, without its typed models; not every SDK
has such a way. A call of an async client gives an awaitable, of an iterator where it streams.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import anthropic
import openai

Body = dict[str, Any]
Call = Callable[[Any, Body], Any]

# Both sides sign with these; nothing asks Amazon's network for others.
os.environ |= {
    "AWS_ACCESS_KEY_ID": "k",
    "AWS_SECRET_ACCESS_KEY": "k",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Sdk(NamedTuple):
    """How an SDK is used; each call takes the keyword arguments of its method.

    Attributes:
        client: Makes a client from an address, async or not.
        whole: Asks for a whole answer.
        streamed: Asks for a stream.
        lean_whole: Asks for a whole answer as a dict.
        lean_streamed: Asks for a stream of dicts.
        at: What the address of the SDK has beyond that of the server.
        tells_async: Whether it has async clients.
    """

    client: Callable[[str, bool], Any]
    whole: Call
    streamed: Call
    lean_whole: Call | None = None
    lean_streamed: Call | None = None
    at: str = ""
    tells_async: bool = True


# --- OpenAI, Anthropic --------------------------------------------------------------------------


def _stainless_client(module: ModuleType, name: str, base: str, asynchronous: bool) -> Any:
    made = getattr(module, f"Async{name}" if asynchronous else name)
    return made(base_url=base, api_key="k", max_retries=0)


def _stainless_lean(module: ModuleType, path: str, client: Any, body: Body) -> Any:
    more = {}
    if body.get("stream"):
        cls = module.AsyncStream if type(client).__name__.startswith("Async") else module.Stream
        more = {"stream": True, "stream_cls": cls[object]}
    options = {"headers": {"Content-Type": "application/json"}, "timeout": 60.0}
    return client.post(path, content=json.dumps(body).encode(), options=options, cast_to=object, **more)


def _stainless(module: ModuleType, name: str, at: str, path: str, create: Callable[[Any], Any]) -> Sdk:
    lean = partial(_stainless_lean, module, path)

    def typed(client: Any, body: Body) -> Any:
        return create(client)(**body)

    return Sdk(partial(_stainless_client, module, name), typed, typed, lean, lean, at)


OPENAI_CHAT = _stainless(openai, "OpenAI", "/v1", "/chat/completions", lambda client: client.chat.completions.create)
OPENAI_RESPONSES = _stainless(openai, "OpenAI", "/v1", "/responses", lambda client: client.responses.create)
ANTHROPIC = _stainless(anthropic, "Anthropic", "", "/v1/messages", lambda client: client.messages.create)


# --- Gemini -------------------------------------------------------------------------------------


def _google_client(base: str, asynchronous: bool) -> Any:
    from google import genai

    options = genai.types.HttpOptions(base_url=base, api_version="v1beta")
    made = genai.Client(api_key="k", vertexai=False, http_options=options)
    return made.aio if asynchronous else made


def _google_lean(client: Any, body: Body) -> Any:
    wire = {key: value for key, value in body.items() if key != "model"}
    answer = client._api_client.request("post", f"models/{body['model']}:generateContent", wire)
    return json.loads(answer.body)


def _google_lean_streamed(client: Any, body: Body) -> Any:
    wire = {key: value for key, value in body.items() if key != "model"}
    path = f"models/{body['model']}:streamGenerateContent?alt=sse"
    if hasattr(client, "live"):  # only the async one has it
        return _apieces(client._api_client.async_request_streamed("post", path, wire))
    return (json.loads(answer.body) for answer in client._api_client.request_streamed("post", path, wire))


async def _apieces(opening: Any) -> AsyncIterator[Any]:
    answers = await opening
    return (json.loads(answer.body) async for answer in answers)


GOOGLE = Sdk(
    _google_client,
    lambda client, body: client.models.generate_content(**body),
    lambda client, body: client.models.generate_content_stream(**body),
    _google_lean,
    _google_lean_streamed,
)


# --- Bedrock ------------------------------------------------------------------------------------


def _bedrock_client(base: str, asynchronous: bool) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1, "mode": "standard"})
    return boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=base, config=config)


BEDROCK = Sdk(
    _bedrock_client,
    lambda client, body: client.converse(**body),
    lambda client, body: client.converse_stream(**body)["stream"],
    tells_async=False,
)


# --- Cohere -------------------------------------------------------------------------------------


def _cohere_client(base: str, asynchronous: bool) -> Any:
    import cohere

    made = cohere.AsyncClientV2 if asynchronous else cohere.ClientV2
    return made(api_key="k", base_url=base, max_retries=0, log_warning_experimental_features=False)


def _is_async(client: Any) -> bool:
    return type(client).__name__.startswith("Async")


async def _at_once(stream: Any) -> Any:
    return stream


def _cohere_streamed(client: Any, body: Body) -> Any:
    stream = client.chat_stream(**body)
    return _at_once(stream) if _is_async(client) else stream


def _cohere_lean(client: Any, body: Body) -> Any:
    opened = client.with_raw_response.chat_stream(**body)
    return _at_once(_acohere_lines(opened)) if _is_async(client) else _cohere_lines(opened)


def _cohere_lines(opened: Any) -> Iterator[Any]:
    with opened as answer:
        yield from pieces(answer.response.iter_lines())


async def _acohere_lines(opened: Any) -> AsyncIterator[Any]:
    async with opened as answer:
        async for piece in apieces(answer.response.aiter_lines()):
            yield piece


COHERE = Sdk(_cohere_client, lambda client, body: client.chat(**body), _cohere_streamed, lean_streamed=_cohere_lean)


# --- Mistral ------------------------------------------------------------------------------------


class AsyncMistral(NamedTuple):
    """One class has both kinds of methods."""

    chat: Any


def _mistral_client(base: str, asynchronous: bool) -> Any:
    from mistralai.client import Mistral

    made = Mistral(api_key="k", server_url=base)
    return AsyncMistral(made.chat) if asynchronous else made


def _mistral_streamed(client: Any, body: Body) -> Any:
    return (client.chat.stream_async if _is_async(client) else client.chat.stream)(**body)


def _mistral_lean(client: Any, body: Body) -> Any:
    if _is_async(client):
        return _amistral_lines(client.chat.stream_async(**body))
    return pieces(client.chat.stream(**body).response.iter_lines())


async def _amistral_lines(opening: Any) -> AsyncIterator[Any]:
    return apieces((await opening).response.aiter_lines())


MISTRAL = Sdk(
    _mistral_client,
    lambda client, body: client.chat.complete(**body),
    _mistral_streamed,
    lean_streamed=_mistral_lean,
    at="/mistral",
)


# --- server-sent events, line by line -----------------------------------------------------------


def pieces(lines: Iterator[str]) -> Iterator[Any]:
    """The JSON of the events."""
    for line in lines:
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


async def apieces(lines: AsyncIterator[str]) -> AsyncIterator[Any]:
    """The async twin of `pieces`."""
    async for line in lines:
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])
