"""One question to one driver, or to several at the same time: from a stack to an exchange.

What must live here: the call itself. The stream is closed on every way out, what has come is kept, an interrupt is
passed on, and nothing is asked twice. A mistake that shows before anything is sent (a missing key, a block that
cannot be converted) makes no exchange.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import msgspec

from llmneutral_widgets.exchange import Exchange, new_id, status_of
from llmneutral_widgets.providers import Asked
from llmneutral_widgets.scrub import Secrets, current_secrets
from llmneutral_widgets.session import Sent, is_sent
from llmneutral_widgets.sinks import Sink

MOST_CHUNKS = 5_000
"""Chunks of a recording that are kept."""
_PATIENCE = 0.6
"""Seconds that several answers are given to end after an interrupt."""
_LOOK = 0.05


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked.

    Attributes:
        asked: Who.
        stack: What is sent: messages, tools, form of the answer, settings.
        sent: Where it stands in its conversation.
        conversation: Name of that.
        cell_id: The cell that asks.
        stream: Whether the answer is wanted piece by piece.
        execution_count: Number of the execution that asks.
    """

    asked: Asked
    stack: Any
    sent: Sent
    conversation: str
    cell_id: str | None = None
    stream: bool = True
    execution_count: int | None = None


class Outcome(msgspec.Struct):
    """How a question ended: with an exchange, with an error, or with both."""

    exchange: Exchange | None = None
    error: BaseException | None = None


class _Stopped(KeyboardInterrupt):
    """Another thread was interrupted, and this one with it."""


class _Watch:
    """What the events of one call tell: its request, its attempts, its first piece."""

    def __init__(self) -> None:
        self.conversion: Any = None
        self.attempts = 1
        self.first: float | None = None
        self.began = perf_counter()
        self.total: float | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listens in this context."""
        import llmneutral

        bus = llmneutral.EventBus
        with (
            bus.listening(self._start, llmneutral.StartPromptEvent),
            bus.listening(self._retry, llmneutral.RetryScheduledEvent),
            bus.listening(self._first, llmneutral.FirstDeltaEvent),
        ):
            yield

    def _start(self, event: Any) -> None:
        if self.conversion is None:  # a repair is a further request of the same question
            self.conversion = event.conversion
            self.began = perf_counter()

    def _retry(self, event: Any) -> None:
        self.attempts = event.next_attempt

    def _first(self, event: Any) -> None:
        self.first = event.latency if self.first is None else self.first

    def end(self) -> None:
        """Notes the end, once."""
        self.total = perf_counter() - self.began if self.total is None else self.total

    @property
    def timing(self) -> dict[str, Any]:
        """Seconds to the first piece and to the end, and how often it was asked."""
        return {"first_delta_s": self.first, "total_s": self.total, "attempts": self.attempts}


class _Call:
    """One question on its way.

    Args:
        question: What is asked.
        is_alone: Whether a mistake that shows only when it is sent (no model installed) leaves no exchange; beside
            other answers it has a place of its own.
    """

    def __init__(self, question: Question, *, is_alone: bool = True) -> None:
        self.question = question
        self.is_alone = is_alone
        self.watch = _Watch()
        self.stream: Any = None
        self.response: Any = None
        self.created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # A driver that makes its own requests knows nothing of traces.
        self.options = {**({} if _is_own(question.asked.driver) else {"trace": True}), **question.asked.overrides}

    def prepare(self) -> None:
        """Looks at everything that can be wrong before anything is sent.

        Raises:
            LLMNeutralError: If it cannot be asked.
        """
        driver, stack = self.question.asked.driver, self.question.stack
        with self.watch.listening():
            if self.question.stream:
                self.stream = driver.stream(stack, record=True, **self.options)
            elif not _is_own(driver):
                driver.preview(stack, **self.options)

    def run(self, sink: Sink, stop: threading.Event | None = None) -> Outcome:
        """Asks, and shows what comes."""
        sink.start(self.question.asked.told())
        error = self._received(sink, stop) if self.question.stream else self._whole()
        return self._outcome(sink, error)

    def _received(self, sink: Sink, stop: threading.Event | None) -> BaseException | None:
        try:
            for delta in self.stream:
                sink.push(delta)
                if stop is not None and stop.is_set():
                    raise _Stopped
        except BaseException as error:  # noqa: BLE001  # an interrupt too: what has come is shown before it goes on
            return error
        finally:
            self.watch.end()
            self.stream.close()
        return self._unparsed()

    def _whole(self) -> BaseException | None:
        try:
            with self.watch.listening():
                self.response = self.question.asked.driver.run(self.question.stack, **self.options)
        except BaseException as error:  # noqa: BLE001  # as above
            self.response = getattr(error, "partial", None) or getattr(error, "response", None)
            return error
        finally:
            self.watch.end()
        return None

    def _unparsed(self) -> BaseException | None:
        """A stream that ends well and brings no valid value where one was asked for is a failure, as for `run`."""
        import llmneutral

        response = self.stream.response
        if self.question.stack.output_schema is None or response.parsed is not None or not response.notes:
            return None
        return llmneutral.StructuredOutputError(response.notes[-1], response=response) if response.complete else None

    def _outcome(self, sink: Sink, error: BaseException | None) -> Outcome:
        if error is not None and self.is_alone and not _was_sent(error):
            sink.abort(None, error)
            return Outcome(None, error)
        exchange = self.exchange(error)
        if error is None:
            sink.finish(exchange)
        else:
            sink.abort(exchange, error)
        return Outcome(exchange, error)

    def exchange(self, error: BaseException | None) -> Exchange:
        """Returns the exchange as far as it has come."""
        question = self.question
        response = self.response if self.stream is None else self.stream.response
        status = status_of(response, error)
        if status == "interrupted" and response is not None:  # a count that was cut short is no count
            response = msgspec.structs.replace(response, usage=type(response.usage)())
        conversion = self.watch.conversion
        made = Exchange(
            id=new_id(),
            status=status,
            parent=question.sent.parent,
            cell_id=question.cell_id,
            name=question.conversation,
            created=self.created,
            **question.asked.told(),
            answered_by=getattr(response, "model", None),
            settings=question.stack.settings,
            messages=question.sent.added,
            tools=_definitions(question.stack),
            output_schema=question.stack.to_output_json_schema(),
            response=response,
            conversions={} if conversion is None else {conversion.api: conversion},
            timing=self.watch.timing,
            error=error if isinstance(error, Exception) else None,
            stack=question.stack,
            deltas=tuple((getattr(self.stream, "record", None) or ())[:MOST_CHUNKS]),
            execution_count=question.execution_count,
        )
        return msgspec.structs.replace(made, history={"messages": question.sent.earlier, "sent": is_sent(made)})


def _definitions(stack: Any) -> list[Any]:
    """The tools as they are told to a provider, in OpenAI's format."""
    return list(json.loads(stack.to_json()).get("tools") or ()) if stack.tools else []


def _is_own(driver: Any) -> bool:
    """Whether a driver overrides the template's `try_run` or `try_stream`, and so converts by itself."""
    import llmneutral

    kind, base = type(driver), llmneutral.BasePromptDriver
    return kind.try_run is not base.try_run or kind.try_stream is not base.try_stream


def _was_sent(error: BaseException) -> bool:
    """Whether there is anything to keep: what fails for the lack of a model or a package was never asked."""
    import llmneutral

    return not isinstance(error, (llmneutral.ConfigurationError, llmneutral.MissingExtraError))


def ask(question: Question, sink: Sink) -> Outcome:
    """Asks one driver.

    Args:
        question: What is asked.
        sink: Where the answer is shown while it comes.

    Returns:
        The exchange, and the error or the interrupt that ended it, which the caller has to pass on.

    Raises:
        LLMNeutralError: If it cannot be asked at all; then nothing was shown and nothing is kept.
    """
    call = _Call(question)
    call.prepare()
    return call.run(sink)


def ask_until(question: Question, sink: Sink, stop: threading.Event) -> Outcome:
    """Asks one driver until it has answered, or until it is stopped, which any thread may do.

    Args:
        question: What is asked.
        sink: Where the answer is shown while it comes; it must bear being called from another thread.
        stop: Set, it closes the stream; what has come is kept. A provider that is silent is not waited for.

    Returns:
        As `ask` does; stopped, with the status "interrupted".

    Raises:
        LLMNeutralError: As `ask` does.
    """
    call = _Call(question)
    call.prepare()
    found = Outcome()
    thread = threading.Thread(target=copy_context().run, args=(_into, found, call, sink, stop), daemon=True)
    thread.start()
    while thread.is_alive() and not stop.is_set():
        thread.join(_LOOK)
    _wait([thread])
    if found.exchange is not None or found.error is not None:
        return found
    error = _Stopped()
    outcome = Outcome(call.exchange(error), error)
    sink.abort(outcome.exchange, error)
    return outcome


def ask_all(questions: Sequence[Question], sinks: Sequence[Sink]) -> tuple[list[Outcome], KeyboardInterrupt | None]:
    """Asks several drivers at the same time.

    Args:
        questions: What is asked.
        sinks: Where each answer is shown.

    Returns:
        The outcomes in their order, and the interrupt that stopped all of them, if one did.

    Raises:
        LLMNeutralError: If one of them cannot be asked at all; then none is.
    """
    calls = [_Call(question, is_alone=False) for question in questions]
    for call in calls:
        call.prepare()
    outcomes = [Outcome() for _ in calls]
    stop = threading.Event()
    threads = [
        # A copy of the context each: what is shown from a thread has to know which cell it belongs to.
        threading.Thread(target=copy_context().run, args=(_into, outcomes[i], calls[i], sinks[i], stop), daemon=True)
        for i in range(len(calls))
    ]
    interrupt: KeyboardInterrupt | None = None
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK)
    except KeyboardInterrupt as raised:
        interrupt = raised
        stop.set()
        _wait(threads)
        for outcome, call, sink in zip(outcomes, calls, sinks, strict=True):
            if outcome.exchange is None and outcome.error is None:  # it waits for a provider that is silent
                outcome.error = raised
                outcome.exchange = call.exchange(raised)
                sink.abort(outcome.exchange, raised)
    return outcomes, interrupt


def _into(outcome: Outcome, call: _Call, sink: Sink, stop: threading.Event) -> None:
    """Runs a call in a thread; nothing is raised there."""
    try:
        found = call.run(sink, stop)
    except BaseException as error:  # noqa: BLE001  # it is passed on by the thread that waits
        sink.abort(None, error)
        found = Outcome(None, error)
    outcome.exchange, outcome.error = found.exchange, found.error


def _wait(threads: Sequence[threading.Thread]) -> None:
    until = perf_counter() + _PATIENCE
    for thread in threads:
        thread.join(max(0.0, until - perf_counter()))


# ----------------------------------------------------------------------------------------------------------------------
# Errors


def cleaned(error: BaseException, secrets: Secrets | None = None) -> BaseException:
    """Takes secrets out of an error, in place, before anything shows or saves it; returns it.

    The library has taken out what looks like a key; here go the values that are secret on this machine.
    """
    known = secrets or current_secrets()
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        found.args = tuple([known.text(arg) if isinstance(arg, str) else arg for arg in found.args])
        for name in ("message", "hint"):
            if isinstance(told := getattr(found, name, None), str):
                with contextlib.suppress(AttributeError):
                    setattr(found, name, known.text(told))
        found = found.__cause__ or found.__context__
    return error
