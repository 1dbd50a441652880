"""Drivers on the two SDKs that share one HTTP core (openai, anthropic): JSON bytes in, dicts out.

The SDK's client keeps authentication, the connection pool and its errors for HTTP statuses; its typed
models are skipped: a request is JSON bytes made once, a whole answer is decoded here, and a stream is
read as raw bytes by our own SSE split. The SDK's retries are off: the driver's loop is the only one.
Sources: github.com/openai/openai-python, github.com/anthropics/anthropic-sdk-python (`_base_client.py`).
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

from llmneutral.convert.sse import ServerSentEvent, SSEDecoder
from llmneutral.convert.transport import Conversion
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.errors import (
    LLMNeutralError,
    MalformedResponseError,
    exception_type,
    provider_error,
    read_error_body,
)
from llmneutral.ir.jsontext import loads

CONNECT, READ = 10.0, 600.0
JSON_HEADERS = {"Content-Type": "application/json"}


class Body(dict[str, Any]):
    """A whole answer's body, with what the provider called the request."""

    request_id: str | None = None


class HttpPromptDriver(BasePromptDriver):
    """A driver on an SDK with the shared HTTP core; a subclass names the SDK and its clients."""

    sdk: str
    client_name: str
    async_client_name: str

    def __init__(self, *args: Any, headers: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._headers = dict(headers or {})
        self._lock = threading.Lock()
        self._clients: dict[Any, Any] = {}
        self._async_clients: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    # --- clients --------------------------------------------------------------------------------

    def client_options(self) -> dict[str, Any]:
        """Returns the keyword arguments of the SDK's client, with the key of this moment."""
        options: dict[str, Any] = {"api_key": self.key() or "none", "max_retries": 0}
        if (base_url := self.client_base_url()) is not None:
            options["base_url"] = base_url
        if headers := self.client_headers():
            options["default_headers"] = headers
        return options

    def client_base_url(self) -> str | None:
        """Returns the address as the SDK wants it; None leaves it to the SDK."""
        return self.base_url

    def client_headers(self) -> dict[str, str]:
        """Returns headers of every request."""
        return self._headers

    def http_client(self, module: Any, asynchronous: bool) -> Any:
        """Returns the HTTP client to use, or None for the SDK's own."""
        del module, asynchronous
        return None

    def client(self) -> Any:
        """Returns the SDK's client: made at the first call, once per key and address."""
        if self._client is not None:
            return self._client
        options = self.client_options()
        with self._lock:
            return self._made(self._clients, options, self.client_name, asynchronous=False)

    def async_client(self) -> Any:
        """Returns the SDK's async client of the running event loop."""
        if self._async_client is not None:
            return self._async_client
        options = self.client_options()
        with self._lock:
            clients = self._async_clients.setdefault(asyncio.get_running_loop(), {})
            return self._made(clients, options, self.async_client_name, asynchronous=True)

    def _made(self, clients: dict[Any, Any], options: dict[str, Any], name: str, *, asynchronous: bool) -> Any:
        key = (options["api_key"], options.get("base_url"))
        if key not in clients:
            module = import_module(self.sdk)
            if (http_client := self.http_client(module, asynchronous)) is not None:
                options["http_client"] = http_client
            clients[key] = getattr(module, name)(**options)
        return clients[key]

    def close(self) -> None:
        """Closes the clients this driver made."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    # --- requests -------------------------------------------------------------------------------

    def send(self, conversion: Conversion) -> Any:
        """Sends a request and returns the answer's body."""
        client = self.client()
        try:
            response = client.post(conversion.endpoint[1], cast_to=_response_class(), **self._arguments(conversion))
        except Exception as error:
            raise self.translated(error) from error
        return read_body(response.content, response)

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`."""
        client = await self.ready_async_client()
        try:
            response = await client.post(
                conversion.endpoint[1], cast_to=_response_class(), **self._arguments(conversion)
            )
        except Exception as error:
            raise self.translated(error) from error
        return read_body(response.content, response)

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Sends a request and returns the chunks of its stream."""
        client = self.client()
        cls = import_module(self.sdk).Stream
        try:
            stream = client.post(
                conversion.endpoint[1],
                cast_to=object,
                stream=True,
                stream_cls=cls[object],
                **self._arguments(conversion),
            )
        except Exception as error:
            raise self.translated(error) from error
        return Chunks(stream.response, self)

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`."""
        client = await self.ready_async_client()
        cls = import_module(self.sdk).AsyncStream
        try:
            stream = await client.post(
                conversion.endpoint[1],
                cast_to=object,
                stream=True,
                stream_cls=cls[object],
                **self._arguments(conversion),
            )
        except Exception as error:
            raise self.translated(error) from error
        return AsyncChunks(stream.response, self)

    async def ready_async_client(self) -> Any:
        """Returns the async client; a subclass may have to wait for its server."""
        return self.async_client()

    def _arguments(self, conversion: Conversion) -> dict[str, Any]:
        from httpx2 import Timeout

        timeout = (
            Timeout(READ, connect=CONNECT)
            if self.timeout is None
            else Timeout(self.timeout, connect=min(CONNECT, self.timeout))
        )
        options = {"headers": {**JSON_HEADERS, **conversion.headers}, "timeout": timeout, "max_retries": 0}
        return {"content": msgspec.json.encode(conversion.to_json()), "options": options}

    # --- errors ---------------------------------------------------------------------------------

    def translated(self, error: Exception) -> Exception:
        """Returns an SDK's or HTTP error as the taxonomy has it; a bug of ours as it is."""
        if isinstance(error, LLMNeutralError):
            return error
        response = getattr(error, "response", None)
        if response is not None and getattr(error, "status_code", None) is not None:
            facts = read_error_body(_text_of(response), response.status_code, dict(response.headers))
            return provider_error(**_named(facts), hint=self.hint(facts["type"]))
        kind = exception_type(error)
        if kind is None:
            return error
        return provider_error(kind, message=_said(error), raw_type=type(error).__name__, hint=self.hint(kind))

    def hint(self, kind: str) -> str | None:
        """Returns what to do about a kind of failure, or None for the class's own words."""
        if kind == "authentication_error" and self.key_variable:
            return f"Set {self.key_variable} to a valid key."
        return None


class _Reading:
    """What both kinds of chunk iterators share: SSE events → chunks."""

    def __init__(self, response: Any, driver: HttpPromptDriver) -> None:
        self.response = response
        self.driver = driver
        self.request_id = request_id_of(response)
        self._decoder = SSEDecoder()
        self._ready: list[Any] = []
        self._over = False
        kind = response.headers.get("content-type", "")
        self._whole: bytearray | None = bytearray() if kind and not _may_stream(kind) else None

    def take(self, piece: bytes) -> None:
        if self._whole is not None:
            self._whole += piece
        else:
            self._ready = chunks_of(self._decoder.feed(piece))
            self._ready.reverse()

    def end(self) -> None:
        self._over = True
        if self._whole is not None:
            raise _not_a_stream(bytes(self._whole), self.response)
        self._ready = chunks_of(self._decoder.flush())
        self._ready.reverse()


class Chunks(_Reading):
    """The chunks of a stream, one after another."""

    def __init__(self, response: Any, driver: HttpPromptDriver) -> None:
        super().__init__(response, driver)
        self._pieces = response.iter_bytes()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while not self._ready:
            if self._over:
                raise StopIteration
            try:
                piece = next(self._pieces, None)
            except Exception as error:
                raise self.driver.translated(error) from error
            self.end() if piece is None else self.take(piece)
        return self._ready.pop()

    def close(self) -> None:
        """Ends the connection."""
        self.response.close()


class AsyncChunks(_Reading):
    """The async twin of `Chunks`."""

    def __init__(self, response: Any, driver: HttpPromptDriver) -> None:
        super().__init__(response, driver)
        self._pieces = response.aiter_bytes()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            try:
                piece = await anext(self._pieces, None)
            except Exception as error:
                raise self.driver.translated(error) from error
            self.end() if piece is None else self.take(piece)
        return self._ready.pop()

    async def aclose(self) -> None:
        """Ends the connection."""
        await self.response.aclose()


def chunks_of(events: list[ServerSentEvent]) -> list[Any]:
    """Returns the chunks of SSE events: dicts, or the sentinel `"[DONE]"`.

    Raises:
        MalformedResponseError: If one is no JSON, with its beginning.
    """
    decode = msgspec.json.decode
    found: list[Any] = []
    for name, data in events:
        try:
            chunk = decode(data)
        except ValueError:
            chunk = _odd(data)
        if name == "error" and isinstance(chunk, dict) and "error" not in chunk and chunk.get("type") != "error":
            chunk = {"error": chunk}
        if chunk is not None:
            found.append(chunk)
    return found


def _odd(data: bytes) -> Any:
    """Data that the fast decoder refuses: the sentinel, nothing, JSON with lone surrogates, or no JSON."""
    text = data.strip()
    if text == b"[DONE]":
        return "[DONE]"
    if not text:
        return None
    try:
        return loads(data)
    except ValueError:
        begin = text[:200].decode("utf-8", "replace")
        raise MalformedResponseError(f"a line of the stream is no JSON: {begin}") from None


def read_body(content: bytes, response: Any) -> Any:
    """Returns the body of a whole answer.

    Raises:
        MalformedResponseError: If it is no JSON object (a page of HTML, nothing at all).
    """
    try:
        value = loads(content)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise _malformed(content, response)
    body = Body(value)
    body.request_id = request_id_of(response)
    return body


def request_id_of(response: Any) -> str | None:
    """Returns what the provider called the request."""
    headers = response.headers
    found = headers.get("x-request-id") or headers.get("request-id")
    return None if found is None else str(found)


def _may_stream(content_type: str) -> bool:
    return not content_type.lower().startswith(("text/html", "application/json", "text/plain"))


def _not_a_stream(content: bytes, response: Any) -> Exception:
    """The error for an answer that is no stream: what it says of an error, else that it is malformed."""
    try:
        value = loads(content)
    except ValueError:
        return _malformed(content, response)
    if isinstance(value, dict) and value.get("error"):
        return provider_error(**_named(read_error_body(value, None, dict(response.headers))))
    return _malformed(content, response)


def _malformed(content: bytes, response: Any) -> MalformedResponseError:
    begin = " ".join(content[:200].decode("utf-8", "replace").split())
    kind = response.headers.get("content-type", "no content type")
    what = f"the answer is not what the API sends ({kind}): {begin or 'nothing'}"
    return MalformedResponseError(what, status=response.status_code, request_id=request_id_of(response))


def _text_of(response: Any) -> str:
    try:
        return str(response.text)
    except Exception:  # noqa: BLE001  # an error answer that was never read has no text
        return ""


def _named(facts: Any) -> dict[str, Any]:
    return {**facts, "type": facts["type"]}


def _said(error: Exception) -> str:
    cause = error.__cause__
    return (
        f"{error} ({cause})"
        if cause is not None and str(cause) and str(cause) != str(error)
        else str(error) or type(error).__name__
    )


def _response_class() -> Any:
    from httpx2 import Response

    return Response
