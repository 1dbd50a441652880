"""What is published while a driver works, and the bus it is published on.

Events are frozen snapshots. Nothing is built for nobody: a publisher looks first whether somebody
listens to the class. Listeners run in the calling thread, outside the retry scope; an exception in one
is told once as `ListenerFailedEvent` and by `warnings.warn`, and never reaches the call.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

from llmneutral.convert.report import Change
from llmneutral.convert.transport import Conversion
from llmneutral.errors import ConfigurationError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.responses import ErrorInfo, NormalizedResponse


class BaseEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of every event.

    Attributes:
        id: Unique in this process.
        timestamp: Seconds since the epoch.
        run_id: The run (an agent's, or a single call) it belongs to.
        attempt: Number of the request, from 1.
        driver: Class name of the driver.
        provider: Provider, where it is known.
        api: API mode.
        model: Model as it was asked for.
        meta: What the caller attached.
    """

    id: str
    timestamp: float
    run_id: str
    attempt: int = 1
    driver: str | None = None
    provider: str | None = None
    api: str | None = None
    model: str | None = None
    meta: JSONObject | None = None

    @property
    def type(self) -> str:
        """The name of its class."""
        return type(self).__name__


class StartRunEvent(BaseEvent, frozen=True, kw_only=True):
    """A run begins; `input` says roles, kinds of blocks and sizes, never texts."""

    input: JSONObject
    settings: JSONObject


class StartPromptEvent(BaseEvent, frozen=True, kw_only=True):
    """A request is about to be sent."""

    conversion: Conversion | None
    stream: bool


class ConversionChangedEvent(BaseEvent, frozen=True, kw_only=True):
    """The conversion changed something; one event a change."""

    change: Change


class RetryScheduledEvent(BaseEvent, frozen=True, kw_only=True):
    """An attempt failed and will be repeated after `wait` seconds."""

    error: ErrorInfo
    wait: float
    next_attempt: int


class FirstDeltaEvent(BaseEvent, frozen=True, kw_only=True):
    """The first piece of the answer came, `latency` seconds after the request."""

    latency: float


class ChunkEvent(BaseEvent, frozen=True, kw_only=True):
    """A piece of the answer; `slot` is the block it belongs to."""

    slot: int


class TextChunkEvent(ChunkEvent, frozen=True, kw_only=True):
    """A piece of text."""

    token: str


class ThinkingChunkEvent(ChunkEvent, frozen=True, kw_only=True):
    """A piece of reasoning."""

    token: str


class ActionChunkEvent(ChunkEvent, frozen=True, kw_only=True):
    """A piece of a tool call."""

    tag: str | None
    name: str | None
    path: str | None
    partial_input: str


class AudioChunkEvent(ChunkEvent, frozen=True, kw_only=True):
    """A piece of sound, base64."""

    data: str | None


class ParsedPartialEvent(BaseEvent, frozen=True, kw_only=True):
    """What a structured answer holds so far; for display only."""

    value: Any


class FinishPromptEvent(BaseEvent, frozen=True, kw_only=True):
    """The answer is complete; `latency` in seconds since the request."""

    response: NormalizedResponse
    latency: float
    request_id: str | None = None

    @property
    def input_tokens(self) -> int | None:
        """Prompt tokens; None if unknown."""
        return self.response.usage.input_total

    @property
    def output_tokens(self) -> int | None:
        """Tokens of the answer; None if unknown."""
        return self.response.usage.output_total

    @property
    def cost(self) -> Any:
        """What the call cost, a `Cost` as of `cost_of`, reckoned when it is read; None where nobody knows prices."""
        return None


class StartActionEvent(BaseEvent, frozen=True, kw_only=True):
    """A tool is about to run."""

    tag: str | None
    name: str
    path: str | None
    input: Any


class FinishActionEvent(BaseEvent, frozen=True, kw_only=True):
    """A tool has run; `duration` in seconds."""

    tag: str | None
    name: str
    path: str | None
    output: Any
    error: str | None
    duration: float


class RepairTurnEvent(BaseEvent, frozen=True, kw_only=True):
    """A structured answer was invalid and is asked for again."""

    problems: tuple[str, ...]
    number: int


class ApprovalRequestedEvent(BaseEvent, frozen=True, kw_only=True):
    """An agent program asks for leave to do something."""

    request: JSONObject


class ApprovalAnsweredEvent(BaseEvent, frozen=True, kw_only=True):
    """Leave was given or declined."""

    request: JSONObject
    decision: Any


class ErrorOccurredEvent(BaseEvent, frozen=True, kw_only=True):
    """The call failed for good."""

    error: ErrorInfo
    partial: NormalizedResponse | None


class InterruptedEvent(BaseEvent, frozen=True, kw_only=True):
    """The caller stopped the call."""

    partial: NormalizedResponse | None


class FinishRunEvent(BaseEvent, frozen=True, kw_only=True):
    """A run is over."""

    output: str | None
    usage: JSONObject
    steps: int


class ListenerFailedEvent(BaseEvent, frozen=True, kw_only=True):
    """A listener raised; never delivered to the one that failed."""

    listener: str
    exception: str


E = TypeVar("E", bound=BaseEvent)
Listener = Callable[[Any], object]


def _checked(event_type: Any) -> Any:
    if isinstance(event_type, type) and issubclass(event_type, BaseEvent):
        return event_type
    raise ConfigurationError(f"{event_type!r} is no class of events; BaseEvent stands for all of them")


class Handle:
    """What `on` gives back; `off` ends the listening."""

    def __init__(self, off: Callable[[], None]) -> None:
        self._off = off

    def off(self) -> None:
        """Ends the listening; a second call does nothing."""
        self._off()


class Listeners:
    """Listeners by class of event, in the order of their registration."""

    def __init__(self) -> None:
        self._entries: tuple[tuple[type[BaseEvent], Listener], ...] = ()
        self._lock = threading.Lock()

    def on(self, event_type: type[E], listener: Callable[[E], object]) -> Handle:
        """Calls `listener` with each event of a class (or of a class derived from it).

        Raises:
            ConfigurationError: If `event_type` is no class of events.
        """
        entry = (_checked(event_type), listener)
        with self._lock:
            self._entries = (*self._entries, entry)

        def off() -> None:
            with self._lock:
                self._entries = tuple([each for each in self._entries if each is not entry])

        return Handle(off)

    def entries(self) -> tuple[tuple[type[BaseEvent], Listener], ...]:
        """Returns what is registered now."""
        return self._entries


class _EventBus(Listeners):
    """Process-wide listeners, seen from every thread; and those of the current context alone."""

    @contextlib.contextmanager
    def listening(self, listener: Listener, event_type: type[BaseEvent] = BaseEvent) -> Iterator[None]:
        """Listens inside this block, in this context (thread or task) only."""
        entry = (_checked(event_type), listener)
        _context.set((*_context.get(), entry))
        try:
            yield
        finally:  # not by a token: a notebook may end the block in another context than it began in
            _context.set(tuple([each for each in _context.get() if each is not entry]))

    def entries(self) -> tuple[tuple[type[BaseEvent], Listener], ...]:
        """Returns the process-wide listeners, then those of this context."""
        return self._entries + _context.get()


class Publisher:
    """Publishes the events of one call: to the driver's listeners, then to the bus.

    Args:
        listeners: The driver's own.
        run_id: The run the call belongs to; a new one unless given.
        common: driver, provider, api, model and meta of each event.
    """

    __slots__ = ("_common", "_entries", "_failed", "_first", "_listeners", "attempt", "run_id")

    def __init__(self, listeners: Listeners | None = None, *, run_id: str | None = None, **common: Any) -> None:
        self._entries = (listeners.entries() if listeners is not None else ()) + EventBus.entries()
        self._common = common
        self._listeners: dict[type, tuple[Listener, ...]] = {}
        self._first: dict[type, BaseEvent] = {}
        self._failed: list[Listener] = []
        self.run_id = run_id or new_id("run")
        self.attempt = 1

    def wants(self, event_type: type[BaseEvent]) -> bool:
        """Whether somebody listens to a class."""
        return bool(self._listeners_to(event_type))

    def _listeners_to(self, event_type: type[BaseEvent]) -> tuple[Listener, ...]:
        found = self._listeners.get(event_type)
        if found is None:
            found = tuple([listener for kind, listener in self._entries if issubclass(event_type, kind)])
            self._listeners[event_type] = found
        return found

    def publish(self, event_type: type[BaseEvent], **fields: Any) -> None:
        """Builds an event and hands it to whoever listens; nobody listening costs a look-up."""
        if listeners := self._listeners_to(event_type):
            now = time.time()
            event = event_type(
                id=new_id("ev"), timestamp=now, run_id=self.run_id, attempt=self.attempt, **self._common, **fields
            )
            for listener in listeners:
                self._hand(event, listener)

    def publish_token(self, event_type: type[TextChunkEvent | ThinkingChunkEvent], token: str, slot: int) -> None:
        """The same for pieces of text: they come by the thousand, so each is made from the first one of its class."""
        if listeners := self._listeners_to(event_type):
            first = self._first.get(event_type)
            if first is None or first.attempt != self.attempt:
                first = self._first[event_type] = event_type(
                    id="", timestamp=0.0, run_id=self.run_id, attempt=self.attempt, token="", slot=0, **self._common
                )
            number = f"{_event_id}{next(_counter)}"
            event = msgspec.structs.replace(first, id=number, timestamp=time.time(), token=token, slot=slot)
            for listener in listeners:
                self._hand(event, listener)

    def _hand(self, event: BaseEvent, listener: Listener) -> None:
        try:
            listener(event)
        except Exception as error:  # noqa: BLE001  # whatever a listener does, the call goes on
            if listener not in self._failed:
                self._failed.append(listener)
                self._tell_failure(event, listener, error)

    def _tell_failure(self, failed_on: BaseEvent, failed: Listener, error: Exception) -> None:
        """Tells the other listeners, and warns; once a listener and call."""
        name = getattr(failed, "__qualname__", repr(failed))
        event = ListenerFailedEvent(
            id=new_id("ev"), timestamp=time.time(), run_id=self.run_id, listener=name, exception=repr(error),
            **self._common,
        )  # fmt: skip
        for listener in self._listeners_to(ListenerFailedEvent):
            if listener is not failed:
                with contextlib.suppress(Exception):
                    listener(event)
        with contextlib.suppress(RuntimeWarning):  # where warnings are errors, the call goes on all the same
            warnings.warn(f"the listener {name} failed on {failed_on.type}: {error!r}", RuntimeWarning, stacklevel=5)


def new_id(prefix: str) -> str:
    """Returns an id that is unique in this process, and unlikely to meet another process's."""
    return f"{prefix}-{_salt}-{next(_counter)}"


EventBus = _EventBus()
_context: ContextVar[tuple[tuple[type[BaseEvent], Listener], ...]] = ContextVar("llmneutral_listeners", default=())
_counter = itertools.count(1)
_salt = f"{os.getpid():x}{time.time_ns() & 0xFFFFFF:06x}"
_event_id = f"ev-{_salt}-"
