"""One question to one driver, or to several at the same time: from a stack to an exchange.

What must live here: the call itself. The stream is closed on every way out, what has come is kept, an interrupt is
passed on, and nothing is asked twice. A mistake that shows before anything is sent (a missing key, a block that
cannot be converted) makes no exchange.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import msgspec

from llmneutral_widgets.exchange import Exchange, Request, new_id, status_of
from llmneutral_widgets.interrupts import hold
from llmneutral_widgets.pricing import OwnPrices
from llmneutral_widgets.providers import Asked, hint_here
from llmneutral_widgets.session import Sent, is_sent
from llmneutral_widgets.sinks import Sink
from llmneutral_widgets.tool_rounds import ToolRounds
from llmneutral_widgets.watching import Watch, cost_of_all, stacks_of

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
        run_tools: Whether the calls of tools are run.
        options: Options of the call, such as `max_repairs`.
        prices: The user's own prices.
        execution_count: Number of the execution that asks.
    """

    asked: Asked
    stack: Any
    sent: Sent
    conversation: str
    cell_id: str | None = None
    stream: bool = True
    run_tools: bool = False
    options: Mapping[str, Any] = {}
    prices: OwnPrices = OwnPrices()
    execution_count: int | None = None


class Outcome(msgspec.Struct):
    """How a question ended: with an exchange, with an error, or with both."""

    exchange: Exchange | None = None
    error: BaseException | None = None


class _Stopped(KeyboardInterrupt):
    """Another thread was interrupted, and this one with it."""


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
        self.id = new_id()
        self.watch = Watch(self.id)
        self.stream: Any = None
        self.rounds: ToolRounds | None = None
        self._response: Any = None
        self._records: dict[int, Any] = {}
        self.created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.options = {**question.asked.overrides, **question.options, "run_id": self.id}
        if question.stream:
            self.options["record"] = True
        # A driver that makes its own requests knows nothing of traces.
        self.traced = {} if _is_own(question.asked.driver) else {"trace": True}

    def prepare(self) -> None:
        """Looks at everything that can be wrong before anything is sent.

        Raises:
            LLMNeutralError: If it cannot be asked.
        """
        question = self.question
        driver, stack = question.asked.driver, question.stack
        if question.run_tools:
            if self.traced:  # an agent looks when it asks: what is wrong is told before that
                driver.require_key()
                driver.require_model(self.options.get("model") or driver.model)
                streamed = {"stream": True} if question.stream else {}
                self.watch.conversion = driver.preview(stack, **self.options, **self.traced, **streamed)
            self.rounds = ToolRounds(driver, stack, {**self.options, **self.traced})
            self.stream = self.rounds if question.stream else None
        elif question.stream:
            with self.watch.listening():
                self.stream = driver.stream(stack, **self.options, **self.traced)
        elif self.traced:
            driver.preview(stack, **self.options, **self.traced)

    def run(self, sink: Sink, stop: threading.Event | None = None) -> Outcome:
        """Asks, and shows what comes."""
        error: BaseException | None = None
        try:
            sink.start(self.question.asked.told())
            error = self._received(sink, stop) if self.question.stream else self._whole()
            hold()
        except BaseException as late:  # noqa: BLE001  # an interrupt at the beginning, or while the stream was closed
            hold()
            error = late if error is None else error
        return self._outcome(sink, error)

    def _received(self, sink: Sink, stop: threading.Event | None) -> BaseException | None:
        try:
            with self.watch.listening():
                for delta in self.stream:
                    self._keep_record()
                    sink.push(delta)
                    if _is_set(stop):
                        raise _Stopped
            return _Stopped() if _is_set(stop) and not self._is_whole() else self._unparsed()
        except BaseException as error:  # noqa: BLE001  # an interrupt too: what has come is shown before it goes on
            return _Stopped() if _is_set(stop) else error
        finally:
            self.watch.end()
            self.stream.close()

    def _keep_record(self) -> None:
        """Keeps the recording of the answer that is coming in beside the others, by its request.

        Each request has one of its own: an empty one may be that of a request that is not sent yet, and one that is
        known that of the answer before.
        """
        record = self.stream.record
        if record and not any([record is known for known in self._records.values()]):
            self._records[len(self.watch.requests) - 1] = record

    def cancel(self) -> None:
        """Wakes the thread that reads the stream of a silent provider, so that it closes the connection."""
        if self.stream is not None:
            self.stream.cancel()

    def _whole(self) -> BaseException | None:
        driver, stack = self.question.asked.driver, self.question.stack
        try:
            with self.watch.listening():
                if self.rounds is None:
                    self._response = driver.run(stack, **self.options, **self.traced)
                else:
                    self.rounds.run()
        except BaseException as error:  # noqa: BLE001  # as above
            self._response = getattr(error, "partial", None) or getattr(error, "response", None)
            return error
        finally:
            self.watch.end()
        return None

    @property
    def response(self) -> Any:
        """The answer, finished or as far as it has come; None where there is none."""
        source = self.rounds or self.stream
        return self._response if source is None else source.response

    def _unparsed(self) -> BaseException | None:
        """A stream that ends well and brings no valid value where one was asked for is a failure, as for `run`."""
        import llmneutral

        response = self.response
        if self.question.stack.output_schema is None or response.parsed is not None or not response.notes:
            return None
        return llmneutral.StructuredOutputError(response.notes[-1], response=response) if response.complete else None

    def _outcome(self, sink: Sink, error: BaseException | None) -> Outcome:
        hint_here(error)
        if error is not None and self.is_alone and not _was_sent(error) and not self._text():
            sink.abort(None, error)
            return Outcome(None, error)
        try:
            exchange = self.exchange(error)
            exchange.to_json()  # whoever keeps or shows it will need that
            if error is None:
                sink.finish(exchange)
            else:
                sink.abort(exchange, error)
        except Exception as broken:  # noqa: BLE001  # an answer that cannot be written down: its text can
            error = error or broken
            exchange = self._bare(error)
            sink.abort(exchange, error)
        return Outcome(exchange, error)

    def _bare(self, error: BaseException) -> Exchange:
        """An exchange with no more of its answer than the text."""
        import llmneutral

        question, said = self.question, (llmneutral.TextMessageContent(self._text()),)
        return Exchange(
            id=self.id,
            status=status_of(None, error),
            parent=question.sent.parent,
            cell_id=question.cell_id,
            name=question.conversation,
            created=self.created,
            **question.asked.told(),
            history=self._history(),
            messages=question.sent.added,
            response=llmneutral.NormalizedResponse(llmneutral.Message("assistant", said)),
            error=error if isinstance(error, Exception) else None,
            stack=question.stack,
            execution_count=question.execution_count,
        )

    def _text(self) -> str:
        return str(getattr(self._readable(), "text", None) or "")

    def exchange(self, error: BaseException | None) -> Exchange:
        """Returns the exchange as far as it has come."""
        question = self.question
        response = self._readable()
        status, requests = status_of(response, error), self._requests()
        calls = self.watch.calls(response, status, question.prices)
        if response is not None:
            response = msgspec.structs.replace(response, usage=_spent(response.usage, calls))
        conversion = self.watch.conversion
        made = Exchange(
            id=self.id,
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
            rounds=self._rounds(),
            calls=calls if len(calls) > 1 else (),
            cost=cost_of_all(calls),
            conversions={} if conversion is None else {conversion.api: conversion},
            timing=self.watch.timing,
            error=error if isinstance(error, Exception) else None,
            stack=question.stack,
            deltas=requests[-1].deltas if requests else (),
            lost_chunks=requests[-1].lost_chunks if requests else 0,
            requests=requests,
            execution_count=question.execution_count,
        )
        return msgspec.structs.replace(made, history={**self._history(), "sent": is_sent(made)})

    def _history(self) -> dict[str, Any]:
        """How much went along, and where the question stands in its conversation."""
        sent = self.question.sent
        return {"messages": sent.earlier, **({} if sent.place is None else sent.place.history(self.id))}

    def _requests(self) -> tuple[Request, ...]:
        """Each request with its recording; where all of these are too long, the first ones lose theirs, and say it."""
        asked = self.watch.requests
        found: list[Request] = []
        room = MOST_CHUNKS
        for number, stack in reversed([*enumerate(stacks_of(self.question.stack, self._rounds(), asked))]):
            came = self._records.get(number, ())
            record = tuple(came[:room])
            room -= len(record)
            conversion, is_repair = asked[number]
            found.append(Request(conversion, stack, record, is_repair, len(came) - len(record)))
        return tuple(reversed(found))

    def _is_whole(self) -> bool:
        """Whether the answer came to its end: one that is cut off by `cancel` ends without a word."""
        response = self._readable()
        return response is not None and response.complete and bool(response.message.content)

    def _readable(self) -> Any:
        """The answer; None also where it cannot even be read, which is then the error that is told."""
        try:
            return self.response
        except Exception:  # noqa: BLE001 - the exchange is kept, and the cell ends, all the same
            return None

    def _rounds(self) -> tuple[Any, ...]:
        """The messages between the question and the answer."""
        if self.rounds is not None:
            return self.rounds.rounds
        response = self._readable()
        return () if response is None else tuple(response.messages[:-1])


def _is_set(stop: threading.Event | None) -> bool:
    return stop is not None and stop.is_set()


def _spent(usage: Any, calls: Sequence[Mapping[str, Any]]) -> Any:
    """The tokens of a question: what its calls told, where there were several, or where one was cut short."""
    if not calls or (len(calls) == 1 and calls[0]["status"] != "interrupted"):
        return usage
    return type(usage).sum([type(usage)(**call["usage"]) for call in calls])


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
    if thread.is_alive():
        call.cancel()
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
        hold()
    except KeyboardInterrupt as raised:
        hold()  # pressed once more, it loses nothing
        interrupt = raised
        stop.set()
        for call in calls:
            call.cancel()
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
        with contextlib.suppress(RuntimeError):  # an interrupt may come before all of them have begun
            thread.join(max(0.0, until - perf_counter()))
