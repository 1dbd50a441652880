"""The script of a call, played with scripted answers: no clock, no network, no mock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tenacity

from llmneutral import (
    BaseEvent,
    EventBus,
    InvalidRequestError,
    NormalizedResponse,
    PromptStack,
    ProviderError,
    RateLimitError,
    ServerError,
    StartPromptEvent,
    StreamInterruptedError,
    TextChunkEvent,
)
from tests.drivers.scripted import Clock, Scripted, busy, chunks, kinds, whole


@pytest.fixture
def heard() -> Iterator[list[BaseEvent]]:
    events: list[BaseEvent] = []
    handle = EventBus.on(BaseEvent, events.append)
    yield events
    handle.off()


def test_a_whole_answer(heard: list[BaseEvent]) -> None:
    driver = Scripted(whole())
    assert driver.run("hi").text == "Hello there"
    assert kinds(heard) == ["StartPromptEvent", "FinishPromptEvent"]
    assert driver.slept == []


def test_a_streamed_answer(heard: list[BaseEvent]) -> None:
    driver = Scripted(chunks())
    stream = driver.stream("hi")
    deltas = list(stream)
    assert "".join(delta.text for delta in deltas) == stream.response.text == "Hello there"
    assert driver.sent[0]["stream"] is True
    assert driver.closed == 1
    assert kinds(heard) == ["StartPromptEvent", "FirstDeltaEvent", *["TextChunkEvent"] * 4, "FinishPromptEvent"]


def test_run_with_stream_publishes_chunks(heard: list[BaseEvent]) -> None:
    assert Scripted(chunks(), stream=True).run("hi").text == "Hello there"
    assert "TextChunkEvent" in kinds(heard)


def test_retryable_failures_are_repeated_with_the_same_bytes(heard: list[BaseEvent]) -> None:
    driver = Scripted(busy(), busy(), whole())
    assert driver.run("hi").text == "Hello there"
    assert driver.sent[0] == driver.sent[1] == driver.sent[2]
    assert len(driver.slept) == 2
    assert kinds(heard) == ["StartPromptEvent", "RetryScheduledEvent", "RetryScheduledEvent", "FinishPromptEvent"]


def test_the_last_error_is_raised_with_what_is_known(heard: list[BaseEvent]) -> None:
    driver = Scripted(busy(), busy(), busy())
    with pytest.raises(ServerError) as caught:
        driver.run("hi")
    assert caught.value.attempts == 3
    assert caught.value.api == "chat_completions"
    assert caught.value.model == "m"
    assert kinds(heard)[-1] == "ErrorOccurredEvent"


def test_max_attempts_is_of_the_call() -> None:
    driver = Scripted(busy(), busy())
    with pytest.raises(ServerError):
        driver.run("hi", max_attempts=1)
    assert len(driver.sent) == 1


def test_what_is_not_retryable_is_not_repeated() -> None:
    driver = Scripted(ServerError("no", retryable=False), whole())
    with pytest.raises(ServerError):
        driver.run("hi")
    assert len(driver.sent) == 1


@pytest.mark.parametrize("error", [TypeError("bug"), KeyError("bug")])
def test_bugs_pass_at_once(error: Exception) -> None:
    driver = Scripted(error, whole())
    with pytest.raises(type(error)):
        driver.run("hi")
    assert len(driver.sent) == 1


def test_retry_after_is_kept_to() -> None:
    driver = Scripted(RateLimitError("slow down", retry_after=7.0), whole())
    driver.run("hi")
    assert driver.slept == [7.0]


def test_too_long_a_wait_is_not_waited() -> None:
    driver = Scripted(RateLimitError("slow down", retry_after=90.0), whole())
    with pytest.raises(RateLimitError) as caught:
        driver.run("hi")
    assert caught.value.retry_after == 90.0
    assert driver.slept == []


def test_an_interrupt_passes_and_nothing_is_repeated(heard: list[BaseEvent]) -> None:
    driver = Scripted([*chunks()[:3], KeyboardInterrupt()], chunks())
    stream = driver.stream("hi")
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert len(driver.sent) == 1
    assert driver.closed == 1
    response = stream.response
    assert response.text == "Hello "
    assert not response.complete
    assert response.finish_reason == "incomplete"
    assert kinds(heard)[-1] == "InterruptedEvent"


def test_a_stream_lost_before_content_is_repeated() -> None:
    driver = Scripted([chunks()[0], StreamInterruptedError("gone", retryable=True)], chunks())
    stream = driver.stream("hi")
    found = [delta.kind for delta in stream]
    assert found.count("start") == 1
    assert found.count("end") == 1
    assert stream.response.text == "Hello there"


def test_a_stream_lost_after_content_is_not_repeated() -> None:
    driver = Scripted([*chunks()[:3], busy(status=503)], chunks())
    stream = driver.stream("hi")
    found: list[str] = []
    with pytest.raises(ProviderError) as caught:
        found.extend(delta.kind for delta in stream)
    assert found[-1] == "end"
    assert len(driver.sent) == 1
    assert stream.response.text == "Hello "
    assert stream.response.finish_reason == "error"
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello "


def test_a_stream_without_its_terminator_is_told() -> None:
    driver = Scripted(chunks()[:3])
    stream = driver.stream("hi")
    with pytest.raises(StreamInterruptedError):
        list(stream)
    assert stream.response.finish_reason == "incomplete"
    assert stream.response.text == "Hello "


def test_closing_a_stream_closes_the_connection(heard: list[BaseEvent]) -> None:
    driver = Scripted(chunks())
    with driver.stream("hi") as stream:
        next(stream)
    assert driver.closed == 1
    assert not stream.response.complete
    assert kinds(heard)[-1] == "InterruptedEvent"


def test_recording_keeps_every_chunk() -> None:
    driver = Scripted(chunks())
    stream = driver.stream("hi", record=True)
    deltas = list(stream)
    assert stream.record is not None
    assert [chunk for _, chunk, _ in stream.record] == chunks()
    kept = [delta for _, _, some in stream.record for delta in some]
    assert kept == deltas[:-1]
    assert all(a[0] <= b[0] for a, b in zip(stream.record, stream.record[1:], strict=False))


async def test_async_is_the_same() -> None:
    driver = Scripted(chunks(), whole())
    stream = driver.astream("hi")
    deltas = [delta async for delta in stream]
    assert deltas == list(Scripted(chunks()).stream("hi"))
    assert (await driver.arun("hi")).text == "Hello there"


def test_an_error_may_be_returned() -> None:
    response = Scripted(busy()).run("hi", max_attempts=1, on_error="return")
    assert response.error is not None
    assert response.error.type == "server_error"
    assert response.finish_reason == "error"
    assert not response.complete


def test_open_calls_are_not_sent() -> None:
    stack = PromptStack.from_openai(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]},
        ]
    )
    driver = Scripted(whole())
    with pytest.raises(Exception, match="c1 still wait"):
        driver.run(stack)
    assert driver.sent == []


# --- the end ----------------------------------------------------------------------------------------------------------


def test_the_call_has_ended_before_its_end_is_given(heard: list[BaseEvent]) -> None:
    """Who stops reading at the end has not interrupted anything."""
    stream = Scripted(chunks()).stream("hi")
    for delta in stream:
        if delta.kind == "end":
            break
    stream.close()
    assert kinds(heard)[-1] == "FinishPromptEvent"
    assert kinds(heard).count("InterruptedEvent") == 0
    assert stream.response.complete
    assert stream.metadata.total is not None


def test_every_call_has_one_terminal_event(heard: list[BaseEvent]) -> None:
    Scripted(chunks()).stream("hi").close()
    list(Scripted(chunks()).stream("hi"))
    Scripted(whole()).run("hi")
    for failing in (Scripted(TypeError("bug")), Scripted(ServerError("no", retryable=False))):
        with pytest.raises((TypeError, ServerError)):
            failing.run("hi")
    terminal = {"FinishPromptEvent", "ErrorOccurredEvent", "InterruptedEvent"}
    by_run: dict[str, int] = {}
    for event in heard:
        by_run[event.run_id] = by_run.get(event.run_id, 0) + (event.type in terminal)
    assert list(by_run.values()) == [1, 1, 1, 1]


def test_a_stream_whose_request_fails_still_has_a_start_and_an_end() -> None:
    stream = Scripted(ServerError("no", retryable=False)).stream("hi")
    found: list[str] = []
    with pytest.raises(ServerError):
        found.extend(delta.kind for delta in stream)
    assert found == ["start", "end"]
    assert stream.response.error is not None


def test_a_failure_may_be_a_value_in_a_stream_too() -> None:
    stream = Scripted([*chunks()[:3], busy()]).stream("hi", on_error="return")
    assert [delta.kind for delta in stream][-1] == "end"
    assert stream.response.error is not None
    assert (stream.response.error.type, stream.response.complete) == ("server_error", False)
    lost = Scripted(chunks()[:3]).run("hi", stream=True, on_error="return", max_attempts=1)
    assert lost.error is not None
    assert (lost.error.type, lost.text) == ("stream_interrupted", "Hello ")


def test_bugs_are_raised_whatever_becomes_of_failures() -> None:
    with pytest.raises(TypeError):
        Scripted(TypeError("bug")).run("hi", on_error="return")


@pytest.mark.parametrize("stream", [True, False])
def test_a_finish_reason_may_be_raised(stream: bool, heard: list[BaseEvent]) -> None:
    answer = whole()
    answer["choices"][0]["finish_reason"] = "length"
    pieces = chunks()
    pieces[-3]["choices"][0]["finish_reason"] = "length"
    driver = Scripted(pieces if stream else answer)
    with pytest.raises(InvalidRequestError, match=r"ended with length.*max_tokens") as caught:
        driver.run("hi", stream=stream, raise_on={"length"})
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello there"
    assert kinds(heard)[-1] == "FinishPromptEvent"
    assert len(driver.sent) == 1


def test_an_error_inside_a_whole_answer_is_raised_with_what_came() -> None:
    failed = {**whole(), "error": {"message": "upstream broke", "code": 502}}
    driver = Scripted(failed, failed, failed)
    with pytest.raises(ServerError, match="upstream broke") as caught:
        driver.run("hi")
    assert caught.value.attempts == 3
    assert Scripted(failed, whole()).run("hi").text == "Hello there"


def test_the_hooks_see_every_call() -> None:
    class Hooked(Scripted):
        def before_run(self, prompt_stack: PromptStack) -> None:
            seen.append((len(prompt_stack.messages), prompt_stack.settings["temperature"]))

        def after_run(self, response: NormalizedResponse) -> None:
            seen.append(response.text)

    seen: list[Any] = []
    driver = Hooked(whole(), chunks(), temperature=0.5)
    driver.run("hi")
    list(driver.stream("hi", temperature=0.1))
    assert seen == [(1, 0.5), "Hello there", (1, 0.1), "Hello there"]


# --- time and attempts ------------------------------------------------------------------------------------------------


def test_times_and_attempts_are_told() -> None:
    driver = Scripted(busy(request_id="r1"), chunks())
    driver.clock = Clock(step=1.0)
    stream = driver.stream("hi")
    list(stream)
    metadata = stream.response.metadata
    assert metadata == stream.metadata
    assert metadata is not None
    assert metadata.first_delta is not None
    assert metadata.total is not None
    assert 0 < metadata.first_delta < metadata.total
    assert metadata.attempts == 2
    [failed] = metadata.retries
    assert (failed.error.type, failed.wait, failed.request_id) == ("server_error", driver.slept[0], "r1")


def test_no_attempt_is_made_that_would_end_after_the_time_out() -> None:
    driver = Scripted(RateLimitError("slow", retry_after=5.0), whole())
    driver.clock = Clock()
    with pytest.raises(RateLimitError):
        driver.run("hi", timeout=4.0)
    assert driver.slept == []


def test_an_attempt_is_told_how_much_time_is_left() -> None:
    left: list[float | None] = []

    class Timed(Scripted):
        def send(self, conversion: Any) -> Any:
            left.append(self.timeout)
            clock.now += 3.0
            return super().send(conversion)

    driver = Timed(RateLimitError("slow", retry_after=0.0), whole())
    driver.clock = clock = Clock()
    driver.run("hi", timeout=10.0)
    assert left == [10.0, 7.0]
    assert driver.timeout is None


def test_a_subclass_may_have_a_policy_of_its_own() -> None:
    class Stubborn(Scripted):
        def retrying(self, max_attempts: int | None = None, retry_deadline: float | None = None) -> tenacity.Retrying:
            return tenacity.Retrying(
                retry=tenacity.retry_if_exception_type(ValueError),
                stop=tenacity.stop_after_attempt(4),
                wait=tenacity.wait_fixed(2),
            )

    driver = Stubborn(ValueError("a"), ValueError("b"), whole())
    assert driver.run("hi").text == "Hello there"
    assert driver.slept == [2.0, 2.0]
    with pytest.raises(ValueError, match="d"):
        Stubborn(*[ValueError(sign) for sign in "abcd"]).run("hi")
    with pytest.raises(ServerError):
        Stubborn(busy()).run("hi")


def test_an_interrupt_out_of_a_listener_passes_and_closes_the_stream() -> None:
    def stop(event: BaseEvent) -> None:
        raise KeyboardInterrupt

    driver = Scripted(chunks())
    driver.on(TextChunkEvent, stop)
    stream = driver.stream("hi")
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert driver.closed == 1
    assert not stream.response.complete


# --- reasoning that is refused ----------------------------------------------------------------------------------------


REASONED = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="},
                                      {"type": "text", "text": "a"}]},
    {"role": "user", "content": "again"},
]  # fmt: skip
REFUSED = InvalidRequestError("Invalid `signature` in `thinking` block", status=400)


def reasoning(*answers: Any, **options: Any) -> Scripted:
    return Scripted(*answers, api_mode="anthropic_messages", model="claude-sonnet-4-5", **options)


@pytest.mark.parametrize("stream", [True, False])
def test_refused_reasoning_is_left_out_where_that_is_asked_for(stream: bool, heard: list[BaseEvent]) -> None:
    answer = chunks(api="anthropic_messages") if stream else whole(api="anthropic_messages")
    driver = reasoning(REFUSED, answer)
    response = driver.run(REASONED, recover_reasoning=True, stream=stream)
    assert response.text == "Hello there"
    assert ["thinking" in str(body) for body in driver.sent] == [True, False]
    assert driver.slept == []
    assert response.metadata is not None
    assert response.metadata.attempts == 2
    assert "RetryScheduledEvent" in kinds(heard)


def test_refused_reasoning_is_told_where_it_is_not() -> None:
    driver = reasoning(REFUSED)
    with pytest.raises(InvalidRequestError, match="recover_reasoning=True"):
        driver.run(REASONED)
    with pytest.raises(InvalidRequestError):
        reasoning(REFUSED).run(REASONED, recover_reasoning=True, max_attempts=1)
    twice = reasoning(REFUSED, REFUSED)
    with pytest.raises(InvalidRequestError) as caught:
        twice.run(REASONED, recover_reasoning=True)
    assert caught.value.attempts == 2


# --- what events show -------------------------------------------------------------------------------------------------


def test_events_carry_what_the_caller_attached(heard: list[BaseEvent]) -> None:
    Scripted(whole(), meta={"a": 1}).run("hi", run_id="run-7")
    Scripted(whole(), meta={"a": 1}).run("hi", meta={"b": 2})
    assert [(event.run_id, event.meta) for event in heard[:2]] == [("run-7", {"a": 1})] * 2
    assert heard[2].meta == {"b": 2}
    assert {event.driver for event in heard} == {"Scripted"}


def test_a_payload_is_redacted_before_it_is_shown(heard: list[BaseEvent]) -> None:
    driver = Scripted(whole(), redact=lambda payload: {"model": payload["model"]})
    driver.run("a secret")
    start = heard[0]
    assert isinstance(start, StartPromptEvent)
    assert start.conversion is not None
    assert start.conversion.payload == {"model": "m"}
    assert "a secret" in str(driver.sent[0])
