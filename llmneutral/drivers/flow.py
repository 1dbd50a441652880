"""One call, told once: the same script runs in a sync and in an async driver.

`exchange` performs no I/O. It yields what it wants done (`Send`, `Open`, `NEXT`, `Sleep`) and deltas, and
is sent the answers; an exception that the outside met is sent as an answer too. Retry, events,
normalising and interrupts live here and are tested with scripted answers. The two loops in `runners`
are the only places that wait.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import msgspec
import tenacity

from llmneutral.convert.stream import StreamNormalizer
from llmneutral.convert.transport import Conversion
from llmneutral.errors import LLMNeutralError, StreamInterruptedError, provider_error
from llmneutral.events import (
    ActionChunkEvent,
    AudioChunkEvent,
    ConversionChangedEvent,
    ErrorOccurredEvent,
    FinishPromptEvent,
    FirstDeltaEvent,
    InterruptedEvent,
    Publisher,
    RetryScheduledEvent,
    StartPromptEvent,
    TextChunkEvent,
    ThinkingChunkEvent,
)
from llmneutral.ir.deltas import CONTENT_KINDS, DeltaMessage
from llmneutral.ir.responses import ErrorInfo, NormalizedResponse


class Send(msgspec.Struct, frozen=True):
    """Send the request; the answer is the body, or an exception."""

    conversion: Conversion | None


class Open(msgspec.Struct, frozen=True):
    """Open the stream; the answer is the stream, or an exception."""

    conversion: Conversion | None


class Sleep(msgspec.Struct, frozen=True):
    """Wait; the answer means nothing."""

    seconds: float


class Sign:
    """A value that is only itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


NEXT = Sign("NEXT")  # read one chunk; the answer is the chunk, END, or a Failure
END = Sign("END")


class Failure(msgspec.Struct, frozen=True):
    """An exception the outside met, as an answer."""

    error: Exception


Flow = Generator[Any, Any, None]


class Call:
    """One call in progress; also what it has come to so far.

    Attributes:
        conversion: The request; every attempt sends the same. None: the driver makes its own.
        io: What sends and opens: the driver, as a rule.
        stream: Whether the answer is streamed.
        retrying: Tenacity's policy.
        publisher: Where events go.
        normalizer: Makes the normaliser of one attempt.
        clock: Seconds, monotonic.
        current: The normaliser of the last attempt.
        attempts: Requests sent so far.
        record: Raw chunks with their times and deltas, or None.
        request_id: What the provider called the request, once it is known.
    """

    def __init__(
        self,
        conversion: Conversion | None,
        *,
        io: Any,
        stream: bool,
        retrying: tenacity.Retrying,
        publisher: Publisher,
        normalizer: Callable[[], StreamNormalizer],
        clock: Callable[[], float] = time.monotonic,
        record: bool = False,
        context: dict[str, Any] | None = None,
    ) -> None:
        self.conversion = conversion
        self.io = io
        self.stream = stream
        self.retrying = retrying
        self.publisher = publisher
        self.normalizer = normalizer
        self.clock = clock
        self.current = normalizer()
        self.attempts = 0
        self.record: list[tuple[float, Any, list[DeltaMessage]]] | None = [] if record else None
        self.request_id: str | None = None
        self.context = context or {}
        self.began = clock()
        self.first_delta: float | None = None
        self.total: float | None = None

    @property
    def response(self) -> NormalizedResponse:
        """The answer as far as it has come."""
        return self.current.response

    def described(self, error: Exception) -> Exception:
        """Completes an error by what the call knows of itself."""
        if isinstance(error, LLMNeutralError):
            for name, value in self.context.items():
                if getattr(error, name, None) is None:
                    setattr(error, name, value)
            error.attempts = self.attempts
            if error.partial is None and self.current.reader.slots:
                error.partial = self.response
        return error


def exchange(call: Call) -> Flow:
    """Runs one call: requests, retries, deltas, events.

    Raises:
        LLMNeutralError: What the last attempt failed with.
    """
    tell = call.publisher
    tell.publish(StartPromptEvent, conversion=call.conversion, stream=call.stream)
    if call.conversion is not None and tell.wants(ConversionChangedEvent):
        for change in call.conversion.changes:
            tell.publish(ConversionChangedEvent, change=change)
    call.began = call.clock()
    try:
        yield from _attempts(call)
    except GeneratorExit:
        call.current.close(interrupted=True)
        tell.publish(InterruptedEvent, partial=call.response)
        raise
    except Exception as error:
        tell.publish(ErrorOccurredEvent, error=info_of(call.described(error)), partial=getattr(error, "partial", None))
        raise
    call.total = call.clock() - call.began
    tell.publish(FinishPromptEvent, response=call.response, latency=call.total, request_id=call.request_id)


def _attempts(call: Call) -> Flow:
    """Asks tenacity what to do until an attempt succeeds or there is nothing left to try."""
    state = tenacity.RetryCallState(call.retrying, None, (), {})
    attempt = _stream if call.stream else _send
    while True:
        todo = call.retrying.iter(state)
        if isinstance(todo, tenacity.DoAttempt):
            call.attempts = call.publisher.attempt = state.attempt_number
            try:
                yield from attempt(call)
            except _CommittedError as committed:  # content was given: nothing is sent a second time
                raise committed.error from None
            except Exception:  # noqa: BLE001  # tenacity judges it
                state.set_exception(sys.exc_info())  # type: ignore[arg-type]
            else:
                return
        elif isinstance(todo, tenacity.DoSleep):
            seconds = float(todo)
            error = state.outcome.exception() if state.outcome is not None else None
            call.publisher.publish(
                RetryScheduledEvent, error=error, wait=seconds, next_attempt=state.attempt_number + 1
            )
            yield Sleep(seconds)
            state.prepare_for_next_attempt()
        else:
            return


def _send(call: Call) -> Flow:
    """One request with a whole answer."""
    call.current = call.normalizer()
    answer = yield Send(call.conversion)
    if isinstance(answer, Failure):
        raise answer.error
    call.current.whole(answer)
    call.current.close()
    call.request_id = getattr(answer, "request_id", None)
    error = call.response.error
    if error is not None and error.retryable and call.attempts < _most(call):
        raise error_of(error, call)


def _most(call: Call) -> int:
    return getattr(call.retrying.stop, "attempts", 1)


class _CommittedError(Exception):
    """A stream failed after content was given."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _stream(call: Call) -> Flow:
    """One request with a streamed answer: held back until content comes, then passed on as it comes."""
    normalizer = call.current = call.normalizer()
    answer = yield Open(call.conversion)
    if isinstance(answer, Failure):
        raise answer.error
    call.request_id = getattr(answer, "request_id", None)
    held: list[DeltaMessage] = []
    failure: Exception | None = None
    committed = False
    while not committed:
        chunk = yield NEXT
        if chunk is END or chunk.__class__ is Failure:
            break
        deltas = _fed(call, normalizer, chunk)
        held += deltas
        committed = any([delta.kind in CONTENT_KINDS for delta in deltas])
    if committed:
        call.first_delta = call.clock() - call.began
        call.publisher.publish(FirstDeltaEvent, latency=call.first_delta)
        yield from _shown(call, held)
        chunk = yield from _rest(call, normalizer)
    failure = _failure_of(chunk, normalizer, call)
    if failure is not None and not committed and getattr(failure, "retryable", False) and call.attempts < _most(call):
        normalizer.close()
        raise failure
    if not committed:
        yield from _shown(call, held)
    yield from normalizer.close()
    if failure is not None:
        raise _CommittedError(call.described(failure))


def _rest(call: Call, normalizer: StreamNormalizer) -> Generator[Any, Any, Any]:
    """The hot loop: chunks in, deltas out, until the stream ends or fails; returns what ended it."""
    feed = normalizer.feed
    plain = call.record is None and not _wants_chunks(call.publisher)
    while True:
        chunk = yield NEXT
        if chunk is END or chunk.__class__ is Failure:
            return chunk
        if plain:
            yield from feed(chunk)
        else:
            yield from _shown(call, _fed(call, normalizer, chunk))


def _fed(call: Call, normalizer: StreamNormalizer, chunk: Any) -> list[DeltaMessage]:
    deltas = normalizer.feed(chunk)
    if call.record is not None:
        call.record.append((call.clock() - call.began, chunk, deltas))
    return deltas


def _shown(call: Call, deltas: list[DeltaMessage]) -> Flow:
    """Yields deltas, and publishes the chunk events of those somebody listens to."""
    talk = _wants_chunks(call.publisher)
    for delta in deltas:
        if talk:
            publish_chunk(delta, call.publisher)
        yield delta


def _failure_of(ended_by: Any, normalizer: StreamNormalizer, call: Call) -> Exception | None:
    """Says with what error a stream ended, or None."""
    reader = normalizer.reader
    if isinstance(ended_by, Failure):
        if reader.terminated:
            return None  # the answer was whole before the connection went
        error = ended_by.error
        normalizer.fail(info_of(error))
        if isinstance(error, LLMNeutralError) and reader.slots and error.type == "connection_error":
            lost = StreamInterruptedError("the connection was lost in the middle of the answer", retryable=True)
            lost.__cause__ = error
            normalizer.reader.error_info = None
            return lost
        return error
    if reader.error_info is not None:
        return error_of(reader.error_info, call)
    if reader.terminated or reader.finished:
        return None
    return StreamInterruptedError("the stream ended without its terminator", retryable=True)


def error_of(info: ErrorInfo, call: Call) -> LLMNeutralError:
    """Returns the exception for an error that stood inside an answer."""
    return provider_error(
        info.type,
        message=info.message,
        raw_type=info.raw_type,
        status=info.status,
        code=info.code,
        retryable=info.retryable,
        **call.context,
    )


def info_of(error: Exception) -> ErrorInfo:
    """Returns an exception as a value."""
    if isinstance(error, LLMNeutralError):
        return ErrorInfo(
            error.type or "server_error",
            error.raw_type,
            error.message,
            error.status,
            error.retryable,
            _text(error.code),
        )
    return ErrorInfo("server_error", type(error).__name__, str(error))


def _text(code: Any) -> str | None:
    return None if code is None else str(code)


def _wants_chunks(publisher: Publisher) -> bool:
    return any(
        [publisher.wants(kind) for kind in (TextChunkEvent, ThinkingChunkEvent, ActionChunkEvent, AudioChunkEvent)]
    )


def publish_chunk(delta: DeltaMessage, publisher: Publisher) -> None:
    """Publishes the chunk event of a delta."""
    kind, content = delta.kind, delta.content
    if content is None:
        return
    piece: Any = content
    if kind == "text":
        publisher.publish(TextChunkEvent, token=piece.text, slot=piece.index)
    elif kind == "thinking":
        publisher.publish(ThinkingChunkEvent, token=piece.text, slot=piece.index)
    elif kind == "call":
        publisher.publish(
            ActionChunkEvent,
            slot=piece.index, tag=piece.tag, name=piece.name, path=piece.path, partial_input=piece.partial_input,
        )  # fmt: skip
    elif kind == "audio":
        publisher.publish(AudioChunkEvent, data=piece.data, slot=piece.index)
