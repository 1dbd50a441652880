"""Drivers on the two SDKs that share one HTTP core (openai, anthropic): JSON bytes in, dicts out.

The SDK's client keeps authentication, the connection pool and its errors for HTTP statuses; its typed
models are skipped: a request is JSON bytes made once, and answers are read by `http_answers`. The SDK's retries are
off: the driver's loop is the only one. Clients of the caller's that are of another class than the SDK's plain one
(Azure's, Bedrock's, Vertex's, which rewrite the body) are given the dict, and read by the SDK's own stream.
Sources: github.com/openai/openai-python, github.com/anthropics/anthropic-sdk-python (`_base_client.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.http_answers import AsyncChunks, AsyncSdkChunks, Chunks, SdkChunks, read_body
from llmneutral.drivers.importing import sdk
from llmneutral.drivers.keys import address_of
from llmneutral.drivers.options import above_zero
from llmneutral.errors import LLMNeutralError, exception_type, provider_error, read_error_body
from llmneutral.profiles import profile

CONNECT, READ, IDLE = 10.0, 600.0, 120.0
"""Seconds: to connect, to wait for an answer, and between the pieces of a stream where nothing is being thought."""
JSON_HEADERS = {"Content-Type": "application/json"}
KEY_HEADERS = {"x-api-key": "X-Api-Key", "both": "X-Api-Key", "api-key": "api-key"}
"""By the fact `auth_header`: where the key goes beside the bearer token, or (but for `both`) in its place."""
SECRET_HEADERS = re.compile(r"auth|key|token|secret|cookie|credential", re.IGNORECASE)
Headers = dict[str, Any]


class HttpPromptDriver(BasePromptDriver):
    """A driver on an SDK with the shared HTTP core; a subclass names the SDK and its clients.

    Args:
        headers: Headers of every request.
        idle_timeout: Seconds a stream may be silent between two pieces.
        **options: As for `BasePromptDriver`.
    """

    sdk: str
    client_name: str
    async_client_name: str
    address_variable: str
    needs_model = True

    def __init__(
        self, *args: Any, headers: Mapping[str, str] | None = None, idle_timeout: float = IDLE, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.idle_timeout = above_zero("idle_timeout", idle_timeout)
        self._headers = dict(headers or {})
        self._lock = threading.Lock()
        self._clients: dict[Any, Any] = {}
        # A driver that nobody holds any more leaves no connection behind; not every SDK's client sees to that itself.
        self._end = weakref.finalize(self, _close_all, self._clients)
        self._async_clients: weakref.WeakKeyDictionary[Any, dict[Any, _Kept]] = weakref.WeakKeyDictionary()

    # --- clients --------------------------------------------------------------------------------

    def access(self) -> tuple[str, str | None]:
        """Returns the key and the address of this moment; None leaves the address to the SDK, whose vendor is asked."""
        return self.api_key.read() or "none", self.client_base_url()

    def client_base_url(self) -> str | None:
        """Returns the address as the SDK wants it; the SDK's own variable counts where its vendor is asked."""
        return (
            self.base_url or address_of(self.provider, self.api_mode) or os.environ.get(self.address_variable) or None
        )

    def client_headers(self) -> Headers:
        """Returns headers of every request."""
        return self._headers

    def key_headers(self, asked: Any) -> Headers:
        """Returns the headers that carry the key where a bearer token, the SDK's own way, is not what is wanted."""
        if asked in (self._client, self._async_client):
            return {}  # the caller's client knows how its key is sent
        key, way = self.api_key.read(), self.auth_header()
        headers: Headers = {KEY_HEADERS[way]: key} if key and way in KEY_HEADERS else {}
        if way == "none" or (headers and way != "both"):
            headers["Authorization"] = sdk(self.sdk).Omit()
        return headers

    def secrets(self) -> tuple[str, ...]:
        """Returns the keys, also those that stand in headers of the caller's."""
        return (*super().secrets(), *[text for name, text in self._headers.items() if SECRET_HEADERS.search(name)])

    def auth_header(self) -> str:
        """Returns how the key is sent (see the fact of this name) to the address that is really asked."""
        return profile(self.api_mode, self.provider, self.client_base_url(), self.model, self.facts).auth_header

    def http_client(self, module: Any, asynchronous: bool) -> Any:
        """Returns the HTTP client to use, or None for the SDK's own."""
        del module, asynchronous
        return None

    def client(self) -> Any:
        """Returns the SDK's client: made at the first call, once per key and address."""
        if self._client is not None:
            return self._client
        access = self.access()
        with self._lock:
            if access not in self._clients:
                self._clients[access] = self._made(access, asynchronous=False)
            return self._clients[access]

    async def ready_async_client(self) -> Any:
        """Returns the SDK's async client of the running event loop; it is closed when the loop is shut down."""
        if self._async_client is not None:
            return self._async_client
        access, loop = self.access(), asyncio.get_running_loop()
        with self._lock:
            here = self._async_clients.setdefault(loop, {})
            if (kept := here.get(access)) is None:
                made = self._made(access, asynchronous=True)
                kept = here[access] = _Kept(made, lambda: self._async_clients.pop(loop, None))
        await kept.begin()
        return kept.client

    def _made(self, access: tuple[str, str | None], *, asynchronous: bool) -> Any:
        module = sdk(self.sdk)
        options: dict[str, Any] = {"api_key": access[0], "base_url": access[1], "max_retries": 0}
        if headers := self.client_headers():
            options["default_headers"] = headers
        if (http_client := self.http_client(module, asynchronous)) is not None:
            options["http_client"] = http_client
        return getattr(module, self.async_client_name if asynchronous else self.client_name)(**options)

    def close(self) -> None:
        """Closes the clients this driver made for sync calls."""
        with self._lock:
            clients = list(self._clients.values())
            self._clients.clear()
        for client in clients:
            client.close()

    async def aclose(self) -> None:
        """Closes the clients this driver made for sync calls and in the running event loop."""
        self.close()
        for kept in list(self._async_clients.pop(asyncio.get_running_loop(), {}).values()):
            await kept.end()

    # --- requests -------------------------------------------------------------------------------

    def send(self, conversion: Conversion) -> Any:
        """Sends a request and returns the answer's body."""
        failure = None
        try:
            client = self.client()
            response = client.post(conversion.endpoint[1], **self._arguments(client, conversion, _response_class()))
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        if failure is not None:  # outside of `except`: what the SDK says may hold the key
            raise failure
        return read_body(response.content, response)

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`."""
        failure = None
        try:
            client = await self.ready_async_client()
            arguments = self._arguments(client, conversion, _response_class())
            response = await client.post(conversion.endpoint[1], **arguments)
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        if failure is not None:
            raise failure
        return read_body(response.content, response)

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Sends a request and returns the chunks of its stream."""
        failure = None
        try:
            client = self.client()
            opened = client.post(conversion.endpoint[1], **self._streaming(client, conversion, "Stream"))
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        if failure is not None:
            raise failure
        if not self.is_plain(client):
            return SdkChunks(opened, self.translated)
        self._limit_silence(opened, conversion)
        return Chunks(opened, self.translated)

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`."""
        failure = None
        try:
            client = await self.ready_async_client()
            opened = await client.post(conversion.endpoint[1], **self._streaming(client, conversion, "AsyncStream"))
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        if failure is not None:
            raise failure
        if not self.is_plain(client):
            return AsyncSdkChunks(opened, self.translated)
        self._limit_silence(opened, conversion)
        return AsyncChunks(opened, self.translated)

    def is_plain(self, client: Any) -> bool:
        """Tells whether a client sends the bytes it is given to where it is told."""
        return type(client).__name__ in (self.client_name, self.async_client_name)

    def _streaming(self, client: Any, conversion: Conversion, stream_name: str) -> dict[str, Any]:
        if self.is_plain(client):
            return {**self._arguments(client, conversion, _response_class()), "stream": True}
        stream_cls = getattr(sdk(self.sdk), stream_name)[object]
        return {**self._arguments(client, conversion, object), "stream": True, "stream_cls": stream_cls}

    def _arguments(self, client: Any, conversion: Conversion, cast_to: Any) -> dict[str, Any]:
        from httpx2 import Timeout

        read = READ if self.timeout is None else min(self.timeout, READ)
        timeout = Timeout(read, connect=min(CONNECT, read))
        headers = {**JSON_HEADERS, **self.key_headers(client), **conversion.headers}
        options = {"headers": headers, "timeout": timeout, "max_retries": 0}
        body = conversion.to_json()
        content = {"content": msgspec.json.encode(body)} if self.is_plain(client) else {"body": body}
        return {"cast_to": cast_to, "options": options, **content}

    def _limit_silence(self, response: Any, conversion: Conversion) -> None:
        """From the first byte on a stream may be silent for a shorter time, but for a model that thinks in silence.

        The HTTP library reads the limit when the body is begun, so that it may be set as late as here.
        """
        limits = response.request.extensions.get("timeout")
        if limits is not None and limits.get("read") is not None and not thinks(conversion):
            limits["read"] = min(limits["read"], self.idle_timeout)

    # --- errors ---------------------------------------------------------------------------------

    def translated(self, error: Exception) -> Exception | None:
        """Returns an SDK's or HTTP error as the taxonomy has it; None for ours, and for a bug."""
        if isinstance(error, LLMNeutralError):
            return None
        response, status = getattr(error, "response", None), getattr(error, "status_code", None)
        if response is not None and status is not None:
            # An error in the SDK's own stream has the status of the stream, and what went wrong in its body.
            body = _text_of(response) if status >= 400 else getattr(error, "body", None)
            return provider_error(**read_error_body(body, status, dict(response.headers), now=time.time()))
        if (body := getattr(error, "body", None)) is not None:
            return provider_error(**read_error_body(body))
        kind = exception_type(error)
        if kind == "connection_error" and error.__cause__ and exception_type(error.__cause__) == "malformed_response":
            kind = "malformed_response"  # bytes that cannot be unpacked are no lost connection, though the SDK says so
        return None if kind is None else provider_error(kind, message=error_text(error), raw_type=type(error).__name__)


class _Kept:
    """An async client for as long as its event loop: shutting the loop down (as `asyncio.run` does) closes it.

    An async generator is what a loop knows to close at its end, so one holds the client.
    """

    def __init__(self, client: Any, ended: Callable[[], object]) -> None:
        self.client = client
        self._ended = ended
        self._holding: Any = None

    async def begin(self) -> None:
        if self._holding is None:
            self._holding = self._hold()
            await anext(self._holding)

    async def end(self) -> None:
        if self._holding is not None:
            await self._holding.aclose()

    async def _hold(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._ended()
            await self.client.close()


def _close_all(clients: dict[Any, Any]) -> None:
    for client in list(clients.values()):
        with contextlib.suppress(Exception):
            client.close()
    clients.clear()


def thinks(conversion: Conversion) -> bool:
    """Tells whether a model may think for long without sending a piece."""
    settings = conversion.target.settings
    asked = settings.get("thinking_budget") is not None or settings.get("reasoning_effort") not in (None, "none")
    return asked or conversion.target.facts.thinks_by_default


def _text_of(response: Any) -> str:
    try:
        return str(response.text)
    except Exception:  # noqa: BLE001  # an error answer that was never read has no text
        return ""


def error_text(error: Exception) -> str:
    """An error in words, with what is behind it: the SDKs say no more than "Connection error."."""
    said, cause = str(error) or type(error).__name__, error.__cause__
    if cause is None or str(cause) == said:
        return said
    behind = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    return f"{said.removesuffix('.')} ({behind})"


def _response_class() -> Any:
    from httpx2 import Response

    return Response
