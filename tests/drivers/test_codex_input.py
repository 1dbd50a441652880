"""What a prompt stack is for a thread of codex."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import (
    AudioMessageContent,
    ConversionError,
    DocumentMessageContent,
    ImageMessageContent,
    Message,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
    profile,
)
from llmneutral.drivers.codex_input import Asked, digest_of, read_stack, with_earlier
from llmneutral.errors import SettingError

FACTS = profile("codex_app_server")


def read(messages: list[Any], *, dynamic_tools: bool = False, **more: Any) -> Asked:
    stack = PromptStack.from_openai(messages) if messages and isinstance(messages[0], dict) else PromptStack(messages)
    stack = PromptStack(stack.messages, **more)
    return read_stack(stack, "m", FACTS, dynamic_tools=dynamic_tools)


def user(*blocks: Any) -> Message:
    return Message("user", blocks)


def text(role: str, said: str) -> Message:
    return Message(role, (TextMessageContent(said),))


def test_instructions_go_to_the_thread_wherever_they_stand() -> None:
    asked = read(
        [
            {"role": "system", "content": "a"},
            {"role": "user", "content": "hi"},
            {"role": "developer", "content": "b"},
        ]
    )
    assert asked.thread == {"developerInstructions": "a\n\nb"}
    assert asked.items == [{"type": "text", "text": "hi"}]
    [change] = asked.changes
    assert (change.kind, [tuple(ref) for ref in change.refs]) == ("moved", [(2, 0)])


def test_pictures_are_items() -> None:
    given = [user(ImageMessageContent(url="https://x/y.png", detail="low"), ImageMessageContent(data="AAAA"))]
    assert read(given).items == [
        {"type": "image", "url": "https://x/y.png", "detail": "low"},
        {"type": "image", "url": "data:image/png;base64,AAAA"},
    ]


@pytest.mark.parametrize(
    "block",
    [AudioMessageContent("AAAA"), DocumentMessageContent(text="t"), ImageMessageContent(file_id="f")],
    ids=["audio", "document", "file"],
)
def test_other_media_are_refused_with_their_place(block: Any) -> None:
    with pytest.raises(ConversionError, match="message 1, block 0") as caught:
        read([text("system", "s"), user(block)])
    assert caught.value.rule == "media"


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]])
def test_a_turn_of_the_user_is_needed(messages: list[Any]) -> None:
    with pytest.raises(ConversionError, match="turn of the user") as caught:
        read(messages)
    assert caught.value.rule == "turn"


def test_tools_of_the_caller_need_the_flag_and_a_function() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    with pytest.raises(ConversionError, match=r"\(f\) need dynamic_tools=True"):
        read([text("user", "x")], tools=[tool])
    with pytest.raises(ConversionError, match="the tool f has no function"):
        read([text("user", "x")], tools=[tool], dynamic_tools=True)


def test_settings() -> None:
    asked = read(
        [text("user", "x")], settings={"model": "n", "seed": 1, "reasoning_effort": "high", "late_system": "hoist"}
    )
    assert asked.turn == {"model": "n", "effort": "high"}
    assert [change.why for change in asked.changes] == ["seed: codex app-server has no place for it"]
    with pytest.raises(SettingError):
        read([text("user", "x")], settings={"temperature": "warm"})


def test_the_history_of_a_new_thread_is_one_text_and_its_pictures() -> None:
    given = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}],
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "r"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]
    items, changes = with_earlier(read(given))
    assert items[0]["text"] == (
        'Earlier conversation:\n\nuser: [image]\n\nassistant: b\n\nassistant: f({"a": 1})\n\nuser: r\n\nassistant: c'
    )
    assert items[1:] == [{"type": "image", "url": "https://x/y.png"}, {"type": "text", "text": "d"}]
    assert [change.kind for change in changes] == ["dropped", "rewritten"]


def test_a_thread_is_known_by_what_was_said_and_its_instructions() -> None:
    plain = [text("user", "a"), text("assistant", "b")]
    thought = [plain[0], Message("assistant", (ThinkingMessageContent("hm"), *plain[1].content))]
    assert digest_of({}, plain) == digest_of({}, thought)
    assert digest_of({}, plain) != digest_of({"developerInstructions": "x"}, plain)
    assert digest_of({}, plain) != digest_of({}, [text("user", "ab")])
    assert digest_of({}, plain) != digest_of({}, [text("user", "a"), text("user", "b")])
