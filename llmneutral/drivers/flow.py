"""One call, told once: the same script runs in a sync and in an async driver.

`exchange` performs no I/O. It yields what it wants done and is sent the answer; an exception that the outside met is
sent as an answer too, as a `Failure`. Retry, events, normalising and interrupts live here and are tested with scripted
answers. The two loops in `runners` are the only places that wait.

What is yielded: `Send`, `Open`, `Fetch` and `Sleep`; a plain list of deltas, which means "give these to the caller,
then read the next chunk"; and `Give`, which reads nothing more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import msgspec
import tenacity

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Body, Call
from llmneutral.drivers.counting import TokenCount, cannot_count
from llmneutral.drivers.hints import refuses_reasoning
from llmneutral.errors import LLMNeutralError, ProviderError, StreamInterruptedError
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
from llmneutral.prices import EMBEDDED, PricedPromptEvent
from llmneutral.profiles.hosts import find_endpoint


class Send(msgspec.Struct, frozen=True):
    """Send the request; the answer is the body, or a Failure."""

    conversion: Conversion | None


class Open(msgspec.Struct, frozen=True):
    """Open the stream; the answer is the stream, or a Failure."""

    conversion: Conversion | None


class Fetch(msgspec.Struct, frozen=True):
    """Fetch some addresses; the answer is a map of (bytes, media type), or a Failure."""

    urls: list[str]


class Sleep(msgspec.Struct, frozen=True):
    """Wait; the answer means nothing."""

    seconds: float


class Give(msgspec.Struct, frozen=True):
    """Give deltas to the caller, and read nothing more; the answer means nothing."""

    deltas: list[DeltaMessage]


class Sign:
    """A value that is only itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


END = Sign("END")  # the answer to a list of deltas where no chunk is left


class Failure(msgspec.Struct, frozen=True):
    """An exception the outside met, as an answer."""

    error: Exception


Flow = Generator[Any, Any, None]
Attempt = Callable[[Call], Flow]


# --- a call -------------------------------------------------------------------------------------


def exchange(call: Call) -> Flow:
    """Runs one call: requests, retries, deltas, events.

    Raises:
        LLMNeutralError: What the last attempt failed with.
    """
    call.begin()
    try:
        if call.fetch is not None:
            yield from _fetched(call)
        _announce(call)
        yield from _attempts(call, _streamed if call.stream else _whole)
        call.check_reason()
    except Exception as error:
        yield from _broken(call, error)
        if call.options.on_error == "raise" or not isinstance(error, ProviderError):
            raise
    except BaseException:  # the caller left, or a listener was interrupted
        call.current.close(interrupted=not call.current.reader.terminated)
        _stopped(call)
        raise


def counted(call: Call, estimate: Callable[[], TokenCount], read: Callable[[Any], TokenCount]) -> Flow:
    """Runs a call that counts tokens and leaves the count in `call.answer`; a call without a request is estimated.

    Raises:
        LLMNeutralError: What the last attempt failed with.
    """
    if call.conversion is None:
        call.answer = estimate()
        return
    call.begin()
    try:
        yield from _attempts(call, _asked)
        call.answer = read(call.answer)
    except Exception as error:
        if isinstance(error, ProviderError) and cannot_count(error, call.conversion.api):
            call.answer = estimate()
            return
        call.described(error)
        raise


def _announce(call: Call) -> None:
    tell, conversion = call.publisher, call.conversion
    if tell.wants(StartPromptEvent):
        shown = conversion
        if conversion is not None and (redact := call.options.redact) is not None:
            shown = msgspec.structs.replace(conversion, payload=redact(conversion.payload))
        tell.publish(StartPromptEvent, conversion=shown, stream=call.stream)
    if conversion is not None and tell.wants(ConversionChangedEvent):
        for change in conversion.changes:
            tell.publish(ConversionChangedEvent, change=change)


def _fetched(call: Call) -> Flow:
    """Fetches what the conversion needs, and converts."""
    assert call.fetch is not None
    urls, convert = call.fetch
    answer = yield Fetch(urls)
    if isinstance(answer, Failure):
        raise answer.error
    call.conversion, call.fetched = convert(answer), {"fetch": answer}
    call.stream = call.stream or call.conversion.target.facts.thinking_requires_stream


def _stopped(call: Call) -> None:
    if not call.over:
        call.finish()
        if call.publisher.wants(InterruptedEvent):
            call.publisher.publish(InterruptedEvent, partial=call.response)


def _broken(call: Call, error: Exception) -> Flow:
    """The call failed for good: what came is given, the stream is ended, and the failure is told."""
    call.described(error)
    if call.over:  # it ended well, and what ended it is raised all the same (`raise_on`, a hook)
        return
    interrupted = isinstance(error, StreamInterruptedError) and call.options.on_error == "raise"
    if not interrupted:
        call.current.fail(call.info(error))
    held, call.held = call.held, []
    end = call.current.close(interrupted=interrupted)
    call.finish()
    partial = call.keep_partial(error)
    call.publisher.publish(ErrorOccurredEvent, error=call.info(error), partial=partial)
    if call.stream:
        yield Give(held + end)


# --- attempts -----------------------------------------------------------------------------------


def _attempts(call: Call, attempt: Attempt) -> Flow:
    """Asks tenacity what to do until an attempt succeeds or there is nothing left to try."""
    state = tenacity.RetryCallState(call.retrying, None, (), {})
    try:
        while True:
            todo = _decided(call.retrying, state)
            if isinstance(todo, tenacity.DoSleep):
                yield from _waited(call, state, float(todo))
                continue
            try:
                yield from _attempt(call, attempt, state)
            except Exception:
                if call.committed or call.over:
                    raise
                state.set_exception(sys.exc_info())  # type: ignore[arg-type]  # inside `except` there is one
            else:
                return
    finally:
        state.outcome = None  # an exception that holds the frame that holds it would live until the next collection


def _decided(retrying: tenacity.Retrying, state: tenacity.RetryCallState) -> Any:
    """Tenacity's decision; its statistics are kept per thread, and a stream may be read from several."""
    retrying.statistics.setdefault("idle_for", 0.0)
    retrying.statistics.setdefault("attempt_number", 1)
    try:
        return retrying.iter(state)
    except tenacity.RetryError as stopped:  # a policy of a subclass that does not re-raise by itself
        last = stopped.last_attempt.exception()
    raise last if last is not None else AssertionError("tenacity stops at failures only")


def _waited(call: Call, state: tenacity.RetryCallState, seconds: float) -> Flow:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, Exception)
    if call.options.timeout is not None and call.rest() <= seconds:
        raise error
    info = call.failed(error, seconds)
    call.publisher.publish(RetryScheduledEvent, error=info, wait=seconds, next_attempt=state.attempt_number + 1)
    yield Sleep(seconds)
    state.prepare_for_next_attempt()


def _attempt(call: Call, attempt: Attempt, state: tenacity.RetryCallState) -> Flow:
    """One attempt; a second one at once where the provider refuses the reasoning and it may be left out."""
    call.attempt(state.attempt_number)
    try:
        yield from attempt(call)
    except ProviderError as error:
        recover, call.recover = call.recover, None
        final = call.committed or state.attempt_number >= _most(call)
        if recover is None or final or not refuses_reasoning(error):
            raise
        info = call.failed(error, 0.0)
        state.attempt_number += 1
        call.publisher.publish(RetryScheduledEvent, error=info, wait=0.0, next_attempt=state.attempt_number)
        call.conversion = recover()
        call.attempt(state.attempt_number)
        yield from attempt(call)


def _most(call: Call) -> int:
    return getattr(call.retrying.stop, "attempts", call.options.max_attempts)


def _asked(call: Call) -> Flow:
    answer = yield Send(call.conversion)
    if isinstance(answer, Failure):
        raise answer.error
    call.heard(answer)
    call.answer = answer


def _whole(call: Call) -> Flow:
    """One request with a whole answer."""
    answer = yield Send(call.conversion)
    if isinstance(answer, Failure):
        raise answer.error
    call.heard(answer)
    call.current.whole(answer)
    _check_inside(call)
    call.current.close()
    _done(call)


def _check_inside(call: Call) -> None:
    """Raises where the answer holds an error."""
    if call.current.reader.error_info is not None:
        call.cleaned([])
        raise call.error_of(call.current.reader.error_info)


def _done(call: Call) -> None:
    """The call ended well."""
    call.finish()
    if call.publisher.wants(FinishPromptEvent):
        call.publisher.publish(
            PricedPromptEvent,
            response=call.response,
            latency=call.metadata.total,
            request_id=call.metadata.request_id,
            endpoint=_endpoint(call),
        )
    if call.after is not None:
        call.after(call.response)


def _endpoint(call: Call) -> str | None:
    """Whose prices count; a driver that makes its own request is who it says."""
    if call.conversion is None:
        return find_endpoint(call.context.get("provider"), None)
    target = call.conversion.target
    found = find_endpoint(target.provider, target.base_url)
    return None if found == EMBEDDED and target.base_url else found  # a server that only bears its name


def _streamed(call: Call) -> Flow:
    """One request with a streamed answer: held back until content comes, then passed on as it comes."""
    answer = yield Open(call.conversion)
    if isinstance(answer, Failure):
        raise answer.error
    call.heard(answer)
    while True:
        chunk = yield []
        if chunk is END or chunk.__class__ is Failure:
            break
        deltas = _fed(call, chunk)
        call.held += deltas
        if any([delta.kind in CONTENT_KINDS for delta in deltas]):
            latency = call.commit()
            call.publisher.publish(FirstDeltaEvent, latency=latency)
            chunk = yield from _rest(call)
            break
    if (failure := _failure_of(chunk, call)) is not None:
        raise failure
    held, call.held = call.held, []
    end = call.current.close()
    _done(call)
    yield Give(_told(call, held) + end)


def _rest(call: Call) -> Generator[Any, Any, Any]:
    """The hot loop: chunks in, deltas out, until the stream ends or fails; returns what ended it."""
    deltas, call.held = _told(call, call.held), []
    watched = call.record is not None or call.options.timeout is not None
    feed, reader = partial(_fed, call) if watched else call.current.feed, call.current.reader
    tell = call.publisher if _wants_chunks(call.publisher) else None
    while True:
        chunk = yield deltas
        if chunk is END or chunk.__class__ is Failure:
            return chunk
        deltas = feed(chunk)
        if reader.error_info is not None:
            deltas = call.cleaned(deltas)
        if tell is not None:
            for delta in deltas:
                publish_chunk(delta, tell)


def _fed(call: Call, chunk: Any) -> list[DeltaMessage]:
    call.check_time()
    normalizer = call.current
    # A server that cannot stream answers with the whole at once.
    deltas = normalizer.whole(chunk) if chunk.__class__ is Body else normalizer.feed(chunk)
    if normalizer.reader.error_info is not None:
        deltas = call.cleaned(deltas)
    if call.record is not None:
        call.record.append((call.clock() - call.began, chunk, deltas))
    return deltas


def _failure_of(ended_by: Any, call: Call) -> Exception | None:
    """Says with what error a stream ended, or None."""
    reader = call.current.reader
    if reader.error_info is not None:
        return call.error_of(reader.error_info)
    whole = reader.terminated or (reader.finished and not reader.incomplete)
    if not isinstance(ended_by, Failure):
        return None if whole else call.interrupted("the stream ended without its terminator")
    error = ended_by.error
    if not whole:
        return _interruption(error, call) or error
    if not reader.terminated:
        call.current.reader.note("the connection was lost after the answer's end; its token counts may be missing")
    return None


def _interruption(error: Exception, call: Call) -> Exception | None:
    """The loss of a connection after something had come is the interruption of a stream."""
    if not isinstance(error, LLMNeutralError) or error.type != "connection_error" or not call.current.reader.slots:
        return None
    return call.interrupted(f"the connection was lost in the middle of the answer: {error.message}", error.raw_type)


# --- events of chunks ---------------------------------------------------------------------------


def _told(call: Call, deltas: list[DeltaMessage]) -> list[DeltaMessage]:
    """Publishes the chunk events of deltas that somebody listens to, and returns the deltas."""
    if _wants_chunks(call.publisher):
        for delta in deltas:
            publish_chunk(delta, call.publisher)
    return deltas


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
        publisher.publish_token(TextChunkEvent, piece.text, piece.index)
    elif kind == "thinking":
        publisher.publish_token(ThinkingChunkEvent, piece.text, piece.index)
    elif kind == "call":
        publisher.publish(
            ActionChunkEvent,
            slot=piece.index, tag=piece.tag, name=piece.name, path=piece.path, partial_input=piece.partial_input,
        )  # fmt: skip
    elif kind == "audio":
        publisher.publish(AudioChunkEvent, data=piece.data, slot=piece.index)
