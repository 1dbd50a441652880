"""What an HTTP provider answers: a body, or chunks of a stream, or something else that is then said plainly.

A whole answer is decoded here, and a stream is read as raw bytes by our own SSE split; the SDK's typed models are
skipped. Nothing is known here of clients; the errors of the HTTP library are translated by a function that is given.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec

from llmneutral.convert.sse import ServerSentEvent, SSEDecoder
from llmneutral.drivers.call import Body
from llmneutral.errors import MalformedResponseError, ProviderError, provider_error, read_error_body
from llmneutral.ir.jsontext import loads

SSE_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")
REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-goog-request-id", "cf-ray")
"""Headers that hold what a provider's support asks for, the best first."""
Translate = Callable[[Exception], Exception | None]


class _Reading:
    """What both kinds of chunk iterators share: bytes → SSE events → chunks.

    Attributes:
        request_id: What the provider called the request.
        headers: Headers of the answer.
        is_encoded: Whether the bytes are compressed.
    """

    def __init__(self, response: Any, translate: Translate) -> None:
        self.response = response
        self.translate = translate
        self.headers: Mapping[str, str] = response.headers
        self.request_id = request_id_of(response.headers)
        self._decoder = SSEDecoder()
        self._ready: list[Any] = []
        self._over = False
        self._whole: bytearray | None = None if is_event_stream(response.headers) else bytearray()
        self.is_encoded = "content-encoding" in response.headers

    def take(self, piece: bytes) -> None:
        """Takes the next bytes; what they complete is ready, the last chunk first."""
        if self._whole is not None:
            self._whole += piece
            if not self._whole.lstrip().startswith(SSE_BEGINNINGS):
                return
            piece, self._whole = bytes(self._whole), None  # a stream under a wrong name
        self._ready = chunks_of(self._decoder.feed(piece), self.headers)
        self._ready.reverse()

    def end(self) -> None:
        """The bytes are over."""
        self._over = True
        if self._whole is not None:  # the server does not stream: the whole at once
            self._ready = [whole_of(bytes(self._whole), self.response)]
        else:
            # A last event without its blank line counts; one that is cut inside its JSON is the end of a lost stream.
            whole = [last for last in self._decoder.flush() if is_whole(last[1])]
            self._ready = chunks_of(whole, self.headers)
            self._ready.reverse()

    def failure(self, error: Exception) -> Exception:
        """Returns an error of the HTTP library as the taxonomy has it."""
        return self.translate(error) or error


class Chunks(_Reading):
    """The chunks of a stream, one after another."""

    def __init__(self, response: Any, translate: Translate) -> None:
        super().__init__(response, translate)
        self._pieces = response.iter_bytes() if self.is_encoded else response.iter_raw()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while not self._ready:
            if self._over:
                raise StopIteration
            failure = None
            try:
                piece = next(self._pieces, None)
            except Exception as error:  # noqa: BLE001  # raised below, without the HTTP library's words behind it
                failure = self.failure(error)
            if failure is not None:
                raise failure
            self.end() if piece is None else self.take(piece)
        return self._ready.pop()

    def close(self) -> None:
        """Ends the connection, unless the answer was read to its end."""
        self.response.close()

    def abort(self) -> None:
        """Wakes a thread that waits for the next bytes; for another thread than the one that reads."""
        cut_off(self.response)


class AsyncChunks(_Reading):
    """The async twin of `Chunks`."""

    def __init__(self, response: Any, translate: Translate) -> None:
        super().__init__(response, translate)
        self._pieces = response.aiter_bytes() if self.is_encoded else response.aiter_raw()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            failure = None
            try:
                piece = await anext(self._pieces, None)
            except Exception as error:  # noqa: BLE001
                failure = self.failure(error)
            if failure is not None:
                raise failure
            self.end() if piece is None else self.take(piece)
        return self._ready.pop()

    async def aclose(self) -> None:
        """Ends the connection, unless the answer was read to its end."""
        await self.response.aclose()

    def abort(self) -> None:
        """Wakes a task that waits for the next bytes; from any thread."""
        cut_off(self.response)


class _SdkReading:
    """The dicts of an SDK's own stream: for clients that read no plain bytes (Bedrock's, Vertex's)."""

    def __init__(self, stream: Any, translate: Translate) -> None:
        self.stream = stream
        self.translate = translate
        self.headers: Mapping[str, str] = stream.response.headers
        self.request_id = request_id_of(self.headers)


class SdkChunks(_SdkReading):
    """The dicts of an SDK's own stream, one after another."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self.stream)
        except StopIteration:
            raise
        except Exception as error:  # noqa: BLE001  # raised below, without the SDK's words behind it
            failure = self.translate(error) or error
        raise failure

    def close(self) -> None:
        """Ends the connection."""
        self.stream.close()

    def abort(self) -> None:
        """Wakes a thread that waits for the next one; for another thread than the one that reads."""
        cut_off(self.stream.response)


class AsyncSdkChunks(_SdkReading):
    """The async twin of `SdkChunks`."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self.stream)
        except StopAsyncIteration:
            raise
        except Exception as error:  # noqa: BLE001
            failure = self.translate(error) or error
        raise failure

    async def aclose(self) -> None:
        """Ends the connection."""
        await self.stream.close()

    def abort(self) -> None:
        """Wakes a task that waits for the next one; from any thread."""
        cut_off(self.stream.response)


def cut_off(response: Any) -> None:
    """Ends the connection of an answer under the thread or task that reads it, which wakes and closes it."""
    if response.is_closed:
        return  # its connection may serve another request by now
    stream = response.extensions.get("network_stream")
    found = None if stream is None else stream.get_extra_info("socket")
    if found is not None:
        # By a second handle: that of TLS would forget its state meanwhile, and that of an event loop may refuse.
        with (
            contextlib.suppress(OSError, ValueError),  # it is gone already
            socket.fromfd(found.fileno(), found.family, found.type) as same,
        ):
            same.shutdown(socket.SHUT_RDWR)


# --- bytes → values -----------------------------------------------------------------------------


def chunks_of(events: list[ServerSentEvent], headers: Mapping[str, str]) -> list[Any]:
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
            chunk = _NOTHING
        if chunk is _NOTHING:  # outside of `except`: a decoder's error holds the data, which may hold the key
            chunk = _odd(data, headers)
        if name == "error" and isinstance(chunk, dict) and "error" not in chunk and chunk.get("type") != "error":
            chunk = {"error": chunk}
        if chunk is not None:
            found.append(chunk)
    return found


def _odd(data: bytes, headers: Mapping[str, str]) -> Any:
    """Data that the fast decoder refuses: the sentinel, nothing, JSON with lone surrogates, or no JSON."""
    text = data.strip()
    if text == b"[DONE]":
        return "[DONE]"
    if not text:
        return None
    if (value := _loaded(data)) is not _NOTHING:
        return value
    begin = text[:200].decode("utf-8", "replace")
    raise MalformedResponseError(f"a line of the stream is no JSON: {begin}", request_id=request_id_of(headers))


def is_whole(data: bytes) -> bool:
    """Tells whether the data of an event are all there: JSON, the sentinel, or nothing."""
    return data.strip() in (b"", b"[DONE]") or _loaded(data) is not _NOTHING


_NOTHING = object()


def _loaded(data: bytes) -> Any:
    try:
        return loads(data)
    except ValueError:
        return _NOTHING


def read_body(content: bytes, response: Any) -> Body:
    """Returns the body of a whole answer.

    Raises:
        MalformedResponseError: If it is no JSON object (a page of HTML, nothing at all).
    """
    value = _loaded(content)
    if not isinstance(value, dict):
        raise _malformed(content, response)
    body = Body(value)
    body.request_id, body.headers = request_id_of(response.headers), response.headers
    return body


def whole_of(content: bytes, response: Any) -> Body:
    """Returns the body of an answer that was to be a stream and is none.

    Raises:
        ProviderError: If it is an error, or nothing the API sends.
    """
    body = read_body(content, response)
    if body.get("error"):
        raise error_in(body, response)
    return body


def error_in(body: Any, response: Any) -> ProviderError:
    """Returns the error that a body with a status of success holds."""
    return provider_error(**{**read_error_body(body, None, dict(response.headers)), "status": response.status_code})


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Returns what the provider called the request."""
    found = [headers[name] for name in REQUEST_IDS if headers.get(name)]
    return found[0] if found else None


def is_event_stream(headers: Mapping[str, str]) -> bool:
    """Tells whether an answer says that it is a stream; one that says nothing is taken for one."""
    kind = headers.get("content-type", "").lower()
    return not kind or kind.startswith(("text/event-stream", "application/vnd.", "application/octet-stream"))


def _malformed(content: bytes, response: Any) -> MalformedResponseError:
    begin = " ".join(content[:200].decode("utf-8", "replace").split())
    kind = response.headers.get("content-type", "no content type")
    what = f"the answer is not what the API sends ({kind}): {begin or 'nothing'}"
    return MalformedResponseError(what, status=response.status_code, request_id=request_id_of(response.headers))
