"""The bus: who hears what, in which order, and what a broken listener does (nothing)."""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral.errors import ConfigurationError
from llmneutral.events import (
    BaseEvent,
    EventBus,
    FirstDeltaEvent,
    ListenerFailedEvent,
    Listeners,
    Publisher,
    TextChunkEvent,
)


def test_events_go_to_the_driver_first_and_then_to_the_bus() -> None:
    heard: list[str] = []
    own = Listeners()
    handles = [
        EventBus.on(BaseEvent, lambda event: heard.append(f"bus {event.type}")),
        own.on(TextChunkEvent, lambda event: heard.append(f"driver {event.token}")),
    ]
    try:
        publisher = Publisher(own, api="chat_completions")
        publisher.publish(TextChunkEvent, token="a", slot=0)
        publisher.publish(FirstDeltaEvent, latency=0.1)
    finally:
        for handle in handles:
            handle.off()
    assert heard == ["driver a", "bus TextChunkEvent", "bus FirstDeltaEvent"]


def test_a_handle_ends_the_listening() -> None:
    heard: list[Any] = []
    own = Listeners()
    handle = own.on(BaseEvent, heard.append)
    handle.off()
    handle.off()
    Publisher(own).publish(FirstDeltaEvent, latency=0.1)
    assert heard == []


def test_nothing_is_built_for_nobody() -> None:
    publisher = Publisher(Listeners())
    assert not publisher.wants(TextChunkEvent)
    publisher.publish(TextChunkEvent, no_such_field=1)  # would raise if it were built


def test_a_broken_listener_is_told_once_and_the_others_hear() -> None:
    heard: list[BaseEvent] = []
    own = Listeners()

    def broken(event: BaseEvent) -> None:
        raise ValueError("boom")

    own.on(FirstDeltaEvent, broken)
    own.on(BaseEvent, heard.append)
    with pytest.warns(RuntimeWarning, match="broken failed on FirstDeltaEvent"):
        Publisher(own).publish(FirstDeltaEvent, latency=0.1)
    assert [event.type for event in heard] == ["ListenerFailedEvent", "FirstDeltaEvent"]
    failed = heard[0]
    assert isinstance(failed, ListenerFailedEvent)
    assert "boom" in failed.exception


def test_it_is_told_once_a_call() -> None:
    own = Listeners()
    calls: list[BaseEvent] = []
    failures: list[BaseEvent] = []

    def broken(event: BaseEvent) -> None:
        calls.append(event)
        raise ValueError("boom")

    own.on(FirstDeltaEvent, broken)
    own.on(ListenerFailedEvent, failures.append)
    publisher = Publisher(own)
    with pytest.warns(RuntimeWarning, match="broken failed"):
        publisher.publish(FirstDeltaEvent, latency=0.1)
    with warnings.catch_warnings(record=True) as warned:
        publisher.publish(FirstDeltaEvent, latency=0.2)
    assert (len(calls), len(failures), len(warned)) == (2, 1, 0)


def test_warnings_that_are_errors_break_no_call() -> None:
    own = Listeners()

    def broken(event: BaseEvent) -> None:
        raise ValueError("boom")

    own.on(BaseEvent, broken)
    Publisher(own).publish(FirstDeltaEvent, latency=0.1)  # in this suite every warning is an error


@pytest.mark.parametrize("wrong", ["TextChunkEvent", int, None, print])
def test_what_is_no_class_of_events_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="no class of events"):
        Listeners().on(wrong, print)
    with pytest.raises(ConfigurationError, match="no class of events"), EventBus.listening(print, wrong):
        pass


def test_a_block_may_end_in_another_context() -> None:
    def steps() -> Iterator[None]:
        with EventBus.listening(heard.append):
            yield

    heard: list[BaseEvent] = []
    found = steps()
    contextvars.copy_context().run(next, found)
    contextvars.copy_context().run(found.close)  # type: ignore[attr-defined]  # a generator
    Publisher().publish(FirstDeltaEvent, latency=0.1)
    assert heard == []


def test_an_interrupt_in_a_listener_passes() -> None:
    own = Listeners()

    def stop(event: BaseEvent) -> None:
        raise KeyboardInterrupt

    own.on(BaseEvent, stop)
    with pytest.raises(KeyboardInterrupt):
        Publisher(own).publish(FirstDeltaEvent, latency=0.1)


def test_listening_is_for_this_context_only() -> None:
    heard: list[str] = []
    with EventBus.listening(lambda event: heard.append(threading.current_thread().name)):
        thread = threading.Thread(target=lambda: Publisher().publish(FirstDeltaEvent, latency=0.1), name="other")
        thread.start()
        thread.join(10)
        Publisher().publish(FirstDeltaEvent, latency=0.1)
    Publisher().publish(FirstDeltaEvent, latency=0.1)
    assert heard == [threading.main_thread().name]


def test_ids_differ_and_the_run_is_one() -> None:
    heard: list[BaseEvent] = []
    own = Listeners()
    own.on(BaseEvent, heard.append)
    publisher = Publisher(own)
    for _ in range(3):
        publisher.publish(FirstDeltaEvent, latency=0.1)
    assert len({event.id for event in heard}) == 3
    assert len({event.run_id for event in heard}) == 1
