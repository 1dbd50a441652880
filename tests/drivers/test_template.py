"""Drivers in Griptape's style: a subclass that overrides two methods runs, streams, retries and publishes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral import (
    BaseEvent,
    BasePromptDriver,
    ConfigurationError,
    DeltaMessage,
    EventBus,
    MalformedResponseError,
    Message,
    PromptStack,
    TextDeltaMessageContent,
    TextMessageContent,
    ThinkingDeltaMessageContent,
    ThinkingMessageContent,
)
from tests.drivers.scripted import Scripted, chunks, kinds, whole


@pytest.fixture
def heard() -> Iterator[list[BaseEvent]]:
    events: list[BaseEvent] = []
    handle = EventBus.on(BaseEvent, events.append)
    yield events
    handle.off()


class Own(BasePromptDriver):
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


def test_a_driver_that_cannot_stream_gives_all_at_once(heard: list[BaseEvent]) -> None:
    class Whole(BasePromptDriver):
        needs_key = False

        def try_run(self, prompt_stack: PromptStack) -> Message:
            return Message(
                "assistant", (TextMessageContent("one"), ThinkingMessageContent("hm"), TextMessageContent("two"))
            )

    stream = Whole("m", api_mode="chat_completions").stream("hi")
    assert [(delta.kind, delta.text) for delta in stream][1:] == [
        ("text", "one"),
        ("block_done", ""),
        ("text", "two"),
        ("end", ""),
    ]
    assert stream.response.text == "onetwo"
    assert stream.response.reasoning[0]["text"] == "hm"
    assert kinds(heard).count("TextChunkEvent") == 2


def test_a_driver_that_only_streams_runs_too() -> None:
    class Streaming(BasePromptDriver):
        needs_key = False

        def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
            yield DeltaMessage("text", TextDeltaMessageContent(str(prompt_stack.settings["temperature"])))

    driver = Streaming("m", api_mode="chat_completions", temperature=0.5)
    stack = PromptStack.from_artifact("hi")
    assert driver.run(stack).text == "0.5"
    stack.settings["temperature"] = 0.7
    assert driver.run(stack).text == "0.7"
    assert driver.run(stack, temperature=0.9).text == "0.9"
    assert stack.settings == {"temperature": 0.7}


@pytest.mark.parametrize("error", [TypeError("bug"), KeyError("bug")])
def test_its_bugs_are_its_own(error: Exception) -> None:
    class Broken(BasePromptDriver):
        needs_key = False
        calls = 0

        def try_run(self, prompt_stack: PromptStack) -> Message:
            Broken.calls += 1
            raise error

    with pytest.raises(type(error)):
        Broken("m", api_mode="chat_completions").run("hi")
    assert Broken.calls == 1


@pytest.mark.parametrize(
    ("gives", "kind", "says"),
    [
        (None, ConfigurationError, "returned a NoneType; it has to yield DeltaMessages"),
        (Message("assistant"), ConfigurationError, "returned a Message; it has to yield DeltaMessages"),
        (["echo"], MalformedResponseError, "the stream held a str; try_stream has to yield DeltaMessages"),
        ([None], MalformedResponseError, "the stream held a NoneType"),
    ],
)
def test_what_is_no_stream_is_told(gives: Any, kind: Any, says: str) -> None:
    class Wrong(Own):
        def try_stream(self, prompt_stack: PromptStack) -> Any:
            return gives

    with pytest.raises(kind, match=says):
        list(Wrong().stream("hi"))


@pytest.mark.parametrize("gives", [None, "echo", 5, [Message("assistant")]])
def test_what_is_no_answer_is_told(gives: Any) -> None:
    class Wrong(Own):
        def try_run(self, prompt_stack: PromptStack) -> Any:
            return gives

    with pytest.raises(MalformedResponseError, match=f"it is an? {type(gives).__name__}, not an object or a Message"):
        Wrong().run("hi")


@pytest.mark.parametrize("gives", [None, "echo", 5, [Message("assistant")]])
def test_what_is_no_answer_is_told_in_a_stream_too(gives: Any) -> None:
    class Wrong(BasePromptDriver):
        needs_key = False

        def try_run(self, prompt_stack: PromptStack) -> Any:
            return gives

    with pytest.raises(MalformedResponseError, match=f"it is an? {type(gives).__name__}, not an object or a Message"):
        list(Wrong("m", api_mode="chat_completions").stream("hi"))


def test_pieces_of_another_kind_begin_a_block_of_their_own() -> None:
    class Thinking(BasePromptDriver):
        needs_key = False

        def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
            yield DeltaMessage("thinking", ThinkingDeltaMessageContent("hm"))
            yield DeltaMessage("text", TextDeltaMessageContent("one"))
            yield DeltaMessage("text", TextDeltaMessageContent(", two"))

    stream = Thinking("m", api_mode="chat_completions").stream("hi")
    assert [delta.kind for delta in stream] == ["start", "thinking", "block_done", "text", "text", "end"]
    assert (stream.response.text, stream.response.reasoning[0]["text"]) == ("one, two", "hm")


def test_a_driver_that_fills_in_nothing_says_so() -> None:
    class Empty(BasePromptDriver):
        needs_key = False

    with pytest.raises(ConfigurationError, match="Empty can neither send nor try_run"):
        Empty("m", api_mode="chat_completions").run("hi")
    with pytest.raises(ConfigurationError, match="Empty can neither open nor try_run"):
        list(Empty("m", api_mode="chat_completions").stream("hi"))


def test_the_two_methods_may_be_called_by_themselves() -> None:
    driver = Scripted(whole(), chunks())
    stack = PromptStack.from_artifact("hi")
    assert driver.try_run(stack).to_text() == "Hello there"
    assert "".join(delta.text for delta in driver.try_stream(stack)) == "Hello there"
