"""Google's Gemini by the `google-genai` SDK.

The SDK's public methods check each message against its types, and give typed objects that lack every field those do
not know. So a request goes by the methods below them, where the SDK has them with the known signature: a whole answer
as its body, a stream as the bytes of its response, or as bodies where the HTTP client is the caller's.
Docs: ai.google.dev/api/generate-content, github.com/googleapis/python-genai
"""

from __future__ import annotations

import inspect
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

import msgspec

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Body
from llmneutral.drivers.http_answers import AsyncChunks, Chunks, cut_off, is_event_stream, read_body, request_id_of
from llmneutral.drivers.sdk_calls import Answered, SdkPromptDriver, Watched, is_ours
from llmneutral.errors import ErrorFacts, MalformedResponseError, NotFoundError, provider_error, read_error_body

OFFICIAL = "https://generativelanguage.googleapis.com"
API_VERSION = "v1beta"
"""Unless the address ends in another; the SDK's own default, v1, has no thinking and no tools of Google's."""
RAW_REQUEST = ("http_method", "path", "request_dict", "http_options")
RAW_STREAM = ("http_request", "http_options", "stream")
_VERSION = re.compile(r"/(v\d+(?:alpha|beta)?\d*)/?$")
_END = object()


class GooglePromptDriver(SdkPromptDriver):
    """The `google-genai` SDK as the wire of a driver, with the Gemini Developer API.

    For Vertex give `client=` (and `async_client=client.aio`) of `google.genai.Client(vertexai=True, …)`.
    """

    sdk = "google.genai"
    package = "google-genai"
    extra = "google"
    address_variable = "GOOGLE_GEMINI_BASE_URL"
    key_variable: str | None = "GEMINI_API_KEY"

    def __init__(self, model: str | None = None, **options: Any) -> None:
        at_home = options if options.get("base_url") or options.get("provider") else {**options, "provider": "gemini"}
        super().__init__(model, **{"api_mode": "gemini_native", **at_home})

    def client_base_url(self) -> str | None:
        """The address; a version at its end is the API's version."""
        return super().client_base_url() or OFFICIAL

    def sdk_client(self, module: Any, key: str, address: str | None, http: Any, *, asynchronous: bool) -> Any:
        """Returns the SDK's client; key and platform are said, because variables of the environment count else."""
        found = _VERSION.search(address or "")
        options: dict[str, Any] = {
            "base_url": _VERSION.sub("", address or OFFICIAL),
            "api_version": found[1] if found else API_VERSION,
            "retry_options": None,
            "httpx_async_client" if asynchronous else "httpx_client": http,
        }
        made = module.Client(api_key=key, vertexai=False, http_options=module.types.HttpOptions(**options))
        return made.aio if asynchronous else made

    def ask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """Calls the SDK for a whole answer; its typed method costs fifty times as much in a long conversation."""
        if (request := _raw_request(client, "request")) is not None:
            return _read(request("post", _path(conversion), conversion.to_json(), _http_options(conversion)))
        return _body(client.models.generate_content(**_arguments(conversion, whole=True)))

    async def aask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """The async twin of `ask`."""
        if (request := _raw_request(client, "async_request")) is not None:
            return _read(await request("post", _path(conversion), conversion.to_json(), _http_options(conversion)))
        return _body(await client.models.generate_content(**_arguments(conversion, whole=True)))

    def begin(self, client: Any, conversion: Conversion, watched: Watched) -> Iterator[Any]:
        """Calls the SDK for a stream: reads the bytes of its response, where the HTTP client is ours.

        Else waits for the first chunk, because the SDK asks for nothing before.
        """
        if (request := _raw_stream(client, "_request")) is not None:
            answer = request(_built(client, conversion), _http_options(conversion), stream=True)
            return Chunks(answer.response_stream, self.translated)
        request = _raw_request(client, "request_streamed")
        if request is None:
            stream = client.models.generate_content_stream(**_arguments(conversion, whole=False))
        else:
            stream = request("post", _path(conversion), conversion.to_json(), _http_options(conversion))
        try:
            first = next(stream, _END)
        except Exception as error:
            if watched.response is not None:
                watched.response.close()
            if not is_cut_off(error):
                raise
            first = _END
        _check_kind(first, watched)
        return GoogleChunks(self, stream, first, watched)

    async def abegin(self, client: Any, conversion: Conversion, watched: Watched) -> AsyncIterator[Any]:
        """The async twin of `begin`."""
        if (request := _raw_stream(client, "_async_request")) is not None:
            answer = await request(_built(client, conversion), _http_options(conversion), stream=True)
            return AsyncChunks(answer.response_stream, self.translated)
        request = _raw_request(client, "async_request_streamed")
        if request is None:
            stream = await client.models.generate_content_stream(**_arguments(conversion, whole=False))
        else:
            stream = await request("post", _path(conversion), conversion.to_json(), _http_options(conversion))
        try:
            first = await anext(stream, _END)
        except Exception as error:
            if watched.response is not None:
                await watched.response.aclose()
            if not is_cut_off(error):
                raise
            first = _END
        _check_kind(first, watched)
        return AsyncGoogleChunks(self, stream, first, watched)

    def count(self, client: Any, conversion: Conversion) -> Any:
        """Calls the SDK for a count: with instructions and tools only Vertex' method takes, else the one below it."""
        if (request := _raw_request(client, "request")) is not None:
            return _read(request("post", _path(conversion), _to_count(conversion), _http_options(conversion)))
        return _typed(client.models.count_tokens(**_count_arguments(client, conversion)))

    async def acount(self, client: Any, conversion: Conversion) -> Any:
        """The async twin of `count`."""
        if (request := _raw_request(client, "async_request")) is not None:
            return _read(await request("post", _path(conversion), _to_count(conversion), _http_options(conversion)))
        return _typed(await client.models.count_tokens(**_count_arguments(client, conversion)))

    def told(self, error: Exception) -> ErrorFacts | None:
        """Returns what an APIError says: its details are the body of the answer."""
        details, code = getattr(error, "details", None), getattr(error, "code", None)
        if type(error).__name__ == "UnknownApiResponseError":  # no JSON
            return read_error_body(str(error), 200)
        if details is None or not isinstance(code, int):
            return None
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        return read_error_body(details, code, dict(headers), now=time.time())


class _Reading:
    """What both kinds of chunk iterators share."""

    def __init__(self, driver: GooglePromptDriver, stream: Any, first: Any, watched: Watched) -> None:
        self._driver = driver
        self._stream = stream
        self._first = first
        self._response = watched.response
        self.headers = {} if watched.response is None else watched.response.headers
        self.request_id = request_id_of(self.headers)

    def failure(self, error: Exception) -> Exception | None:
        """Returns an error of the SDK's as the taxonomy has it; None where the stream is over, in the middle of it."""
        if is_cut_off(error):
            return None
        if isinstance(error, TypeError):  # the SDK compares the code of an error in the stream, which may have none
            return provider_error("server_error", "the stream holds an error without a code")
        return self._driver.translated(error) or error


class GoogleChunks(_Reading):
    """The chunks of a stream, one after another."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        found, self._first = self._first, None
        failure = None
        if found is None:
            try:
                found = next(self._stream, _END)
            except Exception as error:  # noqa: BLE001  # raised below, without the SDK's words behind it
                failure, found = self.failure(error), _END
        if failure is not None:
            raise failure
        if found is _END:
            raise StopIteration
        return _chunk(found)

    def close(self) -> None:
        """Ends the connection, unless the answer was read to its end."""
        self._stream.close()
        if self._response is not None:
            self._response.close()

    def abort(self) -> None:
        """Wakes a thread that waits for the next one; for another thread than the one that reads."""
        if self._response is not None:
            cut_off(self._response)


class AsyncGoogleChunks(_Reading):
    """The async twin of `GoogleChunks`."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        found, self._first = self._first, None
        failure = None
        if found is None:
            try:
                found = await anext(self._stream, _END)
            except Exception as error:  # noqa: BLE001
                failure, found = self.failure(error), _END
        if failure is not None:
            raise failure
        if found is _END:
            raise StopAsyncIteration
        return _chunk(found)

    async def aclose(self) -> None:
        """Ends the connection, unless the answer was read to its end."""
        await self._stream.aclose()
        if self._response is not None:
            await self._response.aclose()

    def abort(self) -> None:
        """Wakes a task that waits for the next one; from any thread."""
        if self._response is not None:
            cut_off(self._response)


def is_cut_off(error: Exception) -> bool:
    """Tells whether the SDK found no JSON because the stream ended inside of it."""
    cause = error.__cause__ or error.__context__
    if type(error).__name__ != "UnknownApiResponseError" or not isinstance(cause, json.JSONDecodeError):
        return False
    at_end = cause.pos >= len(cause.doc.rstrip()) or cause.msg.startswith("Unterminated string")
    return at_end and cause.doc.startswith("{")


def _check_kind(first: Any, watched: Watched) -> None:
    """Raises where nothing came because the answer is no stream: the SDK reads a page as an empty one."""
    if first is _END and watched.response is not None and not is_event_stream(watched.response.headers):
        kind = watched.response.headers.get("content-type")
        what = f"the answer is not what the API sends ({kind})"
        raise MalformedResponseError(what, status=200, request_id=request_id_of(watched.response.headers))


def _raw_request(client: Any, name: str) -> Any:
    """The request method that gives chunks as they came, if it is the known one; Vertex has other paths."""
    api = getattr(client, "_api_client", None)
    method = getattr(api, name, None)
    if method is None or getattr(api, "vertexai", False):
        return None
    return method if _parameters(method) == RAW_REQUEST else None


def _parameters(method: Any) -> tuple[str, ...]:
    return _signature(getattr(method, "__func__", None))[1:]


@cache
def _signature(function: Any) -> tuple[str, ...]:
    return () if function is None else tuple(inspect.signature(function).parameters)


def _raw_stream(client: Any, name: str) -> Any:
    """The method that gives the HTTP response of a stream, if the known ones are there and the HTTP client is ours."""
    api = getattr(client, "_api_client", None)
    methods = {"_build_request": RAW_REQUEST, name: RAW_STREAM}
    http = getattr(api, "_async_httpx_client" if name == "_async_request" else "_httpx_client", None)
    if getattr(api, "vertexai", False) or not is_ours(http):
        return None
    known = [_parameters(getattr(api, each, None)) == wanted for each, wanted in methods.items()]
    return getattr(api, name) if all(known) else None


def _built(client: Any, conversion: Conversion) -> Any:
    wire = conversion.to_json()
    return client._api_client._build_request("post", _path(conversion), wire, _http_options(conversion))


def _path(conversion: Conversion) -> str:
    """The path behind the version, which the SDK writes itself."""
    return conversion.endpoint[1].lstrip("/").partition("/")[2]


def _http_options(conversion: Conversion) -> dict[str, Any] | None:
    return {"headers": conversion.headers} if conversion.headers else None


def _arguments(conversion: Conversion, *, whole: bool) -> dict[str, Any]:
    """The keyword arguments: the SDK calls no function and asks no second time by itself."""
    config = {
        **(conversion.payload.get("config") or {}),
        "automatic_function_calling": {"disable": True},
        "automatic_continuation": False,
    }
    if whole:
        config["should_return_http_response"] = True
    if conversion.headers:
        config["http_options"] = {**(config.get("http_options") or {}), "headers": conversion.headers}
    return {**conversion.payload, "config": config}


def _to_count(conversion: Conversion) -> dict[str, Any]:
    """The body of a count (ai.google.dev/api/tokens): the whole request, which names its model once more."""
    model = _path(conversion).partition(":")[0]
    return {"generateContentRequest": {"model": model, **conversion.to_json()}}


def _count_arguments(client: Any, conversion: Conversion) -> dict[str, Any]:
    """The keyword arguments of the SDK's own method, for Vertex.

    Raises:
        NotFoundError: If that method does not take this request: the Developer API's knows contents alone.
    """
    payload = conversion.payload
    config = {key: payload.get("config", {}).get(key) for key in ("system_instruction", "tools")}
    config = {key: value for key, value in config.items() if value}
    if config and not getattr(getattr(client, "_api_client", None), "vertexai", False):
        raise NotFoundError("google-genai counts neither instructions nor tools with this client")
    if conversion.headers:
        config["http_options"] = {"headers": conversion.headers}
    return {"model": payload.get("model"), "contents": payload.get("contents"), "config": config}


def _typed(answer: Any) -> Any:
    return Body(answer.model_dump(mode="json", by_alias=True, exclude_none=True))


def _body(answer: Any) -> Any:
    return _read(answer.sdk_http_response)


def _read(response: Any) -> Any:
    return read_body((response.body or "").encode(), Answered(response.headers))


def _chunk(found: Any) -> Any:
    """A chunk as it came; of a typed object what its type knows."""
    body = getattr(found, "body", None)
    if not isinstance(body, str):
        return found.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(value := msgspec.json.decode(body), dict):
        raise MalformedResponseError(f"a chunk of the stream is no JSON object: {body[:200]}")
    return value
