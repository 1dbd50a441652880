"""OpenAI's format, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    ConversionError,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    PromptStack,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)

CONTENTS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "text", "text": "x", "cache": "1h"}, TextMessageContent("x", cache="1h")),
    ({"type": "text", "text": "x", "thought_signature": "s"}, TextMessageContent("x", thought_signature="s")),
    ({"type": "thinking", "thinking": "h", "signature": "s"}, ThinkingMessageContent("h", signature="s")),
    (
        {"type": "thinking", "thinking": "h", "origin": {"api": "codex_responses", "model": "m"}},
        ThinkingMessageContent("h", origin=Origin("codex_responses", "m")),
    ),
    (
        {"type": "thinking", "thinking": "", "id": "rs_1", "encrypted_content": "e", "summary": ["a"]},
        ThinkingMessageContent("", id="rs_1", encrypted_content="e", summary=("a",)),
    ),
    ({"type": "redacted_thinking", "data": "RU5D"}, ThinkingMessageContent(data="RU5D")),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        ImageMessageContent("AAAA", media_type="image/png", detail="low"),
    ),
    ({"type": "image_url", "image_url": {"url": "https://x.test/a"}}, ImageMessageContent(url="https://x.test/a")),
    (
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        AudioMessageContent("AAAA", "audio/mpeg"),
    ),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        DocumentMessageContent("AAAA", media_type="application/pdf", name="a.pdf"),
    ),
    ({"type": "file", "file": {"file_id": "f1"}}, DocumentMessageContent(file_id="f1")),
    ({"type": "refusal", "refusal": "no"}, RefusalMessageContent("no")),
]


@pytest.mark.parametrize(("part", "content"), CONTENTS, ids=lambda value: type(value).__name__)
def test_parts_both_ways(part: dict[str, Any], content: Any) -> None:
    given = [{"role": "user", "content": [part]}]
    stack = PromptStack.from_openai(given)
    assert stack.messages == [Message("user", (content,))]
    assert stack.to_openai() == given


def test_plain_text_both_ways() -> None:
    given = [{"role": "system", "content": "s"}, {"role": "user", "content": "u", "name": "ann"}]
    assert PromptStack.from_openai(given).to_openai() == given


def test_calls_and_results_both_ways() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":  1}'}, "item_id": "fc_1"}
    given = [
        {"role": "assistant", "content": "t", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": {"t": 4}, "is_error": True},
    ]
    stack = PromptStack.from_openai(given)
    assert stack.messages[0].content[1] == ActionCallMessageContent(
        "c1", "f", None, {"a": 1}, '{"a":  1}', None, "fc_1"
    )
    assert stack.messages[1] == Message("user", (ActionResultMessageContent("c1", {"t": 4}, is_error=True),))
    assert stack.to_openai() == given


def test_results_with_parts() -> None:
    parts = [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "https://x.test/a"}}]
    stack = PromptStack.from_openai([{"role": "tool", "tool_call_id": "c", "content": parts}])
    (result,) = stack.messages[0].content
    assert isinstance(result, ActionResultMessageContent)
    assert result.parts == (TextMessageContent("x"), ImageMessageContent(url="https://x.test/a"))


def test_a_list_that_is_data_stays_data() -> None:
    stack = PromptStack.from_openai([{"role": "tool", "tool_call_id": "c", "content": [1, {"a": 2}]}])
    (result,) = stack.messages[0].content
    assert isinstance(result, ActionResultMessageContent)
    assert result.output == [1, {"a": 2}]


def test_arguments_that_are_no_object_stay_as_text() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "not json"}}
    (found,) = PromptStack.from_openai([{"role": "assistant", "tool_calls": [call]}]).messages[0].content
    assert found == ActionCallMessageContent("c", "f", input=None, arguments="not json")


def test_an_invalid_call_both_ways() -> None:
    content = InvalidActionCallMessageContent("c", "f", raw='{"a": ')
    written = PromptStack([Message("assistant", (content,))]).to_openai()
    assert written[0]["tool_calls"][0]["invalid"] is True
    assert PromptStack.from_openai(written).messages[0].content == (content,)


def test_an_empty_text_beside_calls_is_no_block() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    (message,) = PromptStack.from_openai([{"role": "assistant", "content": "", "tool_calls": [call]}]).messages
    assert len(message.content) == 1


def test_unknown_parts_are_generic() -> None:
    (message,) = PromptStack.from_openai([{"role": "user", "content": [{"type": "video", "v": 1}]}]).messages
    assert message.content == (GenericMessageContent({"type": "video", "v": 1}, origin=Origin("chat_completions")),)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["hi"], r"messages\[0\] is a str, not an object"),
        ([{"role": "usr", "content": "x"}], r"messages\[0\] has the role 'usr'; known: system"),
        ([{"role": "user", "content": 3}], r"messages\[0\] has a content of type int"),
        ([{"role": "user", "content": [{"text": "x"}]}], r"messages\[0\], part 0, is no content part"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], r"part 0, is a malformed image_url part"),
        ([{"role": "assistant", "tool_calls": ["x"]}], r"part 0, is no tool call"),
    ],
)
def test_malformed_messages_are_told_with_their_place(given: list[Any], says: str) -> None:
    with pytest.raises(ConversionError, match=says):
        PromptStack.from_openai(given)
