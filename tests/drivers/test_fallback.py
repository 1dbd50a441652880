"""Several drivers: the next is asked where one fails for now, never after content, and never in secret."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import (
    AuthenticationError,
    BaseEvent,
    ConfigurationError,
    ConversionError,
    ErrorOccurredEvent,
    OverloadedError,
    ServerError,
    StreamInterruptedError,
)
from llmneutral.drivers.fallback import FallbackDriver
from tests.drivers.endpoints import WAYS
from tests.drivers.scripted import Scripted, busy, chunks, kinds, whole

ways = pytest.mark.parametrize("way", WAYS)


def answering(way: str, text: str = "second") -> Scripted:
    answer = [("text", text)]
    body = chunks(answer, api="anthropic_messages") if "stream" in way else whole(answer, api="anthropic_messages")
    return Scripted(body, api_mode="anthropic_messages", model="b")


@ways
def test_the_next_is_asked_after_all_attempts_of_the_first(way: str) -> None:
    first, second = Scripted(busy(), busy(), busy()), answering(way)
    response = WAYS[way](FallbackDriver([first, second]), "hi")
    assert response.text == "second"
    assert (len(first.sent), len(second.sent)) == (3, 1)
    assert (first.sent[0]["model"], second.sent[0]["model"]) == ("m", "b")
    assert "max_tokens" in second.sent[0], "it is converted anew, for the API of the second"


@ways
def test_the_first_is_enough_where_it_answers(way: str) -> None:
    first = Scripted(chunks() if "stream" in way else whole())
    second = answering(way)
    assert WAYS[way](FallbackDriver([first, second]), "hi").text == "Hello there"
    assert second.sent == []


@ways
def test_what_will_not_pass_is_raised(way: str) -> None:
    second = answering(way)
    driver = FallbackDriver([Scripted(AuthenticationError("no")), second])
    with pytest.raises(AuthenticationError):
        WAYS[way](driver, "hi")
    assert second.sent == []


@ways
def test_unless_it_is_asked_for(way: str) -> None:
    driver = FallbackDriver([Scripted(AuthenticationError("no")), answering(way)], also=["authentication_error"])
    assert WAYS[way](driver, "hi").text == "second"


@ways
def test_the_last_error_is_the_one_that_is_raised(way: str) -> None:
    driver = FallbackDriver([Scripted(busy()), Scripted(OverloadedError("too"))], also=[])
    with pytest.raises(OverloadedError, match="too"):
        WAYS[way](driver, "hi", max_attempts=1)


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_after_content_nobody_else_is_asked(way: str) -> None:
    second = answering(way)
    driver = FallbackDriver([Scripted([*chunks()[:3], busy()]), second])
    with pytest.raises(ServerError) as caught:
        WAYS[way](driver, "hi")
    assert caught.value.partial is not None
    assert second.sent == []


def test_a_stream_has_one_start_and_one_end_and_knows_who_answers() -> None:
    first, second = Scripted([chunks()[0], StreamInterruptedError("lost", retryable=True)]), answering("stream")
    driver = FallbackDriver([first, second])
    stream: Any = driver.stream("hi", max_attempts=1, record=True)
    assert stream.driver_in_use is first
    found = [delta.kind for delta in stream]
    assert (found[0], found[-1], found.count("start"), found.count("end")) == ("start", "end", 1, 1)
    assert stream.driver_in_use is second
    assert stream.response.text == "second"
    assert stream.conversion.api == "anthropic_messages"
    assert stream.record
    assert (first.closed, second.closed) == (1, 1)


def test_leaving_a_stream_closes_it() -> None:
    first = Scripted(chunks())
    with FallbackDriver([first, answering("stream")]).stream("hi") as stream:
        next(stream)
    assert first.closed == 1
    assert not stream.response.complete


@pytest.mark.parametrize("way", ["run", "arun"])
def test_a_failure_may_be_a_value(way: str) -> None:
    driver = FallbackDriver([Scripted(AuthenticationError("no")), answering(way)])
    response = WAYS[way](driver, "hi", on_error="return")
    assert response.error is not None
    assert (response.error.type, response.finish_reason, response.complete) == ("authentication_error", "error", False)


def test_a_source_that_cannot_be_sent_is_nobodys_failure() -> None:
    second = answering("run")
    with pytest.raises(ConversionError):
        FallbackDriver([Scripted(whole()), second]).run("")
    assert second.sent == []


def test_listeners_hear_every_driver() -> None:
    heard: list[BaseEvent] = []
    driver = FallbackDriver([Scripted(busy()), answering("run")])
    handle = driver.on(BaseEvent, heard.append)
    driver.run("hi", max_attempts=1)
    handle.off()
    told = [event for event in heard if event.type != "ConversionChangedEvent"]
    assert kinds(told) == ["StartPromptEvent", "ErrorOccurredEvent", "StartPromptEvent", "FinishPromptEvent"]
    assert [event.model for event in told] == ["m", "m", "b", "b"]
    assert isinstance(heard[1], ErrorOccurredEvent)


def test_what_it_is_made_of_is_checked() -> None:
    wrong: list[Any] = [[], ["openai"]]
    for drivers in wrong:
        with pytest.raises(ConfigurationError, match="at least one"):
            FallbackDriver(drivers)
    with pytest.raises(ConfigurationError, match="unknown types of errors: rate_limit"):
        FallbackDriver([Scripted()], also=["rate_limit"])


def test_previews_and_counts_are_the_firsts() -> None:
    driver = FallbackDriver([Scripted(), answering("run")])
    assert driver.preview("hi").api == "chat_completions"
    assert driver.count_tokens("hi").estimated
    assert repr(driver).startswith("FallbackDriver([Scripted(model='m'")
