"""Requests of others are read, and go out again as they came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, PromptStack, convert, read_request
from llmneutral.ir import contents as c

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def read(*messages: Any, **keys: Any) -> PromptStack:
    return read_request(
        {"model": "m", "messages": list(messages) or [{"role": "user", "content": "q"}], **keys}, "chat"
    )


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def again(request: dict[str, Any], **target: Any) -> Conversion:
    stack = read_request(request, "chat_completions")
    return convert(stack, "chat_completions", **{"model": request["model"], **target})


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "settings"),
    [
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"max_completion_tokens": 5}, {"max_tokens": 5}),
        ({"temperature": 0, "top_p": None}, {"temperature": 0}),
        ({"stop": "x", "stream": True, "stream_options": {"include_usage": True}}, {"stop": "x", "stream": True}),
        ({"n": 1}, {}),
        ({"n": 2}, {"extra_body": {"n": 2}}),
        ({"max_tokens": -1}, {"extra_body": {"max_tokens": -1}}),
        ({"reasoning_effort": "default"}, {"extra_body": {"reasoning_effort": "default"}}),
        ({"enable_thinking": False, "user": "u"}, {"extra_body": {"enable_thinking": False, "user": "u"}}),
        ({"stream_options": {"include_obfuscation": False}},
         {"extra_body": {"stream_options": {"include_obfuscation": False}}}),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}},
         {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ],
)  # fmt: skip
def test_keys_are_settings_or_stay_as_they_are(keys: dict[str, Any], settings: dict[str, Any]) -> None:
    assert read(**keys).settings == settings


def test_what_has_no_neutral_name_goes_out_again() -> None:
    request = {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "q"}],
        "prediction": {"type": "content", "content": "x"},
        "web_search_options": {"search_context_size": "low"},
        "temperature": 0.5,
    }
    kept = copy.deepcopy(request)
    assert again(request).to_json() == request
    assert request == kept


# --- tools --------------------------------------------------------------------------------------


def test_tools_of_every_kind() -> None:
    custom = {"type": "custom", "custom": {"name": "shell"}}
    stack = read(tools=[TOOL, custom, {**TOOL, "function": {"name": "g"}, "cache_control": {"type": "ephemeral"}}])
    assert [tool.name for tool in stack.tools] == ["f", "shell", "g"]
    assert stack.tools[1].native == custom
    assert stack.tools[2].cache is True


def test_functions_go_as_tools_and_that_is_said() -> None:
    function = {"name": "f", "description": "does", "parameters": TOOL["function"]["parameters"]}  # type: ignore[index]
    request = {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "q"}],
        "functions": [function],
        "function_call": {"name": "f"},
    }
    conversion = again(request)
    assert conversion.payload["tools"] == [{"type": "function", "function": function}]
    assert conversion.payload["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert [change.kind for change in conversion.changes] == ["renamed"]


def test_a_schema_under_another_key_is_read() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    conversion = again(
        {
            "model": "gpt-4.1",
            "messages": [{"role": "user", "content": "q"}],
            "tools": [{"type": "function", "function": {"name": "f", "arguments": schema}}],
        }
    )
    assert conversion.payload["tools"][0]["function"]["parameters"] == schema
    assert "arguments" in conversion.changes[0].why


# --- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text", "native"),
    [
        ({"reasoning_content": "t"}, "t", None),
        ({"reasoning": "t"}, "t", None),
        ({"reasoning": "t", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]}, "t",
         {"reasoning_details": [{"type": "reasoning.text", "text": "t"}]}),
        ({"reasoning_details": [{"type": "reasoning.summary", "summary": "s"}]}, "s",
         {"reasoning_details": [{"type": "reasoning.summary", "summary": "s"}]}),
        ({"reasoning_content": ""}, "", None),
    ],
)  # fmt: skip
def test_reasoning_is_read_under_any_name(fields: dict[str, Any], text: str, native: Any) -> None:
    stack = read({"role": "assistant", "content": "x", **fields})
    thinking, said = stack.messages[0].content
    assert isinstance(thinking, c.ThinkingMessageContent)
    assert (thinking.text, thinking.native) == (text, native)
    assert thinking.origin == c.Origin("chat_completions", "m")
    assert said == c.TextMessageContent("x")


def test_reasoning_goes_back_to_its_model() -> None:
    request = {
        "model": "deepseek-v4",
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "reasoning_content": "t", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
        ],
        "tools": [TOOL],
    }
    assert again(request, provider="deepseek").payload == request


@pytest.mark.parametrize(
    ("part", "cache"),
    [
        ({"cache_control": {"type": "ephemeral"}}, True),
        ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, "1h"),
        ({"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}, "30m"),
    ],
)
def test_cache_marks_are_read(part: dict[str, Any], cache: Any) -> None:
    stack = read({"role": "user", "content": [{"type": "text", "text": "a", **part}]})
    assert stack.messages[0].content[0].cache == cache


def test_a_mark_on_a_message_is_on_its_last_part() -> None:
    stack = read({"role": "system", "content": "a", "cache_control": {"type": "ephemeral"}})
    assert stack.messages[0].content == (c.TextMessageContent("a", cache=True),)


def test_two_marks_on_a_part_are_one() -> None:
    part = {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}
    request = {
        "model": "gpt-5.6",
        "messages": [{"role": "user", "content": [{**part, "cache_control": {"type": "ephemeral"}}]}],
    }
    conversion = again(request)
    assert conversion.payload["messages"][0]["content"] == [part]
    assert [change.kind for change in conversion.changes] == ["merged"]


def test_the_older_forms_of_a_call_and_its_result() -> None:
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    sent = again({"model": "gpt-4.1", "messages": messages, "tools": [TOOL]}).payload["messages"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert sent[2]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]


def test_everything_a_message_may_hold_goes_out_again() -> None:
    url = "data:image/png;base64,iVBORw0KGgo="
    request = {
        "model": "gpt-4.1",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [text("a"), {"type": "image_url", "image_url": {"url": url}}]},
            {"role": "assistant", "content": "b", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": [text("x"), text("y")]},
            {"role": "assistant", "content": None, "refusal": "no"},
            {"role": "user", "content": "c", "name": "Ann"},
            {"role": "assistant", "audio": {"id": "audio_1"}},
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
        ],
        "tools": [TOOL],
    }  # fmt: skip
    conversion = again(request)
    assert conversion.payload == request
    assert conversion.changes == ()


@pytest.mark.parametrize(
    "request_", [{}, {"messages": "hello"}, {"messages": [{"role": "x", "content": ""}]}, {"messages": [3]}]
)
def test_what_is_no_request_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(ConversionError):
        read_request(request_, "chat_completions")
