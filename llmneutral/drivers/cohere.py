"""Cohere's Chat v2 by the `cohere` SDK.

The SDK makes and sends the request; answers are read from its HTTP responses, so that no event its types do not know is
lost. It stands on `httpx`, where the other SDKs have gone on to `httpx2`. Docs: docs.cohere.com/reference/chat,
github.com/cohere-ai/cohere-python
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Body
from llmneutral.drivers.http_answers import AsyncChunks, Chunks, read_body
from llmneutral.drivers.sdk_calls import SdkPromptDriver, Watched, is_ours
from llmneutral.errors import MalformedResponseError, provider_error, read_error_body

CLIENT, SENDER = "cohere.client_v2", "cohere.core.http_client"
PATH, ERROR = "v2/chat", 300
OFFICIAL = "https://api.cohere.com"
LONGEST_TEXT = 65_536
"""Characters of which Cohere says the tokens at once (docs.cohere.com/reference/tokenize)."""


class CoherePromptDriver(SdkPromptDriver):
    """The `cohere` SDK as the wire of a driver."""

    sdk = "cohere"
    package = "cohere"
    extra = "cohere"
    http_library = "httpx"
    address_variable = "CO_API_URL"
    key_variable: str | None = "CO_API_KEY"

    def __init__(self, model: str | None = None, **options: Any) -> None:
        at_home = options if options.get("base_url") or options.get("provider") else {**options, "provider": "cohere"}
        super().__init__(model, **{"api_mode": "cohere_chat", **at_home})

    def client_base_url(self) -> str | None:
        """The client appends `/v2/chat` itself, so a trailing version goes."""
        address = (super().client_base_url() or OFFICIAL).rstrip("/")
        return address.removesuffix("/v2").removesuffix("/v1")

    def sdk_client(self, module: Any, key: str, address: str | None, http: Any, *, asynchronous: bool) -> Any:
        """Returns the SDK's client."""
        kind = module.AsyncClientV2 if asynchronous else module.ClientV2
        return kind(
            api_key=key, base_url=address, max_retries=0, httpx_client=http, log_warning_experimental_features=False
        )

    def ask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """Calls the SDK for a whole answer."""
        if (sender := _sender(client)) is not None:
            response = sender.request(**_request(conversion, stream=False))
            _check(response)
            return read_body(response.content, response)
        try:
            response = client.with_raw_response.chat(**_arguments(conversion)).response
        except Exception:
            if (body := untyped(watched)) is None:
                raise
            return body
        return read_body(response.content, response)

    async def aask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """The async twin of `ask`."""
        if (sender := _sender(client)) is not None:
            response = await sender.request(**_request(conversion, stream=False))
            _check(response)
            return read_body(response.content, response)
        try:
            response = (await client.with_raw_response.chat(**_arguments(conversion))).response
        except Exception:
            if (body := untyped(watched)) is None:
                raise
            return body
        return read_body(response.content, response)

    def begin(self, client: Any, conversion: Conversion, watched: Watched) -> Iterator[Any]:
        """Calls the SDK for a stream, and reads the bytes of its response."""
        opened = contextlib.ExitStack()
        if (sender := _sender(client)) is not None:
            response = opened.enter_context(sender.stream(**_request(conversion, stream=True)))
            if response.status_code >= ERROR:
                with opened:
                    response.read()
                    _check(response)
            return CohereChunks(response, self.translated, opened)
        response = opened.enter_context(client.with_raw_response.chat_stream(**_arguments(conversion))).response
        return CohereChunks(response, self.translated, opened)

    async def abegin(self, client: Any, conversion: Conversion, watched: Watched) -> AsyncIterator[Any]:
        """The async twin of `begin`."""
        opened = contextlib.AsyncExitStack()
        if (sender := _sender(client)) is not None:
            response = await opened.enter_async_context(sender.stream(**_request(conversion, stream=True)))
            if response.status_code >= ERROR:
                async with opened:
                    await response.aread()
                    _check(response)
            return AsyncCohereChunks(response, self.translated, opened)
        asking = client.with_raw_response.chat_stream(**_arguments(conversion))
        response = (await opened.enter_async_context(asking)).response
        return AsyncCohereChunks(response, self.translated, opened)

    def count(self, client: Any, conversion: Conversion) -> Any:
        """Calls the SDK for the tokens of the texts; a long text is asked for in parts."""
        tokens: list[Any] = []
        for arguments in _to_tokenize(conversion):
            response = client.with_raw_response.tokenize(**arguments).response
            tokens += _tokens_of(read_body(response.content, response))
        return Body(tokens=tokens)

    async def acount(self, client: Any, conversion: Conversion) -> Any:
        """The async twin of `count`."""
        tokens: list[Any] = []
        for arguments in _to_tokenize(conversion):
            response = (await client.with_raw_response.tokenize(**arguments)).response
            tokens += _tokens_of(read_body(response.content, response))
        return Body(tokens=tokens)


class CohereChunks(Chunks):
    """The chunks of a stream; the SDK's context manager is left when they are closed."""

    def __init__(self, response: Any, translate: Any, opened: contextlib.ExitStack) -> None:
        super().__init__(response, translate)
        self._opened = opened

    def close(self) -> None:
        """Ends the connection, unless the answer was read to its end."""
        super().close()
        self._opened.close()


class AsyncCohereChunks(AsyncChunks):
    """The async twin of `CohereChunks`."""

    def __init__(self, response: Any, translate: Any, opened: contextlib.AsyncExitStack) -> None:
        super().__init__(response, translate)
        self._opened = opened

    async def aclose(self) -> None:
        """Ends the connection, unless the answer was read to its end."""
        await super().aclose()
        await self._opened.aclose()


def _sender(client: Any) -> Any:
    """The SDK's own way to send a request, below its types, which cost more than all the rest of a call.

    None where the typed method has to be called: the client is the caller's, that of another cloud, or an SDK that is
    not known.
    """
    sender = getattr(getattr(client, "_client_wrapper", None), "httpx_client", None)
    known = type(client).__module__ == CLIENT and type(sender).__module__ == SENDER
    return sender if known and is_ours(getattr(sender, "httpx_client", None)) else None


def _request(conversion: Conversion, *, stream: bool) -> dict[str, Any]:
    """What the SDK's typed methods hand on."""
    body = _arguments(conversion)
    options = body.pop("request_options")
    headers = {"content-type": "application/json"}
    body = {**body, "stream": stream}
    return {"path": PATH, "method": "POST", "json": body, "headers": headers, "request_options": options}


def _check(response: Any) -> None:
    """Raises where an answer stands for an error, as the SDK tells it too."""
    if response.status_code >= ERROR:
        facts = read_error_body(response.text, response.status_code, dict(response.headers), now=time.time())
        raise provider_error(**facts)


def untyped(watched: Watched) -> Any:
    """Returns an answer of success that only the SDK's types refuse; None where there is none, or not all of it.

    Raises:
        MalformedResponseError: If it is no JSON object.
    """
    response = watched.response
    if response is None or response.status_code >= 400:
        return None
    try:
        content = response.content
    except Exception:  # noqa: BLE001  # it broke off: what the SDK raised says so
        return None
    return read_body(content, response)


def _to_tokenize(conversion: Conversion) -> Iterator[dict[str, Any]]:
    """The keyword arguments of the calls that a count takes."""
    given = _arguments(conversion)
    text = given.pop("text")
    for at in range(0, len(text), LONGEST_TEXT):
        yield {**given, "text": text[at : at + LONGEST_TEXT]}


def _tokens_of(body: Any) -> list[Any]:
    """The tokens of one answer.

    Raises:
        MalformedResponseError: If it lists none.
    """
    if not isinstance(tokens := body.get("tokens"), list):
        raise MalformedResponseError("the answer to a count of tokens holds no list of them", status=200)
    return tokens


def _arguments(conversion: Conversion) -> dict[str, Any]:
    options = {"max_retries": 0, **(conversion.payload.get("request_options") or {})}
    if conversion.headers:
        options["additional_headers"] = {**conversion.headers, **options.get("additional_headers", {})}
    return {**conversion.payload, "request_options": options}
