"""Request bodies of Mistral, read, and converted back."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ConversionError, PromptStack, convert, read_request
from llmneutral.ir import contents as c

MODEL = "mistral-medium-latest"
OWN = c.Origin("mistral_chat", MODEL)


def stack(*messages: dict[str, Any], **body: Any) -> PromptStack:
    return read_request({"model": MODEL, "messages": list(messages), **body}, "mistral_chat")


def block(chunk: dict[str, Any], role: str = "user") -> Any:
    (message,) = stack({"role": role, "content": [chunk]}).messages
    return message.content[0]


def again(body: dict[str, Any]) -> dict[str, Any]:
    """A request that was read and converted to the same API."""
    found = read_request(body, "mistral_chat")
    return convert(found, "mistral_chat", model=body["model"]).to_json()


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"type": "text", "text": "a"}, c.TextMessageContent("a")),
        ({"type": "image_url", "image_url": "https://e.org/a"}, c.ImageMessageContent(url="https://e.org/a")),
        (
            {"type": "document_url", "document_url": "https://e.org/a.pdf", "document_name": "a.pdf"},
            c.DocumentMessageContent(url="https://e.org/a.pdf", name="a.pdf"),
        ),
        (
            {"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0="},
            c.DocumentMessageContent("JVBERi0=", media_type="application/pdf"),
        ),
        ({"type": "file", "file_id": "f1"}, c.DocumentMessageContent(file_id="f1")),
        ({"type": "file", "file": {"file_id": "f1"}}, c.DocumentMessageContent(file_id="f1")),
        ({"type": "input_audio", "input_audio": "UklGRg=="}, c.AudioMessageContent("UklGRg==")),
        (
            {"type": "input_audio", "input_audio": "data:audio/wav;base64,UklGRg=="},
            c.AudioMessageContent("UklGRg==", "audio/wav"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            c.AudioMessageContent("UklGRg==", "audio/wav"),
        ),
        (
            {"type": "input_audio", "input_audio": "https://e.org/a.mp3"},
            c.GenericMessageContent({"type": "input_audio", "input_audio": "https://e.org/a.mp3"}, origin=OWN),
        ),
        (
            {"type": "reference", "reference_ids": [1]},
            c.GenericMessageContent({"type": "reference", "reference_ids": [1]}, origin=OWN),
        ),
    ],
)
def test_chunks(chunk: dict[str, Any], expected: Any) -> None:
    assert block(chunk) == expected


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"thinking": "hm", "closed": True}, c.ThinkingMessageContent("hm", origin=OWN)),
        (
            {"thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}], "closed": True},
            c.ThinkingMessageContent("hm", origin=OWN),
        ),
        (
            {"thinking": [{"type": "text", "text": "hm"}], "signature": "s"},
            c.ThinkingMessageContent("hm", signature="s", origin=OWN, native={"closed": None}),
        ),
        (
            {"thinking": [{"type": "reference", "reference_ids": [1]}], "closed": True},
            c.ThinkingMessageContent(
                "", origin=OWN, native={"thinking": [{"type": "reference", "reference_ids": [1]}]}
            ),
        ),
    ],
)
def test_reasoning(chunk: dict[str, Any], expected: Any) -> None:
    assert block({"type": "thinking", **chunk}, "assistant") == expected


def test_instructions_may_show_how_to_think() -> None:
    shown = {"type": "thinking", "thinking": [{"type": "text", "text": "your thoughts"}]}
    system = {"role": "system", "content": [{"type": "text", "text": "Think first:"}, shown]}
    (message,) = stack(system).messages
    assert message.content[1] == c.GenericMessageContent(shown, origin=OWN)
    assert again({"model": MODEL, "messages": [system, {"role": "user", "content": "q"}]})["messages"][0] == system


def test_settings_and_what_has_no_neutral_name() -> None:
    found = stack(
        {"role": "user", "content": "q"},
        random_seed=3, tool_choice="any", stop="X", n=2, safe_prompt=True, min_tokens=1, stream=False, top_p=None,
        reasoning_effort="high", prompt_mode="reasoning",
    )  # fmt: skip
    choice = found.settings.pop("tool_choice")
    assert choice == "any"
    assert found.settings == {
        "seed": 3, "stop": "X", "stream": False, "reasoning_effort": "high",
        "extra_body": {"n": 2, "safe_prompt": True, "min_tokens": 1, "prompt_mode": "reasoning"},
    }  # fmt: skip


def test_a_request_comes_out_as_it_went_in() -> None:
    body = {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "q"},
                    {"type": "document_url", "document_url": "https://e.org/a.pdf", "document_name": "a.pdf"},
                    {"type": "file", "file_id": "f1"},
                    {"type": "input_audio", "input_audio": "UklGRgAAAABXQVZF"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True},
                    {"type": "text", "text": "a"},
                    {"type": "reference", "reference_ids": [1, "x"]},
                ],
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "ok"},
            {"role": "assistant", "content": "and", "prefix": True},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
        "tool_choice": "any",
        "random_seed": 3,
        "safe_prompt": True,
        "min_tokens": 1,
    }
    assert again(body) == body


def test_a_tool_without_a_type_is_a_function_and_that_is_told() -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "q"}], "tools": [{"function": {"name": "f"}}]}
    found = convert(read_request(body, "mistral_chat"), "mistral_chat", model=MODEL)
    assert found.payload["tools"][0]["type"] == "function"
    assert [(change.kind, "'f'" in change.why) for change in found.changes] == [("added", True)]


def test_reasoning_without_closed_goes_back_without_it() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [thought]},
        {"role": "user", "content": "r"},
    ]
    assert again({"model": MODEL, "messages": messages})["messages"][1]["content"] == [thought]


def test_what_is_no_request() -> None:
    with pytest.raises(ConversionError, match="no request of mistral_chat"):
        read_request({"model": MODEL}, "mistral_chat")
    with pytest.raises(ConversionError, match="malformed text part"):
        stack({"role": "user", "content": {"type": "text", "wrong": "format"}})
