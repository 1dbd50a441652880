"""Drivers on SDKs that have ways of their own (google-genai, cohere, mistralai): their methods, our HTTP client.

The SDK makes the request from the payload and keeps authentication; the HTTP client below it is ours, so that
time-outs, headers of answers and the end of a connection are the same as with every other driver. The SDK's retries
are off. A client of the caller's keeps its own time-outs.
"""

from __future__ import annotations

import abc
import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.counting import is_count
from llmneutral.drivers.importing import is_installed, sdk
from llmneutral.drivers.sdk_http import CONNECT, READ, HttpPromptDriver, error_text, thinks
from llmneutral.errors import (
    ConversionError,
    ErrorFacts,
    LLMNeutralError,
    NotFoundError,
    exception_type,
    provider_error,
    read_error_body,
)


class Watched:
    """One request on the wire, seen by the hooks of our HTTP client.

    Attributes:
        read: Seconds to wait for an answer.
        idle: Seconds that the body may be silent, or None for as long as `read`.
        response: The HTTP answer, as soon as its head is here; None with a client of the caller's.
    """

    def __init__(self, read: float, idle: float | None) -> None:
        self.read = read
        self.idle = idle
        self.response: Any = None

    def before(self, request: Any) -> None:
        """Sets the limits of a request."""
        limits = dict.fromkeys(("connect", "read", "write", "pool"), self.read)
        request.extensions["timeout"] = {**limits, "connect": min(CONNECT, self.read)}

    def after(self, response: Any) -> None:
        """Keeps the answer; from here on it may be silent for a shorter time. Its body is not begun yet."""
        self.response = response
        if self.idle is not None:
            limits = response.request.extensions["timeout"]
            limits["read"] = min(limits["read"], self.idle)


_WATCHED: ContextVar[Watched | None] = ContextVar("llmneutral_watched", default=None)


def _before(request: Any) -> None:
    if (watched := _WATCHED.get()) is not None:
        watched.before(request)


def _after(response: Any) -> None:
    if (watched := _WATCHED.get()) is not None:
        watched.after(response)


async def _abefore(request: Any) -> None:
    _before(request)


async def _aafter(response: Any) -> None:
    _after(response)


def is_ours(http: Any) -> bool:
    """Tells whether an HTTP client is one that was made here: `Watched` sees its answers."""
    hooks = getattr(http, "event_hooks", None) or {}
    return not {_before, _abefore}.isdisjoint(hooks.get("request", ()))


class Made:
    """An SDK's client on an HTTP client of ours, which is closed with it."""

    def __init__(self, client: Any, http: Any) -> None:
        self.client = client
        self.http = http

    def close(self) -> None:
        """Closes its connections."""
        self.http.close()


class AsyncMade:
    """The async twin of `Made`."""

    def __init__(self, client: Any, http: Any) -> None:
        self.client = client
        self.http = http

    async def close(self) -> None:
        """Closes its connections."""
        await self.http.aclose()


class SdkPromptDriver(HttpPromptDriver, abc.ABC):
    """A driver on an SDK's own methods; a subclass makes the clients, and calls them.

    Args:
        **options: As for `HttpPromptDriver`.
    """

    http_library: str = "httpx2"
    package: str
    extra: str

    # --- what a subclass fills in ---------------------------------------------------------------

    @abc.abstractmethod
    def sdk_client(self, module: Any, key: str, address: str | None, http: Any, *, asynchronous: bool) -> Any:
        """Returns the SDK's client on an HTTP client."""

    @abc.abstractmethod
    def ask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """Calls the SDK for a whole answer."""

    @abc.abstractmethod
    async def aask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """The async twin of `ask`."""

    @abc.abstractmethod
    def begin(self, client: Any, conversion: Conversion, watched: Watched) -> Iterator[Any]:
        """Calls the SDK for a stream."""

    @abc.abstractmethod
    async def abegin(self, client: Any, conversion: Conversion, watched: Watched) -> AsyncIterator[Any]:
        """The async twin of `begin`."""

    def count(self, client: Any, conversion: Conversion) -> Any:
        """Calls the SDK for a count of tokens (see `counting`), where the provider counts."""
        raise NotFoundError(f"{self.package} counts no tokens")

    async def acount(self, client: Any, conversion: Conversion) -> Any:
        """The async twin of `count`."""
        raise NotFoundError(f"{self.package} counts no tokens")

    # --- clients --------------------------------------------------------------------------------

    def require_key(self) -> None:
        """Raises where there is no key, but first where there is no SDK to use it: that is what to begin with.

        Raises:
            MissingExtraError: If the SDK is not installed.
            ConfigurationError: If a key is needed and there is none.
        """
        if self._client is None and not is_installed(self.sdk):
            sdk(self.sdk, package=self.package, extra=self.extra)
        super().require_key()

    def client_headers(self) -> dict[str, Any]:
        """Returns headers of every request."""
        return {name: str(value) for name, value in self._headers.items()}

    def _made(self, access: tuple[str, str | None], *, asynchronous: bool) -> Any:
        module = sdk(self.sdk, package=self.package, extra=self.extra)
        library = sdk(self.http_library, package=self.package, extra=self.extra)
        hooks: dict[str, Any] = {"request": [_before], "response": [_after]}
        if asynchronous:
            hooks = {"request": [_abefore], "response": [_aafter]}
        kind = library.AsyncClient if asynchronous else library.Client
        http = kind(event_hooks=hooks, follow_redirects=True, headers=self.client_headers())
        client = self.sdk_client(module, *access, http, asynchronous=asynchronous)
        return AsyncMade(client, http) if asynchronous else Made(client, http)

    # --- requests -------------------------------------------------------------------------------

    def send(self, conversion: Conversion) -> Any:
        """Sends a request and returns the answer's body."""
        try:
            with self._watching(conversion, stream=False) as watched:
                if is_count(conversion):
                    return self.count(_inner(self.client()), conversion)
                return self.ask(_inner(self.client()), conversion, watched)
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        raise failure  # outside of `except`: what the SDK says may hold the key

    async def asend(self, conversion: Conversion) -> Any:
        """The async twin of `send`."""
        try:
            with self._watching(conversion, stream=False) as watched:
                if is_count(conversion):
                    return await self.acount(_inner(await self.ready_async_client()), conversion)
                return await self.aask(_inner(await self.ready_async_client()), conversion, watched)
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        raise failure

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Sends a request and returns the chunks of its stream."""
        try:
            with self._watching(conversion, stream=True) as watched:
                return self.begin(_inner(self.client()), conversion, watched)
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        raise failure

    async def aopen(self, conversion: Conversion) -> AsyncIterator[Any]:
        """The async twin of `open`."""
        try:
            with self._watching(conversion, stream=True) as watched:
                return await self.abegin(_inner(await self.ready_async_client()), conversion, watched)
        except Exception as error:
            if (failure := self.translated(error)) is None:
                raise
        raise failure

    @contextlib.contextmanager
    def _watching(self, conversion: Conversion, *, stream: bool) -> Iterator[Watched]:
        read = READ if self.timeout is None else min(self.timeout, READ)
        watched = Watched(read, self.idle_timeout if stream and not thinks(conversion) else None)
        token = _WATCHED.set(watched)
        try:
            yield watched
        finally:
            _WATCHED.reset(token)

    # --- errors ---------------------------------------------------------------------------------

    def told(self, error: Exception) -> ErrorFacts | None:
        """Returns what an error of the SDK's says that stands for an answer; None for any other."""
        status = getattr(error, "status_code", None)
        if status is None:
            return None
        headers = {str(name): str(value) for name, value in dict(getattr(error, "headers", None) or {}).items()}
        return read_error_body(getattr(error, "body", None), status, headers, now=time.time())

    def translated(self, error: Exception) -> Exception | None:
        """Returns an SDK's or HTTP error as the taxonomy has it; None for ours, and for a bug."""
        if isinstance(error, LLMNeutralError):
            return None
        if (facts := self.told(error)) is not None:
            return provider_error(**facts)
        if (why := refusal(error)) is not None:
            return ConversionError(f"{self.package} refuses the request: {why}", rule="sdk", api=self.api_mode)
        kind = exception_type(error)
        return None if kind is None else provider_error(kind, message=error_text(error), raw_type=type(error).__name__)


def refusal(error: Exception) -> str | None:
    """Returns why an SDK refused a request before it sent it, without the values, which are the prompt; else None."""
    name = type(error).__name__
    if name == "ParamValidationError":  # botocore
        return re.sub(r", value: .*?, type: ", ", type: ", " ".join(str(error).split()))
    if name != "ValidationError" or not callable(found := getattr(error, "errors", None)):
        return None
    problems = found(include_url=False, include_context=False, include_input=False)  # pydantic
    return "; ".join([f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems[:4]])


class Answered:
    """The head of an answer of success, where the SDK gives its headers alone."""

    status_code = 200

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = {name.lower(): text for name, text in headers.items()}


def _inner(client: Any) -> Any:
    return client.client if isinstance(client, Made | AsyncMade) else client
