"""The script of a call, played with scripted answers: no clock, no network, no mock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral import (
    BasePromptDriver,
    DeltaMessage,
    EventBus,
    Message,
    PromptStack,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamInterruptedError,
    TextDeltaMessageContent,
)
from llmneutral.drivers.base import BasePromptDriver as Base
from llmneutral.events import BaseEvent
from tests.laws.answers import WIRE

TEXT = [("text", "Hello there")]


class Scripted(BasePromptDriver):
    """A driver whose answers are a list: an exception, a body, or a list of chunks (an exception in it is raised)."""

    needs_key = False

    def __init__(self, *answers: Any, api_mode: str = "chat_completions", **options: Any) -> None:
        super().__init__("m", api_mode=api_mode, **options)
        self.answers = list(answers)
        self.sent: list[dict[str, Any]] = []
        self.slept: list[float] = []
        self.closed = 0
        self.sleep = self.slept.append

    def _next(self, conversion: Any) -> Any:
        self.sent.append(conversion.to_json())
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def send(self, conversion: Any) -> Any:
        return self._next(conversion)

    def open(self, conversion: Any) -> Iterator[Any]:
        return Played(self, self._next(conversion))


class Played:
    def __init__(self, driver: Scripted, chunks: list[Any]) -> None:
        self.driver = driver
        self.chunks = list(chunks)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self.chunks:
            raise StopIteration
        chunk = self.chunks.pop(0)
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk

    def close(self) -> None:
        self.driver.closed += 1


def whole() -> dict[str, Any]:
    return WIRE["chat_completions"][0](TEXT)


def chunks() -> list[Any]:
    return WIRE["chat_completions"][1](TEXT, 3)


def busy(**more: Any) -> ServerError:
    return ServerError("busy", **more)


@pytest.fixture
def heard() -> Iterator[list[BaseEvent]]:
    events: list[BaseEvent] = []
    handle = EventBus.on(BaseEvent, events.append)
    yield events
    handle.off()


def kinds(events: list[BaseEvent]) -> list[str]:
    return [event.type for event in events]


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


# --- Griptape's style -----------------------------------------------------------------------------


class Own(Base):
    """Overrides the two hooks and nothing else."""

    needs_key = False

    def __init__(self, fail: int = 0, **options: Any) -> None:
        super().__init__("own", api_mode="chat_completions", **options)
        self.fail = fail
        self.calls = 0
        self.sleep = lambda seconds: None

    def try_run(self, prompt_stack: PromptStack) -> Message:
        self.calls += 1
        if self.calls <= self.fail:
            raise ConnectionError("lost")
        return Message("assistant", f"echo {prompt_stack.messages[-1].to_text()}")  # type: ignore[arg-type]  # text is taken

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        for word in ("echo ", prompt_stack.messages[-1].to_text()):
            yield DeltaMessage("text", TextDeltaMessageContent(word))


def test_a_driver_of_the_two_hooks_runs_streams_and_retries(heard: list[BaseEvent]) -> None:
    driver = Own(fail=1)
    assert driver.run("hi").text == "echo hi"
    assert driver.calls == 2
    stream = driver.stream("you")
    assert [delta.text for delta in stream if delta.text] == ["echo ", "you"]
    assert stream.response.text == "echo you"
    assert stream.response.complete
    assert kinds(heard).count("StartPromptEvent") == 2


async def test_a_driver_of_the_two_hooks_is_async_too() -> None:
    assert (await Own().arun("hi")).text == "echo hi"
    stream = Own().astream("hi")
    assert "".join([delta.text async for delta in stream]) == "echo hi"
